/**
 * A handful of attacks on the built server over real sockets, with a crowd beside them: no attack may cost it a byte, a title or more than
 * 100 ms. All of them, mixed for minutes: test/long/hostile.test.ts.
 */

import t from 'tap';
import type { AttackName } from '../attacks/index.js';
import { AttackHarness } from '../kit/attack-harness.js';
import { Random } from '../kit/random.js';

t.setTimeout(120_000);

/** Each with how long it takes to show what it can do; those that want the same of the server go together. */
const SHOWN: readonly (readonly [ms: number, ...names: AttackName[]])[] = [
  [1500, 'pipelinedHistory'],
  [1200, 'pipelinedDocuments', 'pipelinedMisses'],
  [1200, 'h2cBehindRequest', 'webSocketBehindRequest'],
  [1500, 'forgedPages', 'titleStorm'],
  [1200, 'guessFromOne', 'conflictingLengths'],
  [1200, 'largeFrames', 'pingFlood', 'deafReaders'],
  [1500, 'handshakeVolley'],
  [2000, 'keyVolley'],
  [1500, 'formVolley', 'nesFlood'],
  [3500, 'hoardConnections', 'slowHeads'],
];

t.test('attacks cost a crowd of listeners and watchers nothing', async (t) => {
  const random = new Random();
  const harness = await AttackHarness.start(t, 1000);
  // What one attack has cost, a disconnected encoder or a newcomer, would be counted against the next.
  for (const [ms, ...names] of SHOWN) {
    const costs = await harness.attack(names, random.int(0, 2 ** 31), ms);
    t.equal(costs, '', `seed ${random.seed}: ${names.join(', ')}`);
    if (costs !== '') return;
  }
  await harness.crowd.unharmed(`seed ${random.seed}`);
});
