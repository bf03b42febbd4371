/** The whole state machine under random sequences (seeded), against a plain model that keeps what listeners should see. */

import fc from 'fast-check';
import t from 'tap';
import { Refusal } from '../../src/base/refusal.js';
import type { PushInput } from '../../src/metadata/push-input.js';
import { currentNext, type Moment, realNow } from '../../src/now-playing/effect.js';
import { runOut, sourceFound, sourceLost } from '../../src/now-playing/fallback.js';
import { takeHeld } from '../../src/now-playing/held.js';
import { acceptPush } from '../../src/now-playing/now-playing.js';
import { type Change, type ChannelState, EMPTY_STATE, type HistoryEntry } from '../../src/now-playing/state.js';
import { Random } from '../kit/random.js';

const T0 = 1_795_178_248_000;
const HOLD = { holdSeconds: 300, heldPushes: 3 };
const GRACE = 5;
const OWN = { artist: '', song: 'OWN' };

interface Play {
  id: string | null; // null: made by the machine
  song: string;
  cover: string;
  start: number;
  said: number | null;
  duration: number;
  effectMs: number;
}
interface Following {
  id: string | null;
  song: string;
  cover: string;
  start: number; // as its record has it: the time it was pushed with, else its arrival
  time: number | null;
  others: number;
}

/** What should be seen, computed step by step the simple way. */
class Model {
  real: Play | null = null;
  next: Following | null = null;
  held: Play[] = [];
  lost = false;
  own = false;

  get visible(): string | null {
    return this.lost ? OWN.song : (this.real?.song ?? (this.own ? OWN.song : null));
  }
  followingAt(ms: number): Following | null {
    return this.next?.time != null && ms >= (this.next.time + 60) * 1000 ? null : this.next;
  }
  #begins(play: Play, corrected: Play | null, ms: number): void {
    const next = this.followingAt(ms);
    this.next = next;
    if (next === null) return;
    if (corrected === null) next.others++;
    const isIt = (one: Play) => next.song === one.song || (next.id !== null && next.id === one.id);
    const isSpent = isIt(play) && !(corrected !== null && isIt(corrected));
    if (isSpent || next.others > 1) this.next = null;
  }
  begin(play: Play, ms: number): void {
    this.real = { ...play, effectMs: ms };
    this.own = false;
    this.#begins(play, null, ms);
  }
  now(input: PushInput, ms: number): void {
    const arrival = Math.floor(ms / 1000);
    const time = input.timeSeconds;
    const far = time !== undefined && time > arrival + HOLD.holdSeconds;
    const ahead = time !== undefined && time > arrival && !far;
    const { real } = this;
    if (real !== null && !(real.duration > 0 && ms >= real.effectMs + real.duration * 1000)) {
      const sameTime = time === undefined || time === real.start || time === real.said;
      const end = real.duration > 0 ? (real.said ?? real.start) + real.duration - 10 : Number.POSITIVE_INFINITY;
      const same =
        input.id === undefined
          ? input.song === real.song && (sameTime || (!ahead && time < end))
          : input.id === real.id && sameTime;
      if (same) {
        const isNews =
          real.song !== input.song ||
          (input.cover ?? real.cover) !== real.cover ||
          (input.durationSeconds ?? real.duration) !== real.duration;
        const before = { ...real };
        real.song = input.song;
        real.cover = input.cover ?? real.cover;
        real.duration = input.durationSeconds ?? real.duration;
        if (isNews) this.#begins(real, before, ms);
        return;
      }
    }
    const play: Play = {
      id: input.id ?? null,
      song: input.song,
      cover: input.cover ?? '',
      start: Math.min(time ?? arrival, ahead ? Number.POSITIVE_INFINITY : arrival),
      said: far ? time : null,
      duration: input.durationSeconds ?? 0,
      effectMs: ms,
    };
    const replaced = this.held.find((one) =>
      play.id !== null ? one.id === play.id : ahead && one.start === play.start && one.song === play.song,
    );
    const others = this.held.filter((one) => one !== replaced);
    if (!ahead) {
      this.held = others;
      this.begin(play, ms);
      return;
    }
    if (others.length === HOLD.heldPushes) return; // refused
    play.id ??= replaced?.id ?? null;
    this.held = [...others, play].sort((a, b) => a.start - b.start);
  }
  following(input: PushInput, ms: number): void {
    const next = this.followingAt(ms);
    const time = input.timeSeconds;
    const sameTime = time === undefined || next?.start === time;
    const same =
      next !== null && (input.id === undefined ? input.song === next.song : input.id === next.id && sameTime);
    const { song, cover } = input;
    this.next = same
      ? {
          ...next,
          ...{ song, cover: cover ?? next.cover, start: time ?? next.start, time: time ?? next.time, others: 0 },
        }
      : {
          ...{ id: input.id ?? null, song, cover: cover ?? '', start: time ?? Math.floor(ms / 1000) },
          ...{ time: time ?? null, others: 0 },
        };
  }
}

/** History as a store would have it. */
class Shelf {
  readonly entries = new Map<string, HistoryEntry>();
  put(change: Change): void {
    for (const entry of change.history) this.entries.set(`${entry.fromMs} ${entry.record.version}`, entry);
  }
  /** Throws where it has a hole, an overlap, or an end that is missing. */
  check(state: ChannelState): void {
    const entries = [...this.entries.values()];
    const open = entries.filter(({ toMs }) => toMs === null);
    if (open.length !== (state.now === null ? 0 : 1)) throw new Error(`${open.length} entries are on air`);
    if (open[0] !== undefined && open[0].record !== state.now) throw new Error('what is on air is another');
    for (const [i, entry] of entries.slice(0, -1).entries()) {
      if (entry.toMs !== entries[i + 1]!.fromMs) throw new Error(`entry ${i} ends when nothing begins`);
      if (entry.fromMs >= entries[i + 1]!.fromMs) throw new Error(`entry ${i} begins too late`);
    }
  }
}

const song = fc.constantFrom('a', 'b', 'c');
const push = fc.record(
  {
    type: fc.constantFrom('now', 'now', 'now', 'next'),
    song,
    id: fc.constantFrom('1', '2', '3'),
    cover: fc.constantFrom('x', 'y'),
    durationSeconds: fc.constantFrom(0, 20, 100),
    time: fc.constantFrom(-40, -1, 0, 1, 30, 299, 300, 301, 5000),
  },
  { requiredKeys: ['type', 'song'] },
);
const step = fc.oneof(
  { weight: 6, arbitrary: push },
  { weight: 3, arbitrary: fc.record({ seconds: fc.constantFrom(0.25, 1, 10, 25, 90, 105) }) },
  { weight: 1, arbitrary: fc.constantFrom('lost' as const, 'found' as const) },
);

t.test('random sequences against a plain model', async (t) => {
  const { seed } = new Random();
  let published = 0;
  const story = fc.property(fc.array(step, { minLength: 25, maxLength: 80 }), (steps) => {
    const model = new Model();
    const shelf = new Shelf();
    let state = EMPTY_STATE;
    let ms = T0;
    let ids = 0;
    const at = (): Moment => ({
      ...{ channel: 'one', wallMs: ms, newId: () => `made-${++ids}`, ageMs: (now) => ms - now.effectAtMs },
    });
    const take = (change: Change | null) => {
      if (change === null) return false;
      if (change.state.version !== state.version + 1) throw new Error('a change without a version of its own');
      if (change.record !== null && change.record.version !== change.state.version) throw new Error('another version');
      state = change.state;
      shelf.put(change);
      if (change.record !== null) published++;
      return true;
    };
    /** What the scheduler does, in its order. */
    const due = () => {
      while (take(takeHeld(state, (track) => track.startSeconds * 1000 <= ms, at())));
      for (let first = model.held[0]; first !== undefined && first.start * 1000 <= ms; first = model.held[0]) {
        model.held.shift();
        model.begin(first, ms);
      }
      const now = realNow(state);
      if (now !== null && now.durationSeconds > 0 && ms >= now.effectAtMs + (now.durationSeconds + GRACE) * 1000) {
        take(runOut(state, now.effectAtMs, OWN, at()));
      }
      const { real } = model;
      if (real !== null && real.duration > 0 && ms >= real.effectMs + (real.duration + GRACE) * 1000) {
        model.real = null;
        model.own = true;
      }
    };
    for (const one of steps) {
      if (one === 'lost') {
        take(sourceLost(state, OWN, at()));
        model.lost = true;
      } else if (one === 'found') {
        take(sourceFound(state, at()));
        if (model.lost) model.own = model.real === null;
        model.lost = false;
      } else if ('seconds' in one) {
        ms += one.seconds * 1000;
      } else {
        const { time, ...rest } = one;
        const arrival = Math.floor(ms / 1000);
        const input = {
          artist: '',
          ...rest,
          ...(time === undefined ? {} : { timeSeconds: arrival + time }),
        } as PushInput;
        try {
          take(acceptPush(state, input, at(), HOLD).change);
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
        }
        if (input.type === 'now') model.now(input, ms);
        else model.following(input, ms);
      }
      due();
      const next = model.followingAt(ms);
      const seen = {
        visible: state.now?.song ?? null,
        real: realNow(state) && [realNow(state)!.song, realNow(state)!.cover, realNow(state)!.startSeconds],
        held: state.held.map((track) => `${track.song} ${track.startSeconds}`),
        next: currentNext(state, ms) && [currentNext(state, ms)!.song, currentNext(state, ms)!.cover],
      };
      const wanted = {
        visible: model.visible,
        real: model.real && [model.real.song, model.real.cover, model.real.start],
        held: model.held.map((play) => `${play.song} ${play.start}`),
        next: next && [next.song, next.cover],
      };
      if (JSON.stringify(seen) !== JSON.stringify(wanted)) {
        throw new Error(`after ${JSON.stringify(one)}: ${JSON.stringify(seen)}, wanted ${JSON.stringify(wanted)}`);
      }
      shelf.check(state);
    }
  });
  fc.assert(story, { seed, numRuns: 1000 });
  t.ok(published > 10_000, `seed ${seed}, ${published} records published`);
});
