/**
 * `npm run soak` in its short form: less than a minute of everything that two hours have. Nothing that was received is wrong, and when all have gone
 * nothing of them is left; slopes are not judged. It needs the build.
 */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { read } from '../../bench/soak/file.js';
import { verdictOf } from '../../bench/soak/report.js';
import { tempFolder } from '../kit/temp-folder.js';

t.setTimeout(200_000);

t.test('a short soak', { timeout: 190_000 }, async (t) => {
  const folder = tempFolder(t);
  const args = ['--minutes', '0.75', '--listeners', '60', '--every', '8', '--save', 'short', '--out', folder];
  const command = ['--import', 'tsx', 'bench/soak/run.ts', ...args];
  const { code, said } = await new Promise<{ code: number; said: string }>((resolve) => {
    execFile(process.execPath, command, { timeout: 180_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), said: `${out}${err}` }),
    );
  });
  t.equal(code, 0, said);
  t.match(said, 'Nothing was wrong.');
  const soak = read(readFileSync(join(folder, 'short.json'), 'utf8'));
  t.same(verdictOf(soak), { judgements: [], wrong: [] });
  t.ok(soak.samples.length >= 4);
  t.ok(soak.checkedBytes > 30e6, `${soak.checkedBytes} bytes were checked`);
  for (const [name, least] of Object.entries({ joins: 60, pushes: 30, polls: 100, watchers: 20, 'bad requests': 5 }))
    t.ok(soak.counts[name]! >= least, `${soak.counts[name]} ${name}`);
  t.ok(soak.counts['encoder connections']! > 2, 'encoders came again');
  const { processes, counts } = soak.samples.at(-1)!;
  t.same(Object.keys(processes).length, 4, 'a supervisor, a hub, two workers');
  for (const [name, { residentBytes, heapBytes, files, handles }] of Object.entries(processes))
    t.ok(
      [residentBytes, heapBytes, files, handles].every((value) => value > 0),
      name,
    );
  t.ok(counts.listeners >= 60 && counts.sessions > 0 && counts.watchers > 0, 'they were there');
  t.match(readFileSync(join(folder, 'short.svg'), 'utf8'), '<svg');
});
