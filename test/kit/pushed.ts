/**
 * A push as its sender remembers it (push-model.ts), and when and in what words its record must appear, however often the server was
 * killed meanwhile.
 */

import { isDeepStrictEqual } from 'node:util';

/** What was sent, by the names of the contract; `time` in unix seconds. */
export interface Sent {
  readonly tracktype: 'now' | 'next';
  readonly artist: string;
  readonly song: string;
  readonly duration: number;
  readonly id?: string;
  readonly cover?: string;
  readonly extdata?: { readonly pad: string };
  readonly time?: number;
}

export interface Pushed {
  /** Rises with every push of the channel. */
  readonly n: number;
  readonly kind: 'now' | 'next' | 'held' | 'correction';
  readonly sent: Sent;
  /** All that its record says. */
  readonly meant: Sent;
  /** What it corrects in the row that is there; undefined: it has a row of its own. */
  readonly corrects: Pushed | undefined;
  readonly sentMs: number;
  /** Unix milliseconds of the (last) answer; null: it never came. */
  answeredMs: number | null;
  /** Of the last answer or failure. */
  endedMs: number;
  /** The processes that answered it. */
  readonly lives: Set<number>;
  /** Its record's, once known. */
  id: string | undefined;
  start: number | undefined;
}

/** A channel record as read. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into what they expect
export type Read = any;

/** One process of the server, unix milliseconds. */
export interface Life {
  readonly spawnedMs: number;
  readyMs: number;
  killedMs: number;
}

/** How late a held push may be on a busy machine whose disk takes its time: 12 s were seen. How exact it is: titles/scheduler.test.ts. */
export const LATE_MS = 30_000;

/** The name of a record: its push's type, song and cover. */
export function nameOf(record: { type: string; song: string; cover: string }): string {
  return `${record.type} ${record.song} ${record.cover}`;
}

export function nameOfSent(meant: Sent): string {
  return nameOf({ type: meant.tracktype, cover: '', ...meant });
}

/** Whole, and nothing else than what was pushed. */
export function says(record: Read, { meant, id, start }: Pushed): boolean {
  const { tracktype: type, artist, song, duration, cover = '', extdata = null } = meant;
  return (
    isDeepStrictEqual(
      [record.type, record.artist, record.song, record.duration, record.cover, record.extdata, record.source],
      [type, artist, song, duration, cover, extdata, 'metapush'],
    ) &&
    [undefined, record.id].includes(id ?? meant.id) &&
    [undefined, record.start_timestamp].includes(start ?? meant.time)
  );
}

/** What the row of a push says or has said, the latest first. */
export function rowOf(pushed: Pushed | undefined): Pushed[] {
  return pushed === undefined ? [] : [pushed, ...rowOf(pushed.corrects)];
}

/** Which of two held pushes comes first. */
export function isBefore(one: Pushed, other: Pushed): boolean {
  return one.meant.time! < other.meant.time! || (one.meant.time === other.meant.time && one.n < other.n);
}

/** When a held push must have taken effect: soon after its time, or by when the next process that lives so long is ready. */
export function dueMs({ meant, endedMs }: Pushed, lives: readonly Life[]): number {
  const fromMs = Math.max(meant.time! * 1000, endedMs);
  for (const { spawnedMs, readyMs, killedMs } of lives) {
    const byMs = fromMs <= spawnedMs ? readyMs : fromMs + LATE_MS;
    if (fromMs < killedMs && byMs <= killedMs) return byMs;
  }
  return Number.POSITIVE_INFINITY;
}
