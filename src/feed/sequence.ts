/**
 * The order of all published records, over all channels. Each record gets a stamp when it is decided, which is stored with it, so that the
 * order survives a crash; a stamp is close to the wall clock, but always rises.
 *
 *   issue ──► commit ─(hold)─► publish  published = 7, open = {5}:  text "7-2", all up to 7 were published except 5
 *
 * A dropped record is published too, without a stamp of its own: "7-2~1" says that 6 was dropped, until a later record is published.
 *
 * Changes of different channels are committed concurrently and may overtake each other: stamps that are still open below the highest
 * published one are part of the text. Invariant: a reader with that text has exactly the records that it covers.
 */

/** The records that a text of the sequence covers. */
export interface Covered {
  /** The text, as in ids. */
  readonly text: string;
  has(stamp: number): boolean;
  /** Whether it covers the drop of this record. @param issued from `dropPublished` */
  hasDrop(stamp: number, issued: number): boolean;
}

const TEXT = /^[0-9a-z]{1,10}(?:-[0-9a-z]{1,10})*(?:~[0-9a-z]{1,10})*$/;
/** Bounds the text, which goes into a header. Drops beyond it may be sent twice. */
const MAX_DROPPED = 50;

export class Sequence {
  #last = 0;
  #published = 0;
  readonly #open = new Set<number>();
  /** Open stamps of records that are committed and wait to be published. */
  readonly #held = new Set<number>();
  /** Dropped records → the highest stamp issued then. Kept until a later one is published. */
  readonly #dropped = new Map<number, number>();
  /** Open stamps of the process that the records come from. */
  #remote: readonly number[] = [];
  #text: string | undefined;

  /** The highest stamp issued, published or not. Stored with every change, as the clock may be behind after a restart. */
  get last(): number {
    return this.#last;
  }

  /** Continues after the last stamp of a previous process: none is issued twice. */
  follow(last: number): void {
    this.#last = Math.max(this.#last, last);
  }

  /** A stamp for a record that is about to be committed. */
  issue(wallMs: number): number {
    this.#last = Math.max(this.#last + 1, Math.floor(wallMs));
    this.#open.add(this.#last);
    return this.#last;
  }

  /** A stamp of another process, for a record that will be published here. */
  expect(stamp: number): void {
    this.follow(stamp);
    this.#open.add(stamp);
    this.#text = undefined;
  }

  /** The record is being published, or was by a previous process. */
  publish(stamp: number): void {
    this.#open.delete(stamp);
    this.#held.delete(stamp);
    this.#last = Math.max(this.#last, stamp);
    this.#published = Math.max(this.#published, stamp);
    for (const [dropped, issued] of this.#dropped) if (issued < this.#published) this.#dropped.delete(dropped);
    this.#text = undefined;
  }

  /** A published record is dropped. @returns the highest stamp issued */
  dropPublished(stamp: number): number {
    if (this.#dropped.size < MAX_DROPPED) this.#dropped.set(stamp, this.#last);
    this.#text = undefined;
    return this.#last;
  }

  /** The record is committed and will be published later: its stamp stays open. */
  hold(stamp: number): void {
    this.#open.add(stamp);
    this.#held.add(stamp);
    this.#text = undefined;
  }

  /** A held record is not published: a newer one replaces it. */
  drop(stamp: number): void {
    this.#held.delete(stamp);
    this.settle(stamp);
  }

  /** The change is finished, published or not; no effect on a held one. Idempotent. */
  settle(stamp: number): void {
    if (this.#held.has(stamp)) return;
    if (this.#open.delete(stamp)) this.#text = undefined;
  }

  /** Stamps issued and not published yet, for processes that get this one's records. */
  get open(): readonly number[] {
    return [...this.#open];
  }

  /** The open stamps of the process from which the records come, as of the next record to be published. */
  setRemote(open: readonly number[]): void {
    this.#remote = open;
    this.#text = undefined;
  }

  /** Describes what has been published so far. */
  get text(): string {
    if (this.#text !== undefined) return this.#text;
    let text = this.#published.toString(36);
    for (const stamp of this.#open) text += this.#missing(stamp);
    for (const stamp of this.#remote) if (!this.#open.has(stamp)) text += this.#missing(stamp);
    for (const stamp of this.#dropped.keys()) text += `~${(this.#published - stamp).toString(36)}`;
    return (this.#text = text);
  }

  /** The text of a stamp that is open below the highest published one. */
  #missing(stamp: number): string {
    return stamp < this.#published ? `-${(this.#published - stamp).toString(36)}` : '';
  }
}

/** Parses a text of a sequence; null: invalid. */
export function readCovered(text: string): Covered | null {
  if (!TEXT.test(text)) return null;
  const [order, ...drops] = text.split('~');
  const [published, ...open] = order!.split('-').map((digits) => Number.parseInt(digits, 36)) as [number, ...number[]];
  const missing = new Set(open.map((back) => published - back));
  const dropped = new Set(drops.map((back) => published - Number.parseInt(back, 36)));
  return {
    text,
    has: (stamp) => stamp <= published && !missing.has(stamp),
    hasDrop: (stamp, issued) => published > issued || dropped.has(stamp),
  };
}
