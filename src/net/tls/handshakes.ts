/**
 * TLS handshakes of the whole process, a few begun in each turn of the event loop: one costs half a millisecond and more, and a client
 * can ask for hundreds with a packet each.
 *
 *   add ─► waiting, by origin: a a a · b · c c ─ origins take turns, SLICE_MS a turn of the loop ─► under way ─► done
 *
 * A client's next message can be expensive again (the answer after a HelloRetryRequest is signed as well), so handshakes under
 * way are bounded, in all and by origin. At the bound one that takes longer than PATIENCE_MS is dropped if others wait, so that slots
 * cannot be hoarded. Invariant: none waits while there is a free slot.
 */

import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { Counts } from '../../base/counts.js';

const SLICE_MS = 2;
/** Some round trips around the world. */
const PATIENCE_MS = 3000;
/** The pause between two checks for handshakes that have taken longer than PATIENCE_MS. */
const LOOK_MS = 100;

export class TlsHandshake {
  /** The origin of its connection (base/ip.ts: originOf). */
  readonly origin: string;
  readonly onTurn: () => void;
  readonly onDropped: () => void;
  begunMs = 0;

  /** @param onTurn begins it; called once, in a later turn of the loop @param onDropped it took too long; call `done` as usual */
  constructor(origin: string, onTurn: () => void, onDropped: () => void) {
    this.origin = origin;
    this.onTurn = onTurn;
    this.onDropped = onDropped;
  }
}

interface OriginHandshakes {
  readonly waiting: Set<TlsHandshake>;
  /** The oldest first. */
  readonly underWay: Set<TlsHandshake>;
}

export class TlsHandshakes implements AlarmHandler {
  /** Successful handshakes, by `full` and `resumed`. */
  readonly finishedCounts = new Counts();
  readonly #clock: Clock;
  readonly #max: number;
  readonly #maxOfOrigin: number;
  /** By origin, in the order of their turns; none is empty. */
  readonly #origins = new Map<string, OriginHandshakes>();
  /** The handshakes of all origins, the oldest first. */
  readonly #underWay = new Set<TlsHandshake>();
  #waiting = 0;
  #isTurnComing = false;
  #recheck: Alarm | null = null;

  /** @param max handshakes under way at once; a quarter of them of one origin */
  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#maxOfOrigin = Math.ceil(max / 4);
  }

  add(handshake: TlsHandshake): void {
    let queue = this.#origins.get(handshake.origin);
    if (queue === undefined) this.#origins.set(handshake.origin, (queue = { waiting: new Set(), underWay: new Set() }));
    queue.waiting.add(handshake);
    this.#waiting++;
    this.#resume();
  }

  /** A handshake is finished, or its connection was dropped. Idempotent. */
  done(handshake: TlsHandshake): void {
    const queue = this.#origins.get(handshake.origin);
    if (queue === undefined) return;
    if (queue.waiting.delete(handshake)) this.#waiting--;
    if (queue.underWay.delete(handshake)) this.#underWay.delete(handshake);
    if (queue.waiting.size === 0 && queue.underWay.size === 0) this.#origins.delete(handshake.origin);
    if (this.#waiting > 0) this.#resume();
  }

  /** Counts a successful handshake. */
  finished(isResumed: boolean): void {
    this.finishedCounts.add(isResumed ? 'resumed' : 'full');
  }

  onAlarm(): void {
    this.#recheck = null;
    this.#resume();
  }

  #resume(): void {
    if (this.#isTurnComing) return;
    this.#isTurnComing = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isTurnComing = false;
    this.#beginUntil(this.#clock.now() + SLICE_MS);
  };

  #beginUntil(endMs: number): void {
    const handshake = this.#take();
    if (handshake !== null) {
      // Node reads and answers bytes already received in a tick queued before this one.
      handshake.onTurn();
      process.nextTick(() => {
        if (this.#clock.now() < endMs) this.#beginUntil(endMs);
        else if (this.#waiting > 0) this.#resume();
      });
    } else if (this.#waiting > 0) {
      this.#recheck ??= this.#clock.alarm(this.#clock.now() + LOOK_MS, this);
    }
  }

  /** The next handshake, now under way. Null: none waits, or none has a slot. */
  #take(): TlsHandshake | null {
    const nowMs = this.#clock.now();
    for (const [origin, queue] of this.#origins) {
      const [handshake] = queue.waiting;
      if (handshake === undefined || !this.#hasRoom(queue, nowMs)) continue;
      queue.waiting.delete(handshake);
      this.#waiting--;
      handshake.begunMs = nowMs;
      queue.underWay.add(handshake);
      this.#underWay.add(handshake);
      // The other origins come first.
      this.#origins.delete(origin);
      this.#origins.set(origin, queue);
      return handshake;
    }
    return null;
  }

  #hasRoom({ underWay }: OriginHandshakes, nowMs: number): boolean {
    const isFullOfOrigin = underWay.size >= this.#maxOfOrigin;
    if (!isFullOfOrigin && this.#underWay.size < this.#max) return true;
    const [oldest] = isFullOfOrigin ? underWay : this.#underWay;
    if (nowMs - oldest!.begunMs < PATIENCE_MS) return false;
    this.done(oldest!);
    oldest!.onDropped();
    return true;
  }
}
