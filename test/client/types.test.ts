/** The types of `airsplice/client` as types: tsc (npm run check) refuses this file where one of them says something else. */

import t from 'tap';
import {
  type attach,
  type ChannelRecord,
  type FollowOptions,
  follow,
  type PlayState,
} from '../../src/client/client.js';
import type { FollowState, RecordHandlers, RecordSource } from '../../src/client/types.js';

/** `true` where both types are the same, not only assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const SAME: {
  playState: Same<PlayState, 'stopped' | 'connecting' | 'playing' | 'stalled' | 'paused' | 'retrying' | 'failed'>;
  followState: Same<FollowState, 'connecting' | 'connected' | 'reconnecting' | 'missing' | 'closed'>;
  type: Same<ChannelRecord['type'], 'now' | 'next'>;
  source: Same<ChannelRecord['source'], RecordSource>;
  sources: Same<RecordSource, 'metapush' | 'encoder' | 'upstream' | 'fallback' | ''>;
  positionMs: Same<ChannelRecord['positionMs'], number | null>;
  onNext: Same<Parameters<NonNullable<RecordHandlers['onNext']>>, [record: ChannelRecord | null, channelkey: string]>;
  state: Same<ReturnType<typeof attach>['state'], PlayState>;
  now: Same<ReturnType<typeof attach>['now'], ChannelRecord | null>;
} = {
  playState: true,
  followState: true,
  type: true,
  source: true,
  sources: true,
  positionMs: true,
  onNext: true,
  state: true,
  now: true,
};

t.test('unions say their values, handlers what they get', async (t) => {
  for (const [name, isSame] of Object.entries(SAME)) t.ok(isSame, name);
});

t.test('options name one topic, and a listener alone has a sync', async (t) => {
  const right: readonly FollowOptions[] = [
    { channel: 'one', transport: 'sse' },
    { station: 'wave', onNow: (record, isNews) => void [record.title, isNews] },
    { listener: 'a metaid', sync: 'wire' },
  ];
  t.equal(right.length, 3);
  // @ts-expect-error: no topic
  t.throws(() => follow({ server: 'http://127.0.0.1:1/' }), TypeError);
  // @ts-expect-error: no such transport
  const wrong: FollowOptions = { channel: 'one', transport: 'smoke' };
  t.ok(wrong);
});
