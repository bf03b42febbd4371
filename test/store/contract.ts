/** What every implementation of the port src/store/store.ts keeps. Run by store.test.ts over each of them. */

import type { Test } from 'tap';
import type { TrackRecord } from '../../src/metadata/record.js';
import { type ChannelState, EMPTY_STATE } from '../../src/metadata/state.js';
import type { Store } from '../../src/store/store.js';

/** A state with everything in it, told apart by its version. */
export function stateOf(version: number, song = `song ${version}`): ChannelState {
  const now: TrackRecord = {
    id: `id-${version}`,
    type: 'now',
    artist: 'Sigur Rós “Ágætis” 🎵 \u2028 "\\',
    song,
    separator: ' - ',
    durationSeconds: 215,
    etype: 1001,
    isrc: 'GBAYE6800011',
    cover: '',
    album: '',
    timezone: 'UTC',
    images: '{"small":{"url":"https://example.org/s.png"}}',
    extdata: '{"a": 1.0}',
    source: 'metapush',
    startSeconds: 1_763_642_248,
    channel: 'jazz',
    version,
    effectAtMs: 1_763_642_248_123,
  };
  return { version, now, next: { ...now, type: 'next', images: null }, nowsSinceNext: 1, nextHasTime: true };
}

export async function storeContract(t: Test, openStore: () => Promise<Store>): Promise<void> {
  const store = await openStore();

  t.equal(store.load('jazz'), undefined, 'nothing was saved yet');
  await store.save('jazz', EMPTY_STATE);
  t.same(store.load('jazz'), EMPTY_STATE, 'the empty state is a state');
  const state = stateOf(1);
  await store.save('jazz', state);
  t.same(store.load('jazz'), state, 'every field comes back');
  await store.save('jazz', { ...state, version: 2, now: null });
  t.same(store.load('jazz'), { ...state, version: 2, now: null }, 'the last save counts, whole');

  t.equal(store.load('Jazz'), undefined, 'keys differ by case');
  const longest = '_-'.repeat(32);
  await store.save(longest, stateOf(7));
  t.same(store.load(longest), stateOf(7), 'the longest key');
  t.same(store.load('jazz'), { ...state, version: 2, now: null }, 'another channel does not touch it');

  // As large as a record can be: 16 KiB of extdata, URLs of 4,096 bytes.
  const large = stateOf(8, '🎵'.repeat(20_000));
  await store.save('large', large);
  t.same(store.load('large'), large, 'a large state');

  const channels = Array.from({ length: 50 }, (_, i) => `channel-${i}`);
  await Promise.all(
    channels.map(async (channel) => {
      for (let version = 1; version <= 20; version++) {
        await store.save(channel, stateOf(version, `${channel} ${version}`));
        const seen = store.load(channel)?.now?.song;
        if (seen !== `${channel} ${version}`) t.fail(`${channel}: saved ${version}, but load gives ${seen}`);
      }
    }),
  );
  t.same(
    channels.map((channel) => store.load(channel)),
    channels.map((channel) => stateOf(20, `${channel} 20`)),
    'saves of many channels at once',
  );

  const underWay = store.save('jazz', stateOf(9));
  const [closing, again] = [store.close(), store.close()];
  await t.resolves(underWay, 'close waits for what is under way');
  await t.resolves(closing);
  await t.resolves(again, 'close is idempotent');
  await t.resolves(store.close());
  await t.rejects(store.save('jazz', stateOf(10)), 'a closed store takes nothing');
}
