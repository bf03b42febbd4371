/** Texts about the command line: usage and help of a command, the list of all. */

import { programName } from '../../setup/program-name.js';
import type { Syntax } from './syntax.js';

const INDENT = 26;

/** One line: the command and its arguments. */
export function usageOf({ name, options, operands }: Syntax): string {
  const all = Object.entries(options).map(
    ([option, { value }]) => `[--${option}${value === undefined ? '' : ` ${value}`}]`,
  );
  return [`usage: ${programName()}`, name, ...all, operands].filter((part) => part !== '').join(' ');
}

/** Usage, summary, options. */
export function helpOf(syntax: Syntax): string {
  const options = Object.entries(syntax.options).map(([name, { short, value, about }]) => {
    const left = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
    return row(left, about);
  });
  return [usageOf(syntax), '', syntax.summary, ...(options.length > 0 ? ['', ...options] : []), ''].join('\n');
}

/** All commands. */
export function overview(commands: readonly Syntax[]): string {
  const rows = commands.map(({ name, summary }) => row(name, summary));
  const program = programName();
  return [
    `usage: ${program} [COMMAND] …`,
    '',
    ...rows,
    '',
    `The default command is start. \`${program} help COMMAND\` explains a command; \`${program} --version\` prints the version.`,
    '',
  ].join('\n');
}

function row(left: string, right: string): string {
  return left.length > INDENT - 4 ? `  ${left}\n${' '.repeat(INDENT)}${right}` : `  ${left}`.padEnd(INDENT) + right;
}
