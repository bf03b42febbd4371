/** Whose title is in force when its source goes, or is back: it ends, is covered, and returns. */

import t from 'tap';
import type { TrackRecord } from '../../src/metadata/record.js';
import { type Moment, takeNow } from '../../src/now-playing/effect.js';
import { bringBack, RETURNS_MS, sourceFound, sourceLost } from '../../src/now-playing/fallback.js';
import { acceptTitle, endTitle } from '../../src/now-playing/now-playing.js';
import { DEFAULTS } from '../../src/now-playing/repeat.js';
import { type ChannelState, EMPTY_STATE } from '../../src/now-playing/state.js';
import { makeRecord } from '../kit/record.js';

const at = (wallMs: number): Moment => ({ channel: 'demo', wallMs, newId: () => 'made', ageMs: () => 0 });
const OWN = { artist: '', song: 'OWN' };
const T0 = 1_795_178_248_000;
function saying(fields: Partial<TrackRecord>): ChannelState {
  const { channel: _, version: __, effectAtMs: ___, ...track } = makeRecord({ ...DEFAULTS, song: 'A', ...fields });
  return takeNow(EMPTY_STATE, track, at(T0)).state;
}

t.test('a title ends where another source is on air, and only one of a source', async (t) => {
  const ended = (state: ChannelState, title: typeof OWN | null) => endTitle(state, 'two', title, at(T0 + 9000));
  const one = saying({ source: 'encoder', saidBy: 'one' });
  const none = ended(one, null)!;
  t.match(none.record, { artist: '', song: '', source: 'encoder', version: 2 });
  t.notOk('saidBy' in none.record!, 'it is of no source, so it does not end again');
  t.match(none.history, [{ record: { song: 'A' }, toMs: T0 + 9000 }], 'and has no row');
  t.match(ended(one, OWN)!.record, { song: 'OWN', source: 'fallback' });
  t.equal(ended(saying({ source: 'encoder', saidBy: 'two' }), null), null, 'its own');
  t.equal(ended(saying({ source: 'encoder' }), null), null, 'sent while no encoder was connected');
  t.equal(ended(saying({ source: 'metapush' }), null), null, 'pushed');
  t.equal(ended(none.state, null), null, 'once');
});

t.test('a source that is back behind another one has its last title again', async (t) => {
  const one = saying({ source: 'encoder', saidBy: 'one' });
  const says = (state: ChannelState, fields: Partial<TrackRecord>, ms: number) =>
    takeNow(state, { ...saying({ song: 'B', id: 'b', ...fields }).now! }, at(T0 + ms)).state;
  const back = (state: ChannelState, sinceMs = 9000, afterMs = 100) =>
    bringBack(state, { name: 'one', sinceMs: T0 + sinceMs }, at(T0 + sinceMs + afterMs));
  for (const [name, between] of [
    ['which has said one', says(one, { source: 'upstream', saidBy: 'two' }, 2000)],
    ['which has said two', says(says(one, { saidBy: 'two' }, 2000), { song: 'C', id: 'c', saidBy: 'two' }, 3000)],
    ['which has said none', endTitle(one, 'two', null, at(T0 + 5000))!.state],
    ['for which the fallback title stood', endTitle(one, 'two', OWN, at(T0 + 5000))!.state],
  ] as const) {
    const returned = back(between)!;
    t.match(returned.record, { song: 'A', id: one.now!.id, effectAtMs: T0, saidBy: 'one' }, name);
    t.equal(returned.record!.version, between.version + 1);
    t.match(returned.history.at(-1), { record: { song: 'A' }, fromMs: T0 + 9100, toMs: null });
    t.equal(back(returned.state), null, 'once');
    t.equal(back({ ...between, lost: true }), null, 'not while it is lost');
  }
  const b = says(one, { saidBy: 'two' }, 2000);
  t.equal(back(one), null, 'its own is in force');
  t.equal(back(b, 1000), null, 'what came since it is there stays');
  t.equal(back(says(b, { song: 'P', id: 'p' }, 3000)), null, 'a push');
  t.equal(
    back(says(says(one, { song: 'P', id: 'p' }, 2000), { saidBy: 'two' }, 3000)),
    null,
    'behind a push it is old',
  );
  const short = says(saying({ source: 'upstream', saidBy: 'one', durationSeconds: 9 }), { saidBy: 'two' }, 2000);
  t.equal(back(short, 8000)?.record?.song, 'A');
  t.equal(back(short, 9000), null, 'it has run out');
  const rules = { titlesFrom: ['encoder'] as const, originOnAir: null, pushHoldSeconds: 600, graceSeconds: 5 };
  const none = { artist: '', song: '', source: 'encoder', saidBy: 'one' } as const;
  const cleared = acceptTitle(one, none, at(T0 + 1000), rules)!.state;
  t.equal(back(says(cleared, { saidBy: 'two' }, 2000)), null, 'it has cleared it itself');
});

t.test('what its stream says again behind another source, or a push, is the same play', async (t) => {
  const one = saying({ source: 'upstream', saidBy: 'one' });
  const rules = { titlesFrom: ['upstream'] as const, originOnAir: null, pushHoldSeconds: 0, graceSeconds: 0 };
  const says = (state: ChannelState, fields: Partial<TrackRecord>, ms: number) =>
    takeNow(state, { ...saying({ song: 'B', id: 'b', ...fields }).now! }, at(T0 + ms)).state;
  const again = (state: ChannelState, fields: object = {}, sinceMs = 5000, afterMs = 100) => {
    const title = {
      artist: one.now!.artist,
      song: 'A',
      source: 'upstream',
      saidBy: 'one',
      sinceMs: T0 + sinceMs,
    } as const;
    return acceptTitle(state, { ...title, ...fields }, at(T0 + sinceMs + afterMs), rules)!.record!;
  };
  const isSame = ({ id, effectAtMs, song }: TrackRecord) => id === one.now!.id && effectAtMs === T0 && song === 'A';
  const behind = says(one, { source: 'encoder', saidBy: 'two' }, 2000);
  t.equal(isSame(again(behind)), true);
  t.match(again(behind, { cover: 'https://x.example/a.jpg' }), { id: one.now!.id, cover: 'https://x.example/a.jpg' });
  t.equal(isSame(again(says(behind, { song: 'C', id: 'c', saidBy: 'two' }, 3000))), true, 'behind two');
  t.equal(isSame(again(says(one, { song: 'P', id: 'p' }, 6000))), true, 'a push, whenever it came');
  t.equal(isSame(again(behind, {}, 1000, 2000)), false, 'behind a title that came since it is there');
  t.equal(
    isSame(again(says(behind, { source: 'upstream', song: 'D', saidBy: 'one' }, 3000))),
    false,
    'it has said another',
  );
  t.equal(isSame(again(behind, { sinceMs: undefined })), false, 'as of a file, which begins anew');
  t.equal(isSame(again(behind, { saidBy: 'three' })), false, 'another source');
  t.equal(isSame(again(behind, {}, 2000 + RETURNS_MS, 0)), true);
  t.equal(isSame(again(behind, {}, 2000 + RETURNS_MS, 1)), false, 'after too long');
  const short = says(saying({ source: 'upstream', saidBy: 'one', durationSeconds: 9 }), { saidBy: 'two' }, 2000);
  t.equal(again(short, {}, 9000).id, 'made', 'its time is over');
});

t.test(
  'behind a loss a title returns to its own source, a pushed one within its duration or ten minutes',
  async (t) => {
    const returns = (fields: Partial<TrackRecord>, speaker: string | undefined, lostMs = 1000) => {
      const lost = sourceLost(saying(fields), OWN, at(T0 + 5000))!.state;
      const { state } = sourceFound(lost, at(T0 + 5000 + lostMs), speaker)!;
      t.equal(state.lost, false);
      return state.now!.song;
    };
    const one = { source: 'encoder', saidBy: 'one' } as const;
    t.equal(returns(one, 'one'), 'A');
    t.equal(returns(one, 'two'), 'OWN');
    t.equal(returns(one, undefined), 'OWN');
    t.equal(returns({}, 'two'), 'A');
    t.equal(returns({}, 'two', RETURNS_MS), 'A');
    t.equal(returns({}, 'two', RETURNS_MS + 1), 'OWN');
    t.equal(returns({ durationSeconds: 5000 }, 'two', RETURNS_MS + 1), 'A');
  },
);
