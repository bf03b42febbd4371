/**
 * How much of a channel's tape a worker has, and what it lacks. There is no queue: unsent segments stay on the tape, where this is a cursor, like
 * that of a listener.
 *
 *   tape     │ 41 │ 42 │ 43 │ 44 │ open      the worker has 41 and 42; a late title has changed 42
 *                    ▲ revised ▲ next        next: the titles of 42, then 43, 44 and how far the open one has come
 *
 * Invariant: a worker gets each segment of a tape once and in order, as it is at that time, and later changes of its titles afterwards. Owned by a
 * TapeSubscription, which knows which tape it is.
 */

import type { LateTitle, PlayableAudio } from '../../audio/playable-audio.js';
import type { AudioTape } from '../../audio/tape/audio-tape.js';
import { NOTHING, Segment } from '../../audio/tape/segment.js';
import type { Clock } from '../../base/clock.js';
import type { LinkConnection } from '../wire/link-connection.js';
import { FENCE, GROWTH } from '../wire/message-types.js';
import { SegmentSender } from './segment-sender.js';
import { writeGrowth } from './tape-messages.js';

export class TapeCursor {
  readonly #id: number;
  readonly #connection: LinkConnection;
  readonly #clock: Clock;
  readonly #segments: SegmentSender;
  /** The segment that it gets next. */
  next = 0;
  /** How much of the open segment the worker has, bytes, and the end of the tape that it knows. */
  restBytes = 0;
  #endMs = Number.NaN;
  /** The first segment whose titles have changed since it was sent; `next`: none. */
  #revised = 0;
  /** The last late title that was not sent yet, for the sessions at the worker. */
  #late: LateTitle | null = null;
  #joinFrom = 0;

  /** @param id of the subscription */
  constructor(id: number, connection: LinkConnection, clock: Clock) {
    this.#id = id;
    this.#connection = connection;
    this.#clock = clock;
    this.#segments = new SegmentSender(id, connection);
  }

  /** Another tape follows, or none. */
  clear(): void {
    this.#late = null;
    this.#segments.clear();
  }

  /** A tape is announced to the worker, which has its segments before `next`. @param revised the first that may have other titles by now */
  begin({ joinFrom }: AudioTape, next: number, revised = next): void {
    this.next = next;
    this.#revised = revised;
    this.#joinFrom = joinFrom;
    this.restBytes = 0;
    this.#endMs = Number.NaN;
  }

  /** The worker's tape continues under another name. */
  resume(tape: AudioTape): void {
    this.begin(tape, this.next, this.#revised);
    this.#segments.resume();
  }

  /** The worker's tape continues in another audio: which titles came late meanwhile is unknown, so all late ones are sent again. */
  resumeIn({ tail }: AudioTape): void {
    this.#revised = tail;
    this.#late = null;
    this.#segments.resume();
    this.restBytes = 0;
    this.#endMs = Number.NaN;
  }

  /** Titles from this segment on have changed. False: the segment was not sent yet, or its titles are due already. */
  revise(seq: number): boolean {
    if (seq >= this.#revised) return false;
    this.#revised = seq;
    return true;
  }

  onLate(late: LateTitle, tape: AudioTape): void {
    let revised = this.#revised;
    while (revised > tape.tail && tape.at(revised - 1)!.endMs > late.atMs) revised--;
    this.#revised = revised;
    // While the link is blocked only the last of several late titles is sent.
    this.#late = { ...late, before: this.#late === null ? late.before : this.#late.before };
  }

  /** Sends what the worker lacks. False: the link is full. */
  send(audio: PlayableAudio, tape: AudioTape): boolean {
    if (this.#revised < this.next) this.#sendRevised(tape);
    if (this.#late !== null) {
      this.#segments.sendLate(tape, this.#late);
      this.#late = null;
    }
    while (this.next < tape.head) {
      if (this.#connection.isFull) return false;
      this.#sendFences(tape);
      this.#sendSegment(audio, tape, this.next);
    }
    this.#sendFences(tape);
    if (tape.endMs !== this.#endMs) this.#sendGrowth(audio, tape);
    return true;
  }

  #sendRevised(tape: AudioTape): void {
    for (let seq = Math.max(this.#revised, tape.tail); seq < this.next; seq++) {
      const segment = tape.at(seq);
      if (!(segment instanceof Segment) || segment.late === null) continue;
      this.#segments.sendTitles(tape, seq, segment);
    }
    this.#revised = this.next;
  }

  #sendSegment(audio: PlayableAudio, tape: AudioTape, seq: number): void {
    const segment = tape.at(seq)!;
    const nowMs = this.#clock.now();
    // An unknown time is replaced by the present one.
    const agoMs = nowMs - Math.min(nowMs, audio.arrivedMs(segment.endMs));
    const rest = tape.rest(seq + 1, false);
    this.#segments.send(tape, segment, { seq, arrivedMs: this.#clock.wallMs() - agoMs, rest });
    this.restBytes = rest.length;
    this.next++;
    if (this.#revised === seq) this.#revised++;
  }

  /** Sent before the segment in which the format changes, so that listeners who cannot continue are ended before it. */
  #sendFences(tape: AudioTape): void {
    for (let seq = tape.fenceAfter(this.#joinFrom); seq <= this.next + 1; seq = tape.fenceAfter(seq)) {
      this.#joinFrom = seq;
      this.#connection.begin(FENCE).whole(this.#id).whole(seq).end();
    }
  }

  #sendGrowth({ audioMs, delayedMs, bitrateKbps }: PlayableAudio, tape: AudioTape): void {
    const { endMs, head, openRestBytes } = tape;
    const restFrom = this.restBytes;
    const rest = openRestBytes === restFrom ? NOTHING : tape.rest(head, false).subarray(restFrom);
    const message = this.#connection.begin(GROWTH).whole(this.#id);
    writeGrowth(message, { endMs, audioMs, delayedMs, bitrateKbps, open: head, restFrom });
    this.#connection.endWith(rest);
    this.restBytes = openRestBytes;
    this.#endMs = endMs;
  }
}
