/**
 * One directory of streams, and the channels that it lists. One call at a time, whatever the number of channels.
 *
 *   wanted ─► add ─► (5 s) touch ─► touch … every TouchFreq ─► not wanted any more, or other facts: remove
 *              ▲       └ refused: it is not listed, add again after a pause
 *              └ refused: after a pause of this channel     no answer, or none of a directory: after a pause of all; both grow
 *
 * The content of a call is made when it is sent, so no message waits (unlike in net/outbound/delivery.ts, whose attempts these are). Neither URL
 * nor SID is ever logged. Owned by directories.ts.
 */

import type { Clock } from '../base/clock.js';
import type { DirectoryConfig } from '../config/listed/directories-config.js';
import { type Attempt, attempt } from '../net/outbound/attempt.js';
import {
  addForm,
  isSameListing,
  type ListedNow,
  readAnswer,
  removeForm,
  touchForm,
  type YpAnswer,
  type YpChannel,
} from './yp.js';

export type YpAction = 'add' | 'touch' | 'remove';
/** `failed`: no answer, or not that of a directory. */
export type YpOutcome = 'taken' | 'refused' | 'failed';

export interface DirectoryOutput {
  nowOf(channel: string): ListedNow;
  /** Called for the first failure in a row. @param reason without any part of the URL */
  onTrouble(reason: string): void;
  onRecovered(): void;
  /** Called for the first refusal of a channel in a row. @param message of the directory, printable */
  onRefused(channel: string, message: string): void;
  onListed(channel: string): void;
}

interface YpListing {
  /** The wanted listing; null: none. */
  wanted: YpChannel | null;
  /** The listing as it was added; null: it is not listed. */
  listed: { readonly sid: string; readonly facts: YpChannel } | null;
  /** When the next call is due, monotonic milliseconds. */
  dueMs: number;
  /** The interval of touches. */
  touchMs: number;
  /** Refusals since the last touch that succeeded. */
  refusals: number;
  /** Tries to remove it. */
  removals: number;
}

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
/** As Icecast does, so that the title is listed soon. */
const FIRST_TOUCH_MS = 5000;
/** If a directory does not say. */
const TOUCH_SECONDS = 600;
/** Without touches a directory forgets a channel by itself. */
const MAX_REMOVALS = 3;
/** The longest time for removals at the end. */
const LAST_MS = 3000;
/** Calls at once, at the end. */
const LAST_PARALLEL = 8;

export class Directory {
  readonly config: DirectoryConfig;
  readonly counts: Record<YpAction, Record<YpOutcome, number>>;
  readonly #clock: Clock;
  readonly #output: DirectoryOutput;
  readonly #listings = new Map<string, YpListing>();
  #attempt: Attempt | null = null;
  /** The listing that the call under way is about. */
  #asked: YpListing | null = null;
  #failures = 0;
  /** No call is made before this, monotonic milliseconds. */
  #againMs = Number.NEGATIVE_INFINITY;
  #closed: Promise<void> | null = null;
  #onLast: ((sid: string | null) => void) | null = null;

  constructor(config: DirectoryConfig, clock: Clock, output: DirectoryOutput) {
    this.config = config;
    this.#clock = clock;
    this.#output = output;
    const none = () => ({ taken: 0, refused: 0, failed: 0 });
    this.counts = { add: none(), touch: none(), remove: none() };
  }

  /** How many channels it lists. */
  get listed(): number {
    let listed = 0;
    for (const each of this.#listings.values()) if (each.listed !== null) listed++;
    return listed;
  }

  /** A reload may have removed channels: no further call, not even before the next `look`, lists them. @param there all that stay */
  keep(there: ReadonlyMap<string, unknown>): void {
    for (const [channel, listing] of this.#listings) if (!there.has(channel)) listing.wanted = null;
  }

  /** Called once a second. @param wanted all channels that are to be listed now */
  look(wanted: ReadonlyMap<string, YpChannel>, nowMs: number): void {
    for (const [channel, listing] of this.#listings) {
      const { wanted: before, listed } = listing;
      listing.wanted = wanted.get(channel) ?? null;
      // A changed listing may not be refused any more.
      const isOther = before !== null && listing.wanted !== null && !isSameListing(before, listing.wanted);
      if (isOther && listed === null) listing.dueMs = Math.min(listing.dueMs, nowMs);
      // A channel that is being added may have to be removed.
      const isLeft = listing.wanted === null && listing.listed === null && listing !== this.#asked;
      if (isLeft) this.#listings.delete(channel);
    }
    for (const [channel, facts] of wanted) {
      if (this.#listings.has(channel)) continue;
      const touchMs = this.#touchMs(null);
      this.#listings.set(channel, { wanted: facts, listed: null, dueMs: nowMs, touchMs, refusals: 0, removals: 0 });
    }
    this.#next(nowMs);
  }

  /** Removes all its listings. Idempotent. Resolves then, or after some seconds. @param isNext another process takes over: removes nothing */
  close(isNext: boolean): Promise<void> {
    this.#closed ??= this.#end(isNext);
    return this.#closed;
  }

  async #end(isNext: boolean): Promise<void> {
    const sids = [...this.#listings.values()].flatMap(({ listed }) => listed?.sid ?? []);
    this.#listings.clear();
    if (isNext) this.#attempt?.abort();
    if (isNext || this.#clock.now() < this.#againMs) return;
    const endMs = performance.now() + LAST_MS;
    const remove = (sid: string) =>
      new Promise<void>((done) => {
        this.#call('remove', removeForm(sid), sid, Math.max(1, endMs - performance.now()), () => done());
      });
    const removeAll = async () => {
      for (let sid = sids.shift(); sid !== undefined && performance.now() < endMs; sid = sids.shift())
        await remove(sid);
    };
    const removed = Array.from({ length: LAST_PARALLEL }, removeAll);
    // The SID of a channel that is being added now is not known yet.
    const late = await this.#last();
    if (late !== null) await remove(late);
    await Promise.all(removed);
  }

  /** The SID of the channel that is being added; null: none is, or it takes too long. */
  async #last(): Promise<string | null> {
    const current = this.#attempt;
    if (current === null) return null;
    let timer: NodeJS.Timeout | undefined;
    const sid = await new Promise<string | null>((done) => {
      this.#onLast = done;
      timer = setTimeout(() => done(null), LAST_MS / 2);
    });
    clearTimeout(timer);
    current.abort();
    return sid;
  }

  #next(nowMs: number): void {
    if (this.#attempt !== null || this.#closed !== null || nowMs < this.#againMs) return;
    for (const [channel, listing] of this.#listings) {
      const action = actionOf(listing, nowMs);
      if (action === null) continue;
      // The others come first next time.
      this.#listings.delete(channel);
      this.#listings.set(channel, listing);
      this.#start(action, channel, listing);
      return;
    }
  }

  #start(action: YpAction, channel: string, listing: YpListing): void {
    const { listed } = listing;
    const wanted = listing.wanted!;
    const sid = listed?.sid ?? '';
    const form =
      action === 'add'
        ? addForm(wanted)
        : action === 'remove'
          ? removeForm(sid)
          : touchForm(sid, wanted, this.#output.nowOf(channel));
    this.#asked = listing;
    this.#attempt = this.#call(action, form, sid, this.config.timeoutSeconds * 1000, (answer) => {
      this.#attempt = null;
      this.#asked = null;
      if (this.#closed !== null) {
        this.#onLast?.(action === 'add' && answer.isTaken ? answer.sid : null);
        return;
      }
      const nowMs = this.#clock.now();
      if (answer.isTaken) this.#onTaken(action, channel, listing, wanted, answer, nowMs);
      else if (answer.isHeard) this.#onRefused(action, channel, listing, answer.reason, nowMs);
      else this.#onFailed(action, listing, answer.reason, nowMs);
      this.#next(nowMs);
    });
  }

  #call(action: YpAction, body: string, sid: string, timeoutMs: number, onOver: (answer: YpAnswer) => void): Attempt {
    let answer: YpAnswer | null = null;
    const message = { id: '', url: this.config.url, method: 'POST', headers: FORM, body, key: null } as const;
    return attempt(message, {
      wallMs: this.#clock.wallMs(),
      timeoutMs,
      judge: (status, headers) => {
        answer = readAnswer(status, headers, sid);
        return answer.isTaken ? null : answer.reason;
      },
      onOver: (failure) => {
        const over = answer ?? { isTaken: false, isHeard: false, reason: failure ?? 'no answer' };
        this.counts[action][over.isTaken ? 'taken' : over.isHeard ? 'refused' : 'failed']++;
        onOver(over);
      },
    });
  }

  #onTaken(
    action: YpAction,
    channel: string,
    listing: YpListing,
    facts: YpChannel,
    { sid, touchSeconds }: Extract<YpAnswer, { isTaken: true }>,
    nowMs: number,
  ): void {
    this.#heard();
    if (touchSeconds !== null) listing.touchMs = this.#touchMs(touchSeconds);
    if (action === 'add' && sid === null) {
      this.#onRefused(action, channel, listing, 'no usable SID', nowMs);
    } else if (action === 'add') {
      listing.listed = { sid: sid!, facts };
      listing.removals = 0;
      listing.dueMs = nowMs + Math.min(FIRST_TOUCH_MS, listing.touchMs);
    } else if (action === 'touch') {
      if (listing.refusals > 0) this.#output.onListed(channel);
      listing.refusals = 0;
      listing.dueMs = nowMs + listing.touchMs;
    } else this.#onRemoved(channel, listing, nowMs);
  }

  /** The directory may have forgotten the channel, after a restart. */
  #onRefused(action: YpAction, channel: string, listing: YpListing, message: string, nowMs: number): void {
    this.#heard();
    if (action === 'remove') {
      this.#onRemoved(channel, listing, nowMs);
      return;
    }
    listing.listed = null;
    if (listing.refusals++ === 0) this.#output.onRefused(channel, message);
    listing.dueMs = nowMs + this.#pauseMs(listing.refusals);
  }

  #onFailed(action: YpAction, listing: YpListing, reason: string, nowMs: number): void {
    if (action === 'remove' && ++listing.removals >= MAX_REMOVALS) listing.listed = null;
    if (this.#failures++ === 0) this.#output.onTrouble(reason);
    this.#againMs = nowMs + this.#pauseMs(this.#failures);
  }

  #onRemoved(channel: string, listing: YpListing, nowMs: number): void {
    listing.listed = null;
    listing.dueMs = nowMs;
    if (listing.wanted === null) this.#listings.delete(channel);
  }

  #heard(): void {
    if (this.#failures > 0) this.#output.onRecovered();
    this.#failures = 0;
  }

  /** @param times how often in a row, from 1 */
  #pauseMs(times: number): number {
    const { min, max } = this.config.retrySeconds;
    return Math.min(max, min * 2 ** Math.min(times - 1, 40)) * (0.75 + Math.random() / 4) * 1000;
  }

  #touchMs(said: number | null): number {
    const { min, max } = this.config.touchSeconds;
    return Math.min(max, Math.max(min, said ?? TOUCH_SECONDS)) * 1000;
  }
}

function actionOf({ wanted, listed, dueMs }: YpListing, nowMs: number): YpAction | null {
  if (listed !== null && (wanted === null || !isSameListing(wanted, listed.facts))) return 'remove';
  if (wanted === null || nowMs < dueMs) return null;
  return listed === null ? 'add' : 'touch';
}
