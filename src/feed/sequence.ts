/**
 * The order of everything that is published to readers, over all channels. Each record gets a stamp while it is decided, which is stored
 * with it, so the order survives a crash; a stamp is close to the wall clock, but rises whatever that clock does.
 *
 *   issue ──► commit ─(hold)─► publish  published = 7, open = {5}:  text "7-2", all up to 7 were published except 5
 *
 * That a published record was dropped is published, too, without a stamp of its own: "7-2~1" says it of 6, until a later one is published.
 *
 * Changes of different channels are committed side by side and may overtake each other: what is still open below the highest
 * published stamp is part of the text. Invariant: a reader with that text has exactly the records that it covers.
 */

/** What a text of the sequence covers. */
export interface Covered {
  /** As it stands in ids. */
  readonly text: string;
  has(stamp: number): boolean;
  /** Also that this record was dropped. @param issued what `dropPublished` returned */
  hasDrop(stamp: number, issued: number): boolean;
}

const TEXT = /^[0-9a-z]{1,10}(?:-[0-9a-z]{1,10})*(?:~[0-9a-z]{1,10})*$/;
/** A text goes into a header. What is left out of it may be sent twice. */
const MAX_DROPPED = 50;

export class Sequence {
  #last = 0;
  #published = 0;
  readonly #open = new Set<number>();
  /** Of the open ones, those that are committed and wait to be published. */
  readonly #held = new Set<number>();
  /** Published ones that were dropped → the highest stamp that had been issued then. Until one above that is published. */
  readonly #dropped = new Map<number, number>();
  /** Open in the process from which the records come. */
  #remote: readonly number[] = [];
  #text: string | undefined;

  /** The highest stamp issued, published or not. To be stored with every change: the clock may stand further back after a restart. */
  get last(): number {
    return this.#last;
  }

  /** Takes up where the process before this one stopped: no stamp is given twice. */
  follow(last: number): void {
    this.#last = Math.max(this.#last, last);
  }

  /** A stamp for a record that is about to be committed. */
  issue(wallMs: number): number {
    this.#last = Math.max(this.#last + 1, Math.floor(wallMs));
    this.#open.add(this.#last);
    return this.#last;
  }

  /** A stamp that was issued elsewhere, of a record that is about to be published here. */
  expect(stamp: number): void {
    this.follow(stamp);
    this.#open.add(stamp);
    this.#text = undefined;
  }

  /** The record is about to be published, or was by the process before this one. */
  publish(stamp: number): void {
    this.#open.delete(stamp);
    this.#held.delete(stamp);
    this.#last = Math.max(this.#last, stamp);
    this.#published = Math.max(this.#published, stamp);
    for (const [dropped, issued] of this.#dropped) if (issued < this.#published) this.#dropped.delete(dropped);
    this.#text = undefined;
  }

  /** A published record is dropped. @returns the highest stamp that was issued, here or by the process before this one */
  dropPublished(stamp: number): number {
    if (this.#dropped.size < MAX_DROPPED) this.#dropped.set(stamp, this.#last);
    this.#text = undefined;
    return this.#last;
  }

  /** The record is committed and will be published later: until then it stays open. */
  hold(stamp: number): void {
    this.#open.add(stamp);
    this.#held.add(stamp);
    this.#text = undefined;
  }

  /** A held record is not published: a newer one takes its place. */
  drop(stamp: number): void {
    this.#held.delete(stamp);
    this.settle(stamp);
  }

  /** The change is over, published or not; one that is held goes on. Idempotent. */
  settle(stamp: number): void {
    if (this.#held.has(stamp)) return;
    if (this.#open.delete(stamp)) this.#text = undefined;
  }

  /** Stamps that were issued and not published yet, for processes that read this one's records. */
  get open(): readonly number[] {
    return [...this.#open];
  }

  /** Where the records come from another process: the stamps that are open there, as of the record that is published next. */
  setRemote(open: readonly number[]): void {
    this.#remote = open;
    this.#text = undefined;
  }

  /** What has been published by now. */
  get text(): string {
    if (this.#text !== undefined) return this.#text;
    let text = this.#published.toString(36);
    for (const stamp of this.#open) text += this.#missing(stamp);
    for (const stamp of this.#remote) if (!this.#open.has(stamp)) text += this.#missing(stamp);
    for (const stamp of this.#dropped.keys()) text += `~${(this.#published - stamp).toString(36)}`;
    return (this.#text = text);
  }

  /** As the text names what is open below the highest published stamp. */
  #missing(stamp: number): string {
    return stamp < this.#published ? `-${(this.#published - stamp).toString(36)}` : '';
  }
}

/** Reads a text of a sequence; null: it is none. */
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
