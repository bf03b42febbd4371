/**
 * What a reader has seen of a topic, as an id that it sends back when it resumes (SSE's Last-Event-ID).
 *
 *   places    n0 n1 │ n2 n3 n4 │ n5 …        two for each channel, in configured order: next, now
 *   covered   by S2   by S1      by B        id "S2.1,S1.4,B@order"
 *
 * Usually the id is only B: what the sequence had published at the last message. First messages are sent in configured order, not in the
 * sequence's, so each of them adds a step: up to its place all that S covers is seen. A reader that is repeatedly cut off within them has
 * more steps; a later place replaces the earlier ones.
 *
 * `order` identifies the places: after a change of configuration only B holds.
 */

import { createHash } from 'node:crypto';
import { type Covered, readCovered } from './sequence.js';

interface Step {
  /** The last place covered. */
  readonly upTo: number;
  readonly covered: Covered;
}

const NOTHING = readCovered('0')!;
/** More often than a reader is cut off within its first messages, each time earlier. Each lookup of a place goes through all steps. */
export const MAX_STEPS = 32;

/** A short name for an order of channels. */
export function orderName(channels: readonly string[]): string {
  return createHash('sha256').update(channels.join(',')).digest('base64url').slice(0, 6);
}

export class Seen {
  readonly #steps: readonly Step[];
  readonly #base: Covered;
  readonly #order: string;

  private constructor(steps: readonly Step[], base: Covered, order: string) {
    this.#steps = steps;
    this.#base = base;
    this.#order = order;
  }

  /** @param id of the reader's last message; if invalid, or of too many steps, nothing counts as seen @param order of its channels now (orderName) */
  static read(id: string | undefined, order: string): Seen {
    const [steps, named] = (id ?? '').split('@', 2) as [string, string?];
    const parts = steps.split(',', MAX_STEPS + 2);
    if (parts.length > MAX_STEPS + 1) return new Seen([], NOTHING, order);
    const base = readCovered(parts.pop()!) ?? NOTHING;
    const read: Step[] = [];
    if (named === order) {
      for (const part of parts) {
        const dot = part.indexOf('.');
        const covered = readCovered(part.slice(0, dot));
        const upTo = Number.parseInt(part.slice(dot + 1), 36);
        if (covered === null || Number.isNaN(upTo)) return new Seen([], NOTHING, order);
        read.push({ upTo, covered });
      }
    }
    return new Seen(read, base, order);
  }

  has(index: number, stamp: number): boolean {
    return this.#at(index).has(stamp);
  }

  /** Whether the reader has the record at this place, but not the news that it was dropped. @param issued from Sequence.dropPublished */
  missesDrop(index: number, stamp: number, issued: number): boolean {
    const covered = this.#at(index);
    return covered.has(stamp) && !covered.hasDrop(stamp, issued);
  }

  #at(index: number): Covered {
    return this.#steps.find((step) => index <= step.upTo)?.covered ?? this.#base;
  }

  /** The id of a first message at this place: everything in `covered` has been sent up to there. */
  idAfter(index: number, covered: string): string {
    const steps = [`${covered}.${index.toString(36)}`];
    for (const step of this.#steps) {
      if (step.upTo > index) steps.push(`${step.covered.text}.${step.upTo.toString(36)}`);
    }
    return `${steps.join(',')},${this.#base.text}@${this.#order}`;
  }
}
