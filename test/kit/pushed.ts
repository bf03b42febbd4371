/**
 * A push on its sender's side (push-model.ts), with the time and the words of the record that must appear even if the server was killed meanwhile.
 */

import { isDeepStrictEqual } from 'node:util';

/** The sent fields, by the names of the contract; `time` in unix seconds. */
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
  /** Increases with every push of the channel. */
  readonly n: number;
  readonly kind: 'now' | 'next' | 'held' | 'correction';
  readonly sent: Sent;
  /** The expected content of its record. */
  readonly meant: Sent;
  /** The push whose row it corrects; undefined: it has its own row. */
  readonly corrects: Pushed | undefined;
  readonly sentMs: number;
  /** Unix milliseconds of the (last) answer; null: it never came. */
  answeredMs: number | null;
  /** Unix milliseconds of the last answer or failure. */
  endedMs: number;
  /** The processes that answered it. */
  readonly lives: Set<number>;
  /** Its record's id, once known. */
  id: string | undefined;
  start: number | undefined;
}

/** A channel record as read. */
// biome-ignore lint/suspicious/noExplicitAny: tests inspect the members that they expect
export type Read = any;

/** One process of the server, unix milliseconds. */
export interface Life {
  readonly spawnedMs: number;
  readyMs: number;
  killedMs: number;
}

/** How late a held push may be on a busy machine with a slow disk: 12 s were seen. titles/scheduler.test.ts tests its precision. */
export const LATE_MS = 30_000;

/** Identifies a record by its push's type, song and cover. */
export function nameOf(record: { type: string; song: string; cover: string }): string {
  return `${record.type} ${record.song} ${record.cover}`;
}

export function nameOfSent(meant: Sent): string {
  return nameOf({ type: meant.tracktype, cover: '', ...meant });
}

/** Whether a record has exactly the content of a push. */
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

/** The pushes that determined the row of a push, the latest first. */
export function rowOf(pushed: Pushed | undefined): Pushed[] {
  return pushed === undefined ? [] : [pushed, ...rowOf(pushed.corrects)];
}

/** Which of two held pushes comes first. */
export function isBefore(one: Pushed, other: Pushed): boolean {
  return one.meant.time! < other.meant.time! || (one.meant.time === other.meant.time && one.n < other.n);
}

/** When a held push must have taken effect: soon after its time, or after the next sufficiently long-lived process is ready. */
export function dueMs({ meant, endedMs }: Pushed, lives: readonly Life[]): number {
  const fromMs = Math.max(meant.time! * 1000, endedMs);
  for (const { spawnedMs, readyMs, killedMs } of lives) {
    const byMs = fromMs <= spawnedMs ? readyMs : fromMs + LATE_MS;
    if (fromMs < killedMs && byMs <= killedMs) return byMs;
  }
  return Number.POSITIVE_INFINITY;
}
