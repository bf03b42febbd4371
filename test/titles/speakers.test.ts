/** Whose the titles of a channel are: its source's by name, over pauses, restarts and other senders. */

import t from 'tap';
import type { TrackRecord } from '../../src/metadata/record.js';
import { type Moment, takeNow } from '../../src/now-playing/effect.js';
import { RETURNS_MS, sourceFound, sourceLost } from '../../src/now-playing/fallback.js';
import { endTitle } from '../../src/now-playing/now-playing.js';
import { DEFAULTS } from '../../src/now-playing/repeat.js';
import { type ChannelState, EMPTY_STATE } from '../../src/now-playing/state.js';
import type { Source } from '../../src/source/source.js';
import { Speakers } from '../../src/titles/speakers.js';
import { FakeClock } from '../kit/clock.js';
import { makeRecord } from '../kit/record.js';

const encoder = (sender: string) => ({ kind: 'encoder', state: 'up', sender }) as Source;
const file = { kind: 'file', state: 'up' } as Source;
const said = (saidBy: string): ChannelState => ({ ...EMPTY_STATE, now: makeRecord({ source: 'encoder', saidBy }) });

t.test('one sender has one name, over a pause of ten minutes at most', async (t) => {
  for (const [awayMs, isSame] of [
    [0, true],
    [RETURNS_MS, true],
    [RETURNS_MS + 1, false],
  ] as const) {
    for (const away of [file, null, { ...encoder('one'), state: 'idle' } as Source]) {
      const clock = new FakeClock();
      const speakers = new Speakers(clock);
      const name = speakers.update('a', encoder('one'), EMPTY_STATE)!.name;
      clock.advance(RETURNS_MS * 3);
      t.equal(speakers.update('a', encoder('one'), EMPTY_STATE)?.name, name, 'however long it is there');
      t.equal(speakers.update('a', away, EMPTY_STATE), undefined);
      clock.advance(awayMs);
      t.equal(speakers.update('a', away, EMPTY_STATE), undefined);
      const back = speakers.update('a', encoder('one'), EMPTY_STATE)!;
      t.equal(back.name === name, isSame, `${awayMs} ms, ${away?.state}`);
      t.equal(back.sinceMs, clock.now(), 'it is there from then on');
    }
  }
});

t.test('another sender has another name; who comes behind it is a new one', async (t) => {
  const clock = new FakeClock();
  const speakers = new Speakers(clock);
  const names = ['one', 'two', 'one'].map((sender) => {
    clock.advance(1000);
    return speakers.update('a', encoder(sender), EMPTY_STATE)!.name;
  });
  t.equal(new Set(names).size, 3);
  t.not(speakers.update('b', encoder('three'), EMPTY_STATE)!.name, names[2], 'of each channel');
});

t.test('after a restart, or when another machine has fed it, it is known by its title', async (t) => {
  for (const [passedMs, sender, isSame] of [
    [RETURNS_MS, 'one', true],
    [RETURNS_MS + 1, 'one', false],
    [0, 'two', false],
  ] as const) {
    const clock = new FakeClock();
    const started = new Speakers(clock);
    const moved = new Speakers(clock);
    clock.advance(RETURNS_MS * 2);
    moved.update('a', encoder('two'), EMPTY_STATE);
    moved.lose('a');
    const restarted = new Speakers(clock);
    clock.advance(passedMs);
    for (const speakers of [restarted, moved])
      t.equal(
        speakers.update('a', encoder(sender), said('one.5'))?.name === 'one.5',
        isSame,
        `${sender}, ${passedMs} ms`,
      );
    t.not(started.update('a', encoder('one'), said('one.5'))?.name, 'one.5', 'long after its start');
  }
});

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
