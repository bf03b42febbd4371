/** The whole state machine under random sequences (seeded), against a plain model that keeps what listeners should see. */

import fc from 'fast-check';
import t from 'tap';
import { Refusal } from '../../src/base/refusal.js';
import type { PushInput } from '../../src/metadata/push-input.js';
import { isIdSent, playId, type TrackRecord } from '../../src/metadata/record.js';
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
type Message = Pick<PushInput, 'song' | 'id' | 'cover' | 'durationSeconds' | 'timeSeconds'>;

function lasts(duration: number): number {
  return duration > 0 ? duration - Math.min(10, duration / 2) : 30;
}
function mayBe(play: Pick<Play, 'id'>, { id }: Message): boolean {
  return id === undefined || play.id === null || play.id === id;
}

/** What should be seen, computed step by step the simple way. */
class Model {
  real: Play | null = null;
  /** What was on air before, newest first. */
  ended: Play[] = [];
  next: Following | null = null;
  held: Play[] = [];
  lost = false;
  lostMs = 0;
  own = false;
  /** When what is seen starts by its record. */
  shown = 0;

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
  #leaves(start: number): void {
    if (this.lost) return;
    const { real } = this;
    if (real !== null)
      this.ended = [real, ...this.ended.filter(({ effectMs }) => effectMs !== real.effectMs)].slice(0, 3);
    this.shown = start;
  }
  begin(play: Play, ms: number): void {
    const next = this.followingAt(ms);
    const id = play.id ?? (next?.song === play.song ? next.id : null);
    this.#leaves(play.start);
    this.real = { ...play, id, effectMs: ms };
    this.own = false;
    this.#begins(this.real, null, ms);
  }
  runsOut(ms: number): void {
    this.#leaves(Math.floor(ms / 1000));
    this.real = null;
    this.own = true;
  }
  loses(ms: number): void {
    if (!this.lost && this.real !== null) this.#leaves(Math.floor(ms / 1000));
    else if (!this.lost && !this.own) this.shown = Math.floor(ms / 1000);
    if (!this.lost) this.lostMs = ms;
    this.lost = true;
  }
  finds(ms: number): void {
    const sinceMs = Math.max(this.lostMs, this.real?.effectMs ?? 0);
    if (this.lost && this.real?.duration === 0 && ms - sinceMs > 600_000) this.real = null;
    if (this.lost) this.own = this.real === null;
    this.lost = false;
    if (this.real !== null) this.shown = this.real.start;
  }
  /** Whether it speaks of the play in force. */
  #isOfReal(real: Play, input: Message, ms: number, far: boolean): boolean {
    const { timeSeconds: time, durationSeconds = 0 } = input;
    const sameTime = time !== undefined && (time === real.start || time === real.said);
    if (real.song !== input.song) {
      const isOver = (duration: number) => duration > 0 && ms >= real.effectMs + duration * 1000;
      const isMeant = sameTime || (time === undefined && !isOver(durationSeconds));
      return real.id !== null && input.id === real.id && isMeant && !isOver(real.duration);
    }
    if (!mayBe(real, input)) return false;
    if (sameTime) return true;
    const duration = real.duration > 0 ? real.duration : durationSeconds;
    if (duration > 0 && ms >= real.effectMs + duration * 1000) return false;
    if (time === undefined) return true;
    if (input.id !== undefined && real.id === null && time <= real.start - 30) return false;
    if (far && real.said !== null) return time - real.said < lasts(duration);
    if (far) return ms / 1000 - real.start < lasts(duration);
    const began = duration > 0 ? real.start : Math.max(real.start, real.effectMs / 1000);
    return time < ms / 1000 + 30 && time - began < lasts(duration);
  }
  #lateOf(input: Message): Play | undefined {
    const time = input.timeSeconds;
    if (time === undefined) return undefined;
    return this.ended.find((past, i) => {
      if (past.song !== input.song || !mayBe(past, input)) return false;
      const before = i === 0 ? this.shown : this.ended[i - 1]!.start;
      return time === past.said || (time < before && Math.abs(time - past.start) < 30);
    });
  }
  #ofHeld(input: Message, at: number): Play | undefined {
    return this.held.find((one) =>
      input.id !== undefined && one.id !== null
        ? one.id === input.id
        : one.song === input.song &&
          Math.abs(at - one.start) <
            Math.min(30, lasts(one.duration > 0 ? one.duration : (input.durationSeconds ?? 0))),
    );
  }
  #with(play: Play, { song, id, cover, durationSeconds }: Message): Play {
    return { ...play, song, id: id ?? play.id, cover: cover ?? play.cover, duration: durationSeconds ?? play.duration };
  }
  /** Takes what speaks of the play in force. */
  #corrects(input: Message, ms: number, far: boolean): boolean {
    const before = this.real;
    if (before === null || !this.#isOfReal(before, input, ms, far)) return false;
    this.real = this.#with(before, input);
    if (JSON.stringify(this.real) === JSON.stringify(before)) return true;
    this.#begins(this.real, before, ms);
    this.#changesRow(this.real);
    return true;
  }
  /** What was on air before its source was lost has a row that ended. */
  #changesRow(real: Play): void {
    const isRow = ({ song, effectMs }: Play) => song === real.song && effectMs === real.effectMs;
    if (this.lost) this.ended = this.ended.map((one) => (isRow(one) ? real : one));
  }
  now(input: Message, ms: number): void {
    const arrival = Math.floor(ms / 1000);
    const time = input.timeSeconds;
    const far = time !== undefined && time > arrival + HOLD.holdSeconds;
    const ahead = time !== undefined && time * 1000 > ms && !far;
    if (this.#corrects(input, ms, far)) return;
    const late = this.#lateOf(input);
    if (late !== undefined) {
      this.ended = this.ended.map((one) => (one === late ? this.#with(late, input) : one));
      return;
    }
    const said = far ? undefined : time;
    const replaced = this.#ofHeld(input, said ?? ms / 1000);
    const others = this.held.filter((one) => one !== replaced);
    const near = replaced?.song === input.song && Math.abs(replaced.start - arrival) < 30;
    const blank = { id: null, song: '', cover: '', start: 0, said: null, duration: 0, effectMs: ms };
    const play = {
      ...this.#with(replaced?.song === input.song ? replaced : blank, input),
      start: said ?? (near ? replaced.start : arrival),
      said: far ? time : null,
    };
    if (!ahead) {
      this.held = others.filter((one) => one.id === null || one.id !== input.id);
      this.begin(play, ms);
      return;
    }
    if (others.length === HOLD.heldPushes) return; // refused
    this.held = [...others, play].sort((a, b) => a.start - b.start);
  }
  /** Whether a held push was due. */
  due(ms: number): boolean {
    const [first, second] = this.held;
    if (first === undefined || first.start * 1000 > ms) return false;
    this.held.shift();
    if (second?.start === first.start) return true;
    const { song, id, cover, duration, start } = first;
    const said = {
      ...(id !== null && { id }),
      ...(cover !== '' && { cover }),
      ...(duration > 0 && { durationSeconds: duration }),
    };
    if (!this.#corrects({ song, ...said, timeSeconds: start }, ms, false)) this.begin(first, ms);
    return true;
  }
  following(input: Message, ms: number): void {
    const { real } = this;
    const time = input.timeSeconds;
    const isNew = real !== null && (time !== undefined || ms < real.effectMs + 30_000);
    if (isNew && real.song === input.song && this.#isOfReal(real, input, ms, false)) {
      this.real = { ...real, id: input.id ?? real.id };
      if (real.id !== this.real.id) {
        this.#begins(this.real, real, ms);
        this.#changesRow(this.real);
      }
      return;
    }
    if (this.#lateOf(input) !== undefined) return;
    const next = this.followingAt(ms);
    const { song, cover } = input;
    const byId =
      next !== null && next.id !== null && input.id === next.id && (time === undefined || time === next.start);
    const same = next !== null && mayBe(next, input) && (song === next.song || byId);
    this.next = same
      ? {
          id: input.id ?? next.id,
          song,
          cover: cover ?? next.cover,
          start: time ?? next.start,
          time: time ?? next.time,
          others: 0,
        }
      : {
          id: input.id ?? null,
          song,
          cover: cover ?? '',
          start: time ?? Math.floor(ms / 1000),
          time: time ?? null,
          others: 0,
        };
  }
}

/** History as a store would have it. */
class Shelf {
  readonly entries = new Map<string, HistoryEntry>();
  put(change: Change): void {
    for (const entry of change.history) this.entries.set(`${entry.fromMs} ${playId(entry.record)}`, entry);
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

function said(record: TrackRecord | null) {
  return record && [isIdSent(record) ? record.id : null, record.song, record.cover, record.startSeconds];
}

const song = fc.constantFrom('a', 'b', 'c');
const push = fc.record(
  {
    type: fc.constantFrom('now', 'now', 'now', 'next'),
    song,
    id: fc.constantFrom('1', '2', '3'),
    cover: fc.constantFrom('x', 'y'),
    durationSeconds: fc.constantFrom(0, 20, 100),
    time: fc.constantFrom(-40, -10, -1, 0, 1, 29, 30, 299, 300, 301, 5000),
  },
  { requiredKeys: ['type', 'song'] },
);
const step = fc.oneof(
  { weight: 6, arbitrary: push },
  { weight: 3, arbitrary: fc.record({ seconds: fc.constantFrom(0.25, 1, 10, 25, 90, 105, 601) }) },
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
      channel: 'one',
      wallMs: ms,
      newId: () => `made-${++ids}`,
      ageMs: (now) => ms - now.effectAtMs,
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
      for (let isDue = true; isDue; ) {
        ms++;
        isDue = model.due(ms);
        const isTaken = take(takeHeld(state, (track) => track.startSeconds * 1000 <= ms, at()));
        if (isTaken !== isDue) throw new Error(`${isTaken ? '' : 'not '}due`);
      }
      const now = realNow(state);
      if (now !== null && now.durationSeconds > 0 && ms >= now.effectAtMs + (now.durationSeconds + GRACE) * 1000) {
        take(runOut(state, now.effectAtMs, OWN, at()));
      }
      const { real } = model;
      if (real !== null && real.duration > 0 && ms >= real.effectMs + (real.duration + GRACE) * 1000) {
        model.runsOut(ms);
      }
    };
    for (const one of steps) {
      // No two changes of one moment.
      ms++;
      if (one === 'lost') {
        take(sourceLost(state, OWN, at()));
        model.loses(ms);
      } else if (one === 'found') {
        take(sourceFound(state, at()));
        model.finds(ms);
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
        real: said(realNow(state)),
        ended: (state.ended ?? []).map(({ record }) => said(record)),
        held: state.held.map((track) => `${track.song} ${track.startSeconds}`),
        next: currentNext(state, ms) && [currentNext(state, ms)!.song, currentNext(state, ms)!.cover],
      };
      const wanted = {
        visible: model.visible,
        real: model.real && [model.real.id, model.real.song, model.real.cover, model.real.start],
        ended: model.ended.map(({ id, song, cover, start }) => [id, song, cover, start]),
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
