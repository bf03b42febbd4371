/**
 * Delays titles for the readers of channels and stations until the listeners hear them, for apps and pages without a metaid (README.md, "The delay
 * of readers").
 *
 *   now ──► │ now 7 │ now 8 │ ──► feed        in order, each at its time; a next passes at once
 *
 * Invariant: every now is published in order, and a correction replaces a waiting title; a next that a waiting title has spent stays in force until
 * that is published. Waiting titles are committed, and in force at once after a restart. Owned by title-readers.ts.
 */

import type { Alarm, AlarmHandler, Clock } from '../base/clock.js';
import { type Feed, stampOf } from '../feed/feed.js';
import { isSamePlay } from '../metadata/record.js';
import { RecordView } from '../metadata/view.js';
import { isSameTrack } from '../now-playing/effect.js';

export interface ReaderDelayParts {
  readonly feed: Feed;
  readonly clock: Clock;
  /** Maximum number of waiting titles of a channel: beyond it the first is published. */
  readonly max: () => number;
  /** A next was dropped. @param view of it, without text */
  onDropped(view: RecordView): void;
}

interface DelayedTitle {
  view: RecordView;
  /** Whether the next ends with it. */
  spendsNext: boolean;
  readonly dueMs: number;
}

export class ReaderDelay {
  readonly #parts: ReaderDelayParts;
  readonly #queues = new Map<string, DelayedChannel>();

  constructor(parts: ReaderDelayParts) {
    this.#parts = parts;
  }

  /** A now takes effect. @param delayMs 0 or less: at once @param spendsNext whether the channel has no next any more */
  now(view: RecordView, delayMs: number, spendsNext: boolean): void {
    this.#queue(view.record.channel).now(view, delayMs, spendsNext);
  }

  /** Publishes a next at once. */
  next(view: RecordView): void {
    this.#queue(view.record.channel).next(view);
  }

  /** The channel has no next any more. */
  dropNext(channel: string): void {
    this.#queue(channel).dropNext();
  }

  /** The channel was removed: waiting titles are dropped. */
  forget(channel: string): void {
    this.#queues.get(channel)?.end();
    this.#queues.delete(channel);
  }

  /** Whether the record with this version waits. */
  isWaiting(channel: string, version: number): boolean {
    return this.#queues.get(channel)?.isWaiting(version) ?? false;
  }

  #queue(channel: string): DelayedChannel {
    let queue = this.#queues.get(channel);
    if (queue === undefined) this.#queues.set(channel, (queue = new DelayedChannel(channel, this.#parts)));
    return queue;
  }
}

/** The waiting titles of one channel. */
class DelayedChannel implements AlarmHandler {
  readonly #channel: string;
  readonly #parts: ReaderDelayParts;
  readonly #waiting: DelayedTitle[] = [];
  #alarm: Alarm | null = null;

  constructor(channel: string, parts: ReaderDelayParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  now(view: RecordView, delayMs: number, spendsNext: boolean): void {
    const { feed, clock, max } = this.#parts;
    const last = this.#waiting.at(-1);
    if (last !== undefined && isSamePlay(last.view.record, view.record)) {
      feed.sequence.drop(stampOf(last.view));
      last.view = view;
      last.spendsNext ||= spendsNext;
      feed.sequence.hold(stampOf(view));
      return;
    }
    // A title that returns behind one that waits does not correct it.
    const isCorrection = last === undefined && this.#isInForce(view);
    const dueMs = Math.max(clock.now() + (isCorrection ? 0 : delayMs), last?.dueMs ?? 0);
    if (last === undefined && dueMs <= clock.now()) {
      this.#publish(view, spendsNext);
      return;
    }
    this.#waiting.push({ view, spendsNext, dueMs });
    feed.sequence.hold(stampOf(view));
    if (this.#waiting.length > max()) this.#publishFirst();
    this.#alarm ??= clock.alarm(this.#waiting[0]!.dueMs, this);
  }

  next(view: RecordView): void {
    // They have spent the previous next, not this one.
    for (const title of this.#waiting) title.spendsNext = false;
    this.#parts.feed.publish(view);
  }

  dropNext(): void {
    const last = this.#waiting.at(-1);
    if (last === undefined) this.#dropNext();
    else last.spendsNext = true;
  }

  end(): void {
    this.#alarm?.cancel();
    for (const { view } of this.#waiting.splice(0)) this.#parts.feed.sequence.drop(stampOf(view));
  }

  isWaiting(version: number): boolean {
    return this.#waiting.some(({ view }) => view.record.version === version);
  }

  onAlarm(nowMs: number): void {
    this.#alarm = null;
    while (this.#waiting.length > 0 && this.#waiting[0]!.dueMs <= nowMs) this.#publishFirst();
    if (this.#waiting.length > 0) this.#alarm = this.#parts.clock.alarm(this.#waiting[0]!.dueMs, this);
  }

  /** A correction of the title in force needs no delay. */
  #isInForce(view: RecordView): boolean {
    const inForce = this.#parts.feed.last(this.#channel, 'now');
    return inForce != null && isSamePlay(inForce.record, view.record);
  }

  #publishFirst(): void {
    const { view, spendsNext } = this.#waiting.shift()!;
    this.#publish(view, spendsNext);
  }

  #publish(view: RecordView, spendsNext: boolean): void {
    const { feed } = this.#parts;
    const next = feed.last(this.#channel, 'next') ?? null;
    // From the now itself readers know that the next was played.
    if (spendsNext && next !== null && isSameTrack(next.record, view.record)) feed.set(this.#channel, 'next', null);
    else if (spendsNext) this.#dropNext();
    const face = feed.face(this.#channel);
    // A reload may have renamed the channel meanwhile.
    feed.publish(face === undefined || face === view.channel ? view : new RecordView(view.record, face));
  }

  #dropNext(): void {
    const view = this.#parts.feed.dropNext(this.#channel);
    if (view !== null) this.#parts.onDropped(view);
  }
}
