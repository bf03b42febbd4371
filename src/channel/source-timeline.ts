/**
 * The latest events of a channel's sources, for an operator: which source was on air when and why, and what was wrong with each.
 */

import * as z from 'zod';
import { MAX_PUSH } from '../config/push-limits.js';
import { cleaned } from '../metadata/push-schema.js';
import { counted, moment } from '../metadata/record-schema.js';

const text = cleaned(MAX_PUSH.textBytes);

/** One schema for the type, for the check of another process's entries (channel-position-schema.ts), and for the API document. */
export const timelineEntry = z
  .object({
    atMs: moment.describe('Unix milliseconds.'),
    what: text.describe(
      '`on-air`: the source at this place plays from now on; `format`: listeners get another format; else an event of the source.',
    ),
    place: counted.nullable().describe("In the configuration's order, from 0; null: no source is on air."),
    kind: text.nullable().describe('encoder, pull or file; null: none.'),
    reason: text.describe('Why it was switched; "": an event.'),
    isOver: z.boolean(),
    count: counted,
  })
  .meta({ title: 'Timeline entry' });
export type TimelineEntry = Readonly<z.output<typeof timelineEntry>>;

/** Some days of a healthy channel, an hour of a troubled one. */
const MOST = 200;
/** The next source takes a moment to deliver: a shorter gap gets no entry. */
const MOMENT_MS = 1000;

export class SourceTimeline {
  #entries: TimelineEntry[];

  /** @param before the entries of another process, which continue here */
  constructor(before: readonly TimelineEntry[] = []) {
    this.#entries = before.slice(-MOST);
  }

  /** Oldest first. */
  get entries(): readonly TimelineEntry[] {
    return this.#entries;
  }

  /** Adds an entry; a repetition of the last one only raises its count, and keeps its time. */
  add(entry: Omit<TimelineEntry, 'count'>): void {
    const last = this.#entries.at(-1);
    if (last !== undefined && isSame(last, entry)) {
      this.#entries[this.#entries.length - 1] = { ...last, count: last.count + 1 };
      return;
    }
    if (last !== undefined && isGap(last) && entry.what === last.what && entry.atMs - last.atMs < MOMENT_MS) {
      this.#entries[this.#entries.length - 1] = { ...entry, reason: last.reason, count: 1 };
      return;
    }
    this.#entries.push({ ...entry, count: 1 });
    if (this.#entries.length > MOST) this.#entries.shift();
  }
}

function isSame(a: TimelineEntry, b: Omit<TimelineEntry, 'count'>): boolean {
  return (
    a.what === b.what && a.place === b.place && a.kind === b.kind && a.reason === b.reason && a.isOver === b.isOver
  );
}

function isGap({ what, place }: TimelineEntry): boolean {
  return what === 'on-air' && place === null;
}
