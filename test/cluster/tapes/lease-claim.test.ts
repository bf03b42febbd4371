/** What a node asks for a channel's lease with, by what is on air here and there. */

import t from 'tap';
import { LeaseClaim } from '../../../src/cluster/tapes/lease-claim.js';
import { EXPECTS_RANK, NO_RANK } from '../../../src/cluster/tapes/leases.js';
import { FakeClock } from '../../kit/clock.js';

interface Scene {
  /** Place of the source on air here, and whether it is waited for; absent: none. */
  readonly here?: number;
  readonly isAwaited?: boolean;
  /** An encoder has come, of which there is no audio yet. */
  readonly hasEncoder?: boolean;
  /** The same of the owner. */
  readonly there?: number;
  readonly isAwaitedThere?: boolean;
  readonly mayFeed?: boolean;
  readonly isFollowing?: boolean;
  readonly isConnected?: boolean;
  /** How long ago something of the owner's tape came, and since when its connection is lost. */
  readonly quietMs?: number;
  readonly lostMs?: number;
}

function claimIn(scene: Scene): LeaseClaim {
  const clock = new FakeClock();
  const { here = -1, isAwaited = false, hasEncoder = false, there = null, mayFeed = true, isFollowing = true } = scene;
  const lostSinceMs = scene.lostMs === undefined ? Number.POSITIVE_INFINITY : clock.now() - scene.lostMs;
  const claim = new LeaseClaim(
    { switch: { indexOnAir: here, isAwaited }, encoder: { isConnected: hasEncoder } } as never,
    {
      clock,
      mayFeed,
      isFollowing: () => isFollowing,
      link: { isConnected: scene.isConnected ?? true, lostSinceMs } as never,
      remote: { facts: { onAir: there, isAwaited: scene.isAwaitedThere ?? false } } as never,
    },
  );
  claim.grownMs = clock.now() - (scene.quietMs ?? 0);
  return claim;
}

for (const [name, scene, wish, rank] of [
  ['a node that only serves', { here: 0, mayFeed: false }, 0, NO_RANK],
  ['nothing here', { there: 0 }, 0, NO_RANK],
  ['nothing here or there', {}, 0, NO_RANK],
  ['nothing here, and nobody feeds it', { isFollowing: false }, 1, NO_RANK],
  ['the owner is lost, and nothing is here', { isConnected: false, lostMs: 201 }, 1, NO_RANK],
  ['the same place here and there', { here: 0, there: 0 }, 0, 0],
  ['a better one here', { here: 0, there: 1 }, 2, 0],
  ['a better one there', { here: 1, there: 0 }, 0, 1],
  ['an encoder that has sent nothing yet, and a file there', { hasEncoder: true, there: 1 }, 0, EXPECTS_RANK],
  ['an encoder that has sent nothing yet, and nothing there', { hasEncoder: true }, 2, EXPECTS_RANK],
  ['there one is waited for', { here: 0, there: 0, isAwaitedThere: true }, 2, 0],
  ['here one is waited for', { here: 0, isAwaited: true, there: 0 }, 0, 0.5],
  ['on both sides', { here: 0, isAwaited: true, there: 0, isAwaitedThere: true }, 0, 0.5],
  ['one that is waited for is better than the next source', { here: 0, isAwaited: true, there: 1 }, 2, 0.5],
  ['the next source here does not end the wait there', { here: 1, there: 0, isAwaitedThere: true }, 0, 1],
  ['the owner brings nothing, at the limit', { here: 1, there: 0, quietMs: 800 }, 0, 1],
  ['and one past it', { here: 1, there: 0, quietMs: 801 }, 3, 1],
  ['its connection is lost, at the limit', { here: 1, there: 0, isConnected: false, lostMs: 200 }, 2, 1],
  ['and past that', { here: 1, there: 0, isConnected: false, lostMs: 201 }, 3, 1],
] as const) {
  t.test(name, async (t) => {
    const claim = claimIn(scene);
    t.same([claim.wish, claim.rank], [wish, rank]);
  });
}

t.test('that it is waited for is said once', async (t) => {
  const channel = { switch: { indexOnAir: 0, isAwaited: false } };
  const parts = { clock: new FakeClock(), mayFeed: true, isFollowing: () => false, link: {}, remote: {} };
  const claim = new LeaseClaim(channel as never, parts as never);
  const seen = [false, true, true, false, true].map((isAwaited) => {
    channel.switch.isAwaited = isAwaited;
    return claim.lookAwaited();
  });
  t.same(seen, [false, true, false, false, true]);
});
