/** Where logs go: rotation, a disk that is full, what may wait. Real files. */

import { appendFileSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Output } from '../../src/base/output.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

async function make(t: Test, file: string, bufferBytes = 1000) {
  const failures: unknown[] = [];
  const log = await Output.to(file, { bufferBytes, onFailed: (error) => failures.push(error) });
  t.teardown(() => log.close());
  return { log, failures };
}

const read = (file: string) => readFileSync(file, 'latin1');

t.test('lines go out with a flush, after what stood there', async (t) => {
  const file = join(tempFolder(t), 'access.log');
  appendFileSync(file, 'before\n');
  const { log } = await make(t, file);
  log.write('one');
  log.write('two');
  t.equal(read(file), 'before\n', 'not at once');
  log.flush();
  await until(() => read(file) === 'before\none\ntwo\n', 5000);
  log.write('three');
  await log.close();
  t.equal(read(file), 'before\none\ntwo\nthree\n', 'the last lines at the end');
  log.write('four');
  log.flush();
  await log.close();
  t.equal(log.lost, 1, 'nothing after it');
});

t.test('rotation: what had collected goes to the old file, what comes to a new one', async (t) => {
  const file = join(tempFolder(t), 'access.log');
  const { log, failures } = await make(t, file);
  log.write('one');
  renameSync(file, `${file}.1`);
  log.reopen();
  log.write('two');
  await until(() => {
    log.flush();
    try {
      return read(file) === 'two\n';
    } catch {
      return false;
    }
  }, 5000);
  t.equal(read(`${file}.1`), 'one\n');
  for (let i = 0; i < 20; i++) {
    log.write(`line ${i}`);
    log.reopen();
  }
  await log.close();
  t.equal(read(file), `two\n${Array.from({ length: 20 }, (_, i) => `line ${i}\n`).join('')}`, 'asked again and again');
  t.same(failures, []);
});

t.test('where no new file can be made the old one goes on', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'logs');
  const { log, failures } = await make(t, file);
  renameSync(file, `${file}.1`);
  mkdirSync(file);
  log.reopen();
  await until(() => failures.length > 0, 5000);
  t.match(failures[0], { code: 'EISDIR' });
  log.write('still');
  await log.close();
  t.equal(read(`${file}.1`), 'still\n');
});

t.test('so much waits, and what is more is lost', async (t) => {
  const file = join(tempFolder(t), 'access.log');
  const { log } = await make(t, file, 20);
  log.write('123456789');
  log.write('abcdefghi');
  t.equal(log.lost, 0, 'at the limit');
  log.write('');
  t.equal(log.lost, 1, 'one past it');
  log.flush();
  log.write('');
  t.equal(log.lost, 2, 'what is being written waits too');
  await until(() => read(file).length === 20, 5000);
  await until(() => {
    const lost = log.lost;
    log.write('0123456789012345678');
    return log.lost === lost;
  }, 5000);
  await log.close();
  t.equal(read(file), '123456789\nabcdefghi\n0123456789012345678\n', 'what is written makes room');
});

t.test(
  'a full disk costs lines, and is reported',
  { skip: process.platform !== 'linux' && 'no /dev/full' },
  async (t) => {
    const { log, failures } = await make(t, '/dev/full');
    log.write('one');
    log.write('two');
    log.flush();
    await until(() => log.lost === 2, 5000);
    t.match(failures, [{ code: 'ENOSPC' }]);
  },
);

t.test('a crowd that ends at once: every line, in order', async (t) => {
  const file = join(tempFolder(t), 'access.log');
  const { log } = await make(t, file, 16_777_216);
  const lines = Array.from({ length: 20_000 }, (_, i) => `${i} ${'x'.repeat(150)}`);
  for (const line of lines) log.write(line);
  await log.close();
  t.equal(read(file), `${lines.join('\n')}\n`);
  t.equal(log.lost, 0);
});

t.test('a file that cannot be opened is reported at start', async (t) => {
  await t.rejects(make(t, join(tempFolder(t), 'none', 'access.log')), { code: 'ENOENT' });
});
