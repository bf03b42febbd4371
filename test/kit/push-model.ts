/**
 * A model of one channel on the pusher's side: from the sent and answered pushes it predicts history, now and next at any later moment, even after
 * kills of the server. Pushes to a channel are consecutive, so at most one of them is in doubt.
 *
 * Channels that hold pushes get pushes ahead of their time, some of them repeatedly; the others get repeats and corrections, and after a kill the
 * push in doubt again. Every push has unique words, so that a record identifies its push.
 */

import { isDeepStrictEqual } from 'node:util';
import {
  dueMs,
  isBefore,
  type Life,
  nameOf,
  nameOfSent,
  type Pushed,
  type Read,
  rowOf,
  type Sent,
  says,
} from './pushed.js';
import type { Random } from './random.js';

/** Tolerance for the clocks of two processes, and for titles of the same millisecond. */
const SLACK_MS = 20;

export class PushModel {
  readonly channel: string;
  readonly holds: boolean;
  readonly pushes = new Map<string, Pushed>();
  busy = false;
  readonly #random: Random;
  #entries: Read[] = [];
  #count = 0;
  #songs = 0;
  #inForce: Pushed | null = null;
  #doubt: Pushed | null = null;
  #again: Pushed | null = null;

  constructor(channel: string, holds: boolean, random: Random) {
    this.channel = channel;
    this.holds = holds;
    this.#random = random;
  }

  /** The next push. Call `answered` or `failed` afterwards. */
  plan(): Pushed {
    const pushed = this.#again ?? this.#choose();
    this.#again = null;
    this.pushes.set(nameOfSent(pushed.meant), pushed);
    return (this.#doubt = pushed);
  }

  /** @returns faults of the answer */
  answered(pushed: Pushed, life: number, answer: Read): string[] {
    const { id: knownId, start: knownStart } = pushed;
    pushed.endedMs = pushed.answeredMs = Date.now();
    pushed.lives.add(life);
    pushed.id = answer.id;
    pushed.start = answer.start_timestamp;
    this.#doubt = null;
    if (!this.holds && pushed.kind !== 'next') this.#inForce = pushed;
    const { song, artist, id, time } = pushed.meant;
    const right =
      answer.song === song &&
      answer.artist === artist &&
      [undefined, answer.id].includes(id) &&
      [undefined, answer.id].includes(knownId) &&
      [undefined, answer.start_timestamp].includes(knownStart) &&
      [undefined, answer.start_timestamp].includes(time);
    return right ? [] : [`answer ${JSON.stringify(answer)} to ${JSON.stringify(pushed)}`];
  }

  failed(pushed: Pushed): void {
    pushed.endedMs = Date.now();
  }

  /**
   * Compares reads with the pushes, and learns from them whether the push in doubt was accepted.
   * @param history oldest first @returns faults
   */
  audit(history: Read[], now: Read | null, next: Read | null, lives: readonly Life[]): string[] {
    const wrong: string[] = [];
    const readMs = Date.now();
    const names = history.map(nameOf);
    const made = names.map((name) => this.pushes.get(name));
    if (new Set(names).size !== names.length) wrong.push('an entry twice');
    let lastN = 0;
    let lastHeld: Pushed | undefined;
    for (const [i, entry] of history.entries()) {
      const pushed = made[i];
      if (pushed === undefined || !says(entry, pushed)) {
        wrong.push(`${names[i]} is not what was pushed: ${JSON.stringify(entry)} ${JSON.stringify(pushed)}`);
        continue;
      }
      const before = this.#entries[i];
      const [first] = rowOf(pushed).slice(-1);
      const isCorrected = rowOf(pushed.corrects).some(
        ({ meant }) => before !== undefined && nameOfSent(meant) === nameOf(before),
      );
      const kept = isCorrected ? { ...entry, from: before.from } : before;
      if (kept !== undefined && !isDeepStrictEqual({ ...kept, to: 0 }, { ...entry, to: 0 })) {
        wrong.push(`${names[i]} was ${nameOf(before)} before`);
      }
      if (entry.to !== (history[i + 1]?.from ?? null)) wrong.push(`${names[i]} ends at ${entry.to}`);
      const fromMs = Date.parse(entry.from);
      if (i > 0 && fromMs <= Date.parse(history[i - 1].from)) wrong.push(`${names[i]} begins before the one before it`);
      let [earliestMs, latestMs] = [first!.sentMs, first!.endedMs];
      if (pushed.kind === 'held') {
        earliestMs = pushed.meant.time! * 1000;
        latestMs = dueMs(pushed, lives);
        if (pushed.endedMs < earliestMs) {
          if (lastHeld !== undefined && !isBefore(lastHeld, pushed)) wrong.push(`${names[i]} is not in its turn`);
          lastHeld = pushed;
        }
      } else if (first!.n <= lastN) wrong.push(`${names[i]} is not in order`);
      else lastN = first!.n;
      if (fromMs < earliestMs - SLACK_MS || fromMs > latestMs + SLACK_MS) {
        wrong.push(`${names[i]} from ${fromMs}, not ${earliestMs} to ${latestMs}`);
      }
      pushed.id = entry.id;
    }
    if (history.length < this.#entries.length) wrong.push(`${this.#entries.length - history.length} entries lost`);
    this.#entries = history;
    const { from: _from, to: _to, ...last } = history.at(-1) ?? {};
    if (!isDeepStrictEqual(now, history.length === 0 ? null : last)) wrong.push(`now is ${now && nameOf(now)}`);

    const aired = new Set(made.flatMap(rowOf));
    const groups = new Map<string, Pushed[]>();
    for (const pushed of this.pushes.values()) {
      const { kind, answeredMs } = pushed;
      if (kind === 'held') groups.set(pushed.sent.id!, [...(groups.get(pushed.sent.id!) ?? []), pushed]);
      else if (kind !== 'next' && answeredMs !== null && !aired.has(pushed)) wrong.push(`${pushed.meant.song} is lost`);
    }
    for (const group of groups.values()) wrong.push(...this.#auditGroup(group, aired, lives, readMs));
    wrong.push(...this.#auditNext(history, next));

    if (!this.holds) {
      this.#inForce = made.at(-1) ?? null;
      if (this.#doubt !== null && this.#random.chance(0.5)) this.#again = this.#doubt;
    }
    this.#doubt = null;
    return wrong.map((text) => `${this.channel}: ${text}`);
  }

  /** Whether every answered held push, or a later one with its id, is in the history. */
  isOnAir(history: readonly Read[]): boolean {
    const aired = new Set(history.map(nameOf));
    const held = [...this.pushes].filter(([, { kind }]) => kind === 'held');
    return held.every(
      ([, pushed]) =>
        pushed.answeredMs === null ||
        this.#isOutdone(pushed) ||
        held.some(([name, by]) => by.n >= pushed.n && by.sent.id === pushed.sent.id && aired.has(name)),
    );
  }

  /** Whether a later push may have the same second, and so leave no trace of this one. */
  #isOutdone({ n, meant }: Pushed): boolean {
    return [...this.pushes.values()].some((by) => by.kind === 'held' && by.n > n && by.meant.time === meant.time);
  }

  /** Checks the held pushes of one id: the last answered one takes effect, or one in doubt after it. */
  #auditGroup(
    group: readonly Pushed[],
    aired: Set<Pushed | undefined>,
    lives: readonly Life[],
    readMs: number,
  ): string[] {
    const sure = group.findLast(({ answeredMs }) => answeredMs !== null);
    const seen = group.filter((pushed) => aired.has(pushed));
    const isReplaced = (pushed: Pushed) => sure !== undefined && pushed.n < sure.n;
    // If the machine stalled until one took effect before it was replaced, both were on air.
    const isLoose = group.some(({ n, meant }) => group.some((by) => by.n > n && by.endedMs >= meant.time! * 1000));
    const list = group.map(({ meant, answeredMs }) => `${meant.song} ${answeredMs} ${meant.time}`).join(', ');
    if (!isLoose && (seen.length > 1 || seen.some(isReplaced))) return [`replaced, but on air: ${list}`];
    const isDue = sure !== undefined && group.every((pushed) => isReplaced(pushed) || dueMs(pushed, lives) < readMs);
    const isMissing = !seen.some((pushed) => !isReplaced(pushed)) && !group.some((pushed) => this.#isOutdone(pushed));
    return isDue && isMissing ? [`held and lost: ${list}`] : [];
  }

  /** Checks next, which is valid until its own now, or the second other now. */
  #auditNext(history: readonly Read[], next: Read | null): string[] {
    const nexts = [...this.pushes.values()].filter(({ kind }) => kind === 'next');
    const sureAt = nexts.findLastIndex(({ answeredMs }) => answeredMs !== null);
    const got = next === null ? undefined : this.pushes.get(nameOf(next));
    if (next !== null && (got === undefined || !says(next, got))) return [`next is half: ${JSON.stringify(next)}`];
    const possible: (Pushed | undefined)[] = [];
    for (const candidate of sureAt < 0 ? [undefined, ...nexts] : nexts.slice(sureAt)) {
      const nows = history.filter((entry) => rowOf(this.pushes.get(nameOf(entry))).at(-1)?.kind !== 'correction');
      const after = (ms: number) => nows.filter(({ from }) => Date.parse(from) > ms).length;
      const isSpent = nows.some(({ song }) => song === candidate?.meant.song);
      if (candidate === undefined || isSpent || after(candidate.sentMs - SLACK_MS) > 1) possible.push(undefined);
      if (candidate !== undefined && !isSpent && after(candidate.endedMs + SLACK_MS) < 2) possible.push(candidate);
    }
    const wanted = possible.map((pushed) => pushed?.meant.song).join(' or ');
    return possible.includes(got) ? [] : [`next is ${next?.song}, not ${wanted}`];
  }

  /**
   * Compares a reader's records with the last history: none twice, none older after a newer.
   * @param life the process whose whole life the reader watched by one connection, so that it must have each answered push
   */
  auditReads(records: readonly Read[], life?: number): string[] {
    const wrong: string[] = [];
    const places = new Map<string, number>();
    for (const [i, entry] of this.#entries.entries()) {
      places.set(nameOf(entry), i);
      for (const { meant } of rowOf(this.pushes.get(nameOf(entry)))) places.set(nameOfSent(meant), i);
    }
    let lastN = 0;
    const names = records.map(nameOf);
    let lastPlace = -1;
    let lastNext = 0;
    let nextId: string | undefined;
    for (const [i, name] of names.entries()) {
      const pushed = this.pushes.get(name);
      const { type, rawdata, id } = records[i]!;
      // The withdrawal of a next is the same record without words.
      if (type === 'next' && rawdata === '') {
        if (nextId !== undefined && id !== nextId) wrong.push(`${id} is dropped, not ${nextId}`);
      } else if (pushed === undefined || !says(records[i], pushed)) wrong.push(`${name} is half`);
      else if (records[i].type === 'next') {
        if (pushed.n <= lastNext) wrong.push(`${name} after a newer one, or twice`);
        lastNext = pushed.n;
        nextId = id;
      } else {
        const place = places.get(name);
        if (place === undefined) wrong.push(`${name} was sent but is not in the history`);
        else if (place < lastPlace || (place === lastPlace && pushed.n <= lastN))
          wrong.push(`${name} after a newer one, or twice`);
        else if (life !== undefined && lastPlace >= 0 && place > lastPlace + 1)
          wrong.push(`one before ${name} was missed`);
        lastPlace = place ?? lastPlace;
        lastN = pushed.n;
      }
    }
    for (const [name, { lives, kind }] of this.pushes) {
      const isSent = kind === 'held' || !lives.has(life ?? 0) || names.includes(name);
      if (!isSent) wrong.push(`${name} was answered before it was sent`);
    }
    return wrong;
  }

  #choose(): Pushed {
    const random = this.#random;
    const base = this.#inForce;
    const dice = random.next();
    if (this.holds && dice < 0.45) return this.#make('held', { ...this.#words(), ...this.#ahead() });
    if (this.holds && dice < 0.65) {
      const waiting = [...this.pushes.values()].findLast(({ kind }) => kind === 'held');
      if (waiting?.answeredMs && waiting.meant.time! * 1000 > Date.now() + 1500) {
        return this.#make('held', { ...this.#words(), ...this.#ahead(), id: waiting.meant.id! });
      }
    }
    if (!this.holds && base !== null && dice < 0.12) return base;
    if (!this.holds && base !== null && dice < 0.35) {
      const { artist, song, duration } = base.meant;
      const words = this.#words();
      const sent: Sent =
        base.id === undefined || random.chance(0.5)
          ? { tracktype: 'now', artist, song, duration, cover: `https://x/${words.song}` }
          : { ...words, id: base.id };
      return this.#make(
        'correction',
        sent,
        { ...base.meant, ...sent },
        sent.song === base.meant.song ? base : undefined,
      );
    }
    if (dice > 0.85) return this.#make('next', { ...this.#words(), tracktype: 'next' });
    const next = [...this.pushes.values()].findLast(({ kind }) => kind === 'next');
    const taken = next !== undefined && !this.pushes.has(`now ${next.meant.song} ${next.meant.cover ?? ''}`);
    return this.#make('now', taken && random.chance(0.3) ? { ...next.meant, tracktype: 'now' } : this.#words());
  }

  #make(kind: Pushed['kind'], sent: Sent, meant = sent, corrects?: Pushed): Pushed {
    const nowMs = Date.now();
    const blank = { answeredMs: null, endedMs: nowMs, id: undefined, start: undefined };
    return { n: ++this.#count, kind, sent, meant, corrects, sentMs: nowMs, lives: new Set(), ...blank };
  }

  #words(): Sent {
    const random = this.#random;
    const song = `${this.channel}-${++this.#songs}`;
    return {
      tracktype: 'now',
      artist: `ü ${song}`,
      song,
      duration: 1000 + this.#songs,
      ...(random.chance(0.3) ? { id: `id-${song}` } : {}),
      ...(random.chance(0.3) ? { cover: `https://x/${song}` } : {}),
      ...(random.chance(0.3) ? { extdata: { pad: song.repeat(random.int(1, 200)) } } : {}),
    };
  }

  #ahead(): { time: number; id: string } {
    return { time: Math.floor(Date.now() / 1000) + this.#random.int(2, 4), id: `held-${this.channel}-${this.#songs}` };
  }
}
