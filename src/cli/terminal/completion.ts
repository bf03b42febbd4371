/** `airsplice completion SHELL`: prints a completion script for bash, zsh or fish, made from the table of commands. */

import { type RunCommand, UsageError } from '../command.js';
import { COMMANDS } from '../commands.js';
import type { Syntax } from './syntax.js';

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish };

/** Whether an operand, or the value of an option, is a file or a folder. */
const isFile = (name: string): boolean => /CONFIG|FILE|FOLDER|SOURCES/.test(name);

export const completion: RunCommand = async ({ operands: [shell = ''] }) => {
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (script === undefined) throw new UsageError(`SHELL must be one of: ${Object.keys(SHELLS).join(', ')}`);
  process.stdout.write(script());
  return 0;
};

const NAMES = COMMANDS.map(({ name }) => name);
const names = NAMES.join(' ');

/** The possible values of an operand. */
function choicesOf(operands: Syntax['operands']): readonly string[] {
  if (operands.includes('COMMAND')) return NAMES;
  return operands.includes('SHELL') ? Object.keys(SHELLS) : [];
}

function bash(): string {
  const cases = COMMANDS.map(({ name, options, operands }) => {
    const words = Object.keys(options).map((option) => `--${option}`);
    return `    ${name}) words='${[...words, ...choicesOf(operands)].join(' ')}' ;;`;
  });
  return `# airsplice completion bash > /etc/bash_completion.d/airsplice
_airsplice() {
  local words
  if [ "$COMP_CWORD" = 1 ]; then words='${names}'; else
    case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words='' ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _airsplice airsplice
`;
}

function zsh(): string {
  const commands = COMMANDS.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`);
  const cases = COMMANDS.map(({ name, options, operands }) => {
    const all = Object.entries(options).map(([option, { value, about }]) => {
      return quoted(
        `--${option}[${about.replace(/[[\]]/g, '')}]${value === undefined ? '' : `:${value}:${isFile(value) ? '_files' : ''}`}`,
      );
    });
    return `    ${name}) _arguments ${[...all, quoted(operandOf(operands))].join(' ')} ;;`;
  });
  return `#compdef airsplice
# airsplice completion zsh > "\${fpath[1]}/_airsplice"
if (( CURRENT == 2 )); then
  local -a commands=(
${commands.join('\n')}
  )
  _describe command commands
  _files
else
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
  esac
fi
`;
}

function operandOf(operands: Syntax['operands']): string {
  if (isFile(operands)) return '*:file:_files';
  const choices = choicesOf(operands);
  return choices.length === 0 ? '*: :' : `1: :(${choices.join(' ')})`;
}

function fish(): string {
  const first = 'not __fish_seen_subcommand_from $commands';
  const lines = COMMANDS.flatMap(({ name, summary, options, operands }) => {
    const seen = `'__fish_seen_subcommand_from ${name}'`;
    const choices = choicesOf(operands);
    return [
      `complete -c airsplice -n '${first}' -a ${name} -d ${quoted(summary)}`,
      ...Object.entries(options).map(([option, { value, about }]) => {
        const taken = value === undefined ? '' : isFile(value) ? ' -r -F' : ' -x';
        return `complete -c airsplice -n ${seen} -l ${option}${taken} -d ${quoted(about)}`;
      }),
      ...(isFile(operands)
        ? []
        : [`complete -c airsplice -n ${seen} -f${choices.length === 0 ? '' : ` -a '${choices.join(' ')}'`}`]),
    ];
  });
  return `# airsplice completion fish > ~/.config/fish/completions/airsplice.fish
set -l commands ${names}
${lines.join('\n')}
`;
}

/** Single-quoted, for all three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
