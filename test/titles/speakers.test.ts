/** Whose the titles of a channel are: its source's by name, over pauses, restarts and other senders. */

import t from 'tap';
import { RETURNS_MS } from '../../src/now-playing/fallback.js';
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

t.test(
  'another sender has another name; one that is back behind it within ten minutes has its own again',
  async (t) => {
    for (const [awayMs, isSame] of [
      [1000, true],
      [RETURNS_MS, true],
      [RETURNS_MS + 1, false],
    ] as const) {
      const clock = new FakeClock();
      const speakers = new Speakers(clock);
      const on = (sender: string) => speakers.update('a', encoder(sender), EMPTY_STATE)!;
      const [one, two] = [on('one').name, on('two').name];
      t.not(one, two);
      clock.advance(awayMs);
      const back = on('one');
      t.equal(back.name === one, isSame, `${awayMs} ms`);
      t.equal(back.sinceMs, clock.now());
      t.equal(on('two').name, two, 'that was there until now');
      t.not(speakers.update('b', encoder('three'), EMPTY_STATE)!.name, back.name, 'of each channel');
    }
  },
);

t.test('however many senders there are, those that were there last are known', async (t) => {
  const clock = new FakeClock();
  const speakers = new Speakers(clock);
  const on = (i: number) => {
    clock.advance(1000);
    return speakers.update('a', encoder(`${i}`), EMPTY_STATE)!.name;
  };
  const names = Array.from({ length: 100 }, (_, i) => on(i));
  t.equal(new Set(names).size, 100);
  t.equal(on(95), names[95]);
  t.not(on(0), names[0]);
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

t.test(
  'after a restart it is known also where another source was on air before it, and by its first title',
  async (t) => {
    const clock = new FakeClock();
    const speakers = new Speakers(clock);
    t.not(speakers.update('a', encoder('two'), said('one.5'))!.name, 'one.5');
    t.equal(speakers.update('a', encoder('one'), said('one.5'))!.name, 'one.5');
    const first: ChannelState = { ...EMPTY_STATE, now: makeRecord({ source: 'fallback', saidBy: 'one.5' }) };
    t.equal(speakers.update('b', encoder('one'), first)!.name, 'one.5');
    // Another source has said one since: a moment ago, or too long.
    const behind = (agoMs: number): ChannelState => {
      const [fromMs, toMs] = [clock.wallMs() - agoMs - 1000, clock.wallMs() - agoMs];
      return { ...said('two.7'), ended: [{ record: said('one.5').now!, fromMs, toMs, saidSeconds: null }] };
    };
    t.equal(speakers.update('c', encoder('one'), behind(1000))!.name, 'one.5');
    t.not(speakers.update('d', encoder('one'), behind(RETURNS_MS + 1))!.name, 'one.5');
  },
);
