/**
 * Receives the segments of a channel's tape (sent by segment-sender.ts), before them the marks and Ogg link headers to which they refer, and later
 * changes of their titles. Knows when their audio arrived at its feeder. Owned by a LinkedAudio.
 */

import { Arrivals } from '../../audio/frames/arrivals.js';
import type { LinkPages } from '../../audio/ogg/ogg-segment.js';
import type { TapeReaders } from '../../audio/tape/tape-readers.js';
import type { Clock } from '../../base/clock.js';
import { FRAMES_SEGMENT, LATE, LINK_HEAD, MARK, OGG_SEGMENT, REVISION } from '../wire/message-types.js';
import { type MessageReader, WireError } from '../wire/wire.js';
import { LinkedMarks } from './linked-marks.js';
import type { ReplicaTape } from './replica-tape.js';
import { readFramesSegment, readLate, readLinkHead, readOggSegment, readRevision } from './segment-message.js';

export class SegmentReceiver {
  readonly #clock: Clock;
  readonly #readers: TapeReaders;
  readonly #marks: LinkedMarks;
  /** The hub that has sent the marks. */
  #hub = '';
  #head: { readonly number: number; readonly pages: LinkPages } | null = null;
  #arrivals = new Arrivals(0);
  #arrivedMs = Number.NEGATIVE_INFINITY;

  /** @param readers of the tape, notified of what it receives */
  constructor(channel: string, clock: Clock, readers: TapeReaders) {
    this.#clock = clock;
    this.#readers = readers;
    this.#marks = new LinkedMarks(channel);
  }

  /** The highest number of a mark that has arrived. */
  get lastMark(): number {
    return this.#marks.last;
  }

  arrivedMs(atMs: number): number {
    return this.#arrivals.momentOf(atMs);
  }

  /** The tape continues over another subscription. */
  resume(): void {
    this.#head = null;
  }

  /** Another tape follows. @param hub that sends it */
  begin(hub: string, lagMs: number): void {
    this.#head = null;
    if (hub !== this.#hub) this.#marks.clear();
    this.#hub = hub;
    this.#arrivals = new Arrivals(lagMs);
  }

  /** Forgets all marks and links, after a bad message. */
  clear(): void {
    this.#marks.clear();
    this.#head = null;
  }

  /** False: the message is of another type. @param tape that has begun; undefined: none has @throws WireError */
  onMessage(type: number, message: MessageReader, tape: ReplicaTape | undefined): boolean {
    if (type === MARK) this.#marks.read(message);
    else if (type === LINK_HEAD) this.#head = readLinkHead(message);
    else if (type !== FRAMES_SEGMENT && type !== OGG_SEGMENT && type !== REVISION && type !== LATE) return false;
    else if (tape === undefined) throw new WireError('there is no tape');
    else if (type === REVISION) this.#onRevision(message, tape);
    else if (type === LATE) this.#readers.onLate(readLate(message, this.#marks));
    else this.#onSegment(type, message, tape);
    return true;
  }

  #onSegment(type: number, message: MessageReader, tape: ReplicaTape): void {
    const { seq, segment, rest, arrivedMs } =
      type === FRAMES_SEGMENT
        ? readFramesSegment(message, this.#marks, tape)
        : readOggSegment(message, this.#marks, (number) => this.#headOf(number));
    tape.append(seq, segment, rest);
    this.#noteArrival(arrivedMs, segment.endMs);
    this.#readers.onGrown();
  }

  #onRevision(message: MessageReader, tape: ReplicaTape): void {
    const { seq, titles } = readRevision(message, this.#marks);
    tape.retitle(seq, titles);
    this.#readers.onRetitled(seq);
  }

  /** @param wallMs unix milliseconds by the clock of its feeder; bounded by the present time */
  #noteArrival(wallMs: number, endMs: number): void {
    const nowMs = this.#clock.now();
    this.#arrivedMs = Math.max(this.#arrivedMs, nowMs - Math.max(0, this.#clock.wallMs() - wallMs));
    this.#arrivals.note(this.#arrivedMs, endMs);
  }

  #headOf(number: number): LinkPages {
    if (this.#head?.number !== number) throw new WireError(`the head of link ${number} is not known`);
    return this.#head.pages;
  }
}
