/** What `airsplice completion` prints, tried by the shells that it is for: what each offers behind the words of a command line. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { COMMANDS } from '../../../src/cli/commands.js';
import { airsplice, runProgram } from '../../kit/command-line.js';
import { missing } from '../../kit/program.js';
import { tempFolder } from '../../kit/temp-folder.js';

const NAMES = COMMANDS.map(({ name }) => name).sort();

async function scriptFor(shell: string): Promise<string> {
  const { code, out } = await airsplice(['completion', shell]);
  if (code !== 0) throw new Error(`no completion for ${shell}`);
  return out;
}

/** What bash offers behind these words. */
async function offeredByBash(t: Test, script: string, ...words: readonly string[]): Promise<readonly string[]> {
  const line = words.map((word) => `'${word}'`).join(' ');
  const ask = `${script}\nCOMP_WORDS=(airsplice ${line}); COMP_CWORD=${words.length}; _airsplice; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { out, err } = await runProgram('bash', ['-c', ask]);
  t.equal(err, '');
  return out.trim().split('\n');
}

t.test('bash completes commands, options and shells', { skip: missing('bash') }, async (t) => {
  const script = await scriptFor('bash');
  t.strictSame(await offeredByBash(t, script, 'che'), ['check']);
  t.strictSame([...(await offeredByBash(t, script, ''))].sort(), NAMES);
  t.strictSame(await offeredByBash(t, script, 'watch', '--s'), ['--station']);
  t.strictSame(await offeredByBash(t, script, 'completion', 'f'), ['fish']);
});

t.test('fish completes them, each with its summary', { skip: missing('fish') }, async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'airsplice.fish');
  writeFileSync(file, await scriptFor('fish'));
  const offered = async (line: string): Promise<readonly (readonly string[])[]> => {
    const ask = 'cd $argv[1]; source $argv[2]; complete -C $argv[3]';
    // Files are offered too where a command takes one: there are none.
    mkdirSync(join(folder, 'empty'), { recursive: true });
    const args = ['--no-config', '-c', ask, join(folder, 'empty'), file, line];
    const { out, err } = await runProgram('fish', args, { HOME: folder });
    t.equal(err, '');
    return out
      .trim()
      .split('\n')
      .map((row) => row.split('\t'));
  };
  const { summary } = COMMANDS.find(({ name }) => name === 'check')!;
  t.strictSame(await offered('airsplice che'), [['check', summary]]);
  t.strictSame((await offered('airsplice ')).map(([name]) => name).sort(), NAMES);
  t.match(await offered('airsplice watch --s'), [['--station', /All channels/]]);
  t.strictSame((await offered('airsplice completion f')).flat(), ['fish']);
  writeFileSync(join(folder, 'empty', 'wave.yaml'), '');
  for (const words of ['backup --config', 'init --from', 'record --out', 'init --source'])
    t.strictSame((await offered(`airsplice ${words} wa`)).flat(), ['wave.yaml'], words);
  t.strictSame((await offered('airsplice watch --station wa')).flat(), [''], 'no file');
});

/** A terminal in which zsh completes $2 with a tab, and then shows its line between << and >>. $1: the folder of the function. */
const TYPE = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='' fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=0 COLUMNS=200"
zpty -w shell 'finish() { print -r -- "<<$BUFFER>>"; exit }; zle -N finish; bindkey "^X" finish; print REA""DY'
zpty -r shell said '*READY*'
zpty -w -n shell "$2"$'\\t\\x18'
zpty -r shell said '*<<*>>*'
print -r -- "$said"
`;

t.test('zsh completes them, each with its summary', { skip: missing('zsh') }, async (t) => {
  const folder = tempFolder(t);
  writeFileSync(join(folder, '_airsplice'), await scriptFor('zsh'));
  const typed = async (line: string): Promise<{ readonly shown: string; readonly line: string | undefined }> => {
    const { out, err } = await runProgram('zsh', ['-f', '-c', TYPE, 'zsh', folder, line], { HOME: folder });
    t.equal(err, '');
    return { shown: out, line: /<<(.*)>>/.exec(out)?.[1] };
  };
  t.equal((await typed('airsplice che')).line, 'airsplice check ');
  t.equal((await typed('airsplice completion f')).line, 'airsplice completion fish ');
  const commands = (await typed('airsplice ')).shown;
  for (const { name, summary } of COMMANDS)
    t.match(commands, new RegExp(`${name} +-- ${summary.slice(0, 20).replace(/[^\w ]/g, '.')}`), name);
  t.match((await typed('airsplice watch --s')).shown, /--station +-- All channels/);
  writeFileSync(join(folder, 'wave.yaml'), '');
  for (const words of ['backup --config', 'init --from', 'record --out', 'init --source'])
    t.equal((await typed(`airsplice ${words} ${folder}/wa`)).line, `airsplice ${words} ${folder}/wave.yaml `, words);
});
