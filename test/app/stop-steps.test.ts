/** Steps at the end of the server: all are waited for, none holds up the others or the end. */

import t from 'tap';
import { isClosing, waitForEnd, waitForFiles } from '../../src/app/stop-steps.js';
import { keepLines } from '../kit/log-lines.js';

/** Longer than any test runs. */
const NEVER_MS = 3_600_000;

t.test('it waits for all of them, and does not wait once they have ended', async (t) => {
  const { log, lines } = keepLines();
  const ended: string[] = [];
  const slow = new Promise<void>((done) => setImmediate(done)).then(() => void ended.push('slow'));
  const outcome = await waitForEnd(NEVER_MS, log, { slow, quick: Promise.resolve(), none: undefined });
  t.strictSame(outcome, []);
  t.strictSame(ended, ['slow']);
  t.strictSame(lines, []);
});

t.test('a step that fails holds up no other, and its error is kept', async (t) => {
  const { log, lines } = keepLines();
  const error = new Error('disk full');
  let isOver = false;
  const other = new Promise<void>((done) => setImmediate(done)).then(() => void (isOver = true));
  const outcome = await waitForEnd(NEVER_MS, log, { store: Promise.reject(error), other });
  t.strictSame(outcome, [error]);
  t.ok(isOver);
  t.match(lines, [{ level: 'error', step: 'store', message: 'stopping failed' }]);
  t.equal(lines.length, 1);
});

t.test('what hangs is left at the limit, and named in the log', async (t) => {
  const { log, lines } = keepLines();
  const hangs = new Promise<never>(() => undefined);
  const limitMs = 30;
  const startMs = performance.now();
  const outcome = await waitForEnd(limitMs, log, { disk: hangs, done: Promise.resolve(), client: hangs });
  // A timer of Node counts whole milliseconds.
  t.ok(performance.now() - startMs > limitMs - 2);
  t.strictSame(outcome, []);
  t.match(lines, [{ level: 'warn', pending: ['disk', 'client'], limitMs, message: 'some parts did not stop in time' }]);
  t.equal(lines.length, 1);
});

t.test('an error after the limit is not unhandled', async (t) => {
  const { log } = keepLines();
  let fail = (_: Error) => {};
  const late = new Promise<never>((_, reject) => (fail = reject));
  t.strictSame(await waitForEnd(1, log, { late }), []);
  fail(new Error('too late'));
  await new Promise((done) => setImmediate(done));
  t.pass();
});

t.test('files count as closing until they are closed, also behind the limit', async (t) => {
  const { log } = keepLines();
  let done = () => {};
  const file = new Promise<void>((closed) => (done = closed));
  t.notOk(isClosing());
  const waited = waitForFiles(1, log, { file, none: undefined });
  t.ok(isClosing());
  await waited;
  t.ok(isClosing());
  done();
  await new Promise((next) => setImmediate(next));
  t.notOk(isClosing());
});
