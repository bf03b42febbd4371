/** However many handshakes wait, a turn of the loop begins few; each is begun once, in order, unless it was removed. */

import { performance } from 'node:perf_hooks';
import t from 'tap';
import { HandshakeQueue } from '../../src/http/handshake-queue.js';

const WORK_MS = 1;

/** A handshake's work, done in a tick after its start, as Node does it. */
function work(done: () => void): () => void {
  return () =>
    process.nextTick(() => {
      const endMs = performance.now() + WORK_MS;
      while (performance.now() < endMs);
      done();
    });
}

t.test('a turn of the loop begins for 2 ms', async (t) => {
  const queue = new HandshakeQueue();
  const begun: number[] = [];
  let inTurn = 0;
  let most = 0;
  const removed = work(() => t.fail('removed, and begun'));
  for (let i = 0; i < 100; i++) {
    queue.add(
      work(() => {
        begun.push(i);
        most = Math.max(most, ++inTurn);
      }),
    );
    if (i === 50) queue.add(removed);
  }
  queue.remove(removed);
  t.same(begun, [], 'none before the turn of whoever added them is over');
  while (begun.length < 100) {
    await new Promise((next) => setImmediate(next));
    inTurn = 0;
  }
  t.same(
    begun,
    Array.from({ length: 100 }, (_, i) => i),
    'in order',
  );
  t.ok(most >= 1 && most <= 2, `${most} of 1 ms in one turn`);
});

t.test('a queue that was empty goes on', async (t) => {
  const queue = new HandshakeQueue();
  for (let round = 0; round < 3; round++) {
    await new Promise<void>((done) => queue.add(work(done)));
    await new Promise((next) => setImmediate(next));
  }
  t.pass('three times');
});
