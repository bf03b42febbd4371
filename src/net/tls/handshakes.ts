/**
 * TLS handshakes of the whole process, begun a few a turn of the event loop: one costs half a millisecond and more, and a stranger can
 * ask for hundreds with a packet each.
 *
 *   add ─► waiting, by origin: a a a · b · c c ─ origins take turns, SLICE_MS a turn of the loop ─► under way ─► done
 *
 * What a client sends within its handshake can be expensive once more (the answer to a HelloRetryRequest is signed as well), so those under
 * way are bounded, in all and of an origin. Where they are at the bound and others wait, one that takes longer than PATIENCE_MS is
 * dropped for them: places cannot be hoarded. Invariant: none waits as long as there is a place.
 */

import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';

const SLICE_MS = 2;
/** Some round trips around the world. */
const PATIENCE_MS = 3000;
/** Between two looks for one that has taken longer than that. */
const LOOK_MS = 100;

export class TlsHandshake {
  /** Whose connection it is (base/ip.ts: originOf). */
  readonly origin: string;
  readonly onTurn: () => void;
  readonly onDropped: () => void;
  begunMs = 0;

  /** @param onTurn begins it; called once, in a later turn of the loop @param onDropped it has taken too long; `done` is to be called then as ever */
  constructor(origin: string, onTurn: () => void, onDropped: () => void) {
    this.origin = origin;
    this.onTurn = onTurn;
    this.onDropped = onDropped;
  }
}

/** Of one origin. */
interface OriginHandshakes {
  readonly waiting: Set<TlsHandshake>;
  /** The oldest first. */
  readonly underWay: Set<TlsHandshake>;
}

export class TlsHandshakes implements AlarmHandler {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #mostOfOrigin: number;
  /** The origin whose turn is next comes first. None is empty. */
  readonly #origins = new Map<string, OriginHandshakes>();
  /** Of all origins; the oldest first. */
  readonly #underWay = new Set<TlsHandshake>();
  #waiting = 0;
  #isTurnComing = false;
  #look: Alarm | null = null;

  /** @param most under way at the same time; a quarter of them of one origin */
  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#most = most;
    this.#mostOfOrigin = Math.ceil(most / 4);
  }

  add(handshake: TlsHandshake): void {
    let queue = this.#origins.get(handshake.origin);
    if (queue === undefined) this.#origins.set(handshake.origin, (queue = { waiting: new Set(), underWay: new Set() }));
    queue.waiting.add(handshake);
    this.#waiting++;
    this.#resume();
  }

  /** It is over, or not wanted any more. Idempotent. */
  done(handshake: TlsHandshake): void {
    const queue = this.#origins.get(handshake.origin);
    if (queue === undefined) return;
    if (queue.waiting.delete(handshake)) this.#waiting--;
    if (queue.underWay.delete(handshake)) this.#underWay.delete(handshake);
    if (queue.waiting.size === 0 && queue.underWay.size === 0) this.#origins.delete(handshake.origin);
    if (this.#waiting > 0) this.#resume();
  }

  onAlarm(): void {
    this.#look = null;
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
      // Node reads what has come already, and answers it, in a tick after the start; ours comes behind it.
      handshake.onTurn();
      process.nextTick(() => {
        if (this.#clock.now() < endMs) this.#beginUntil(endMs);
        else if (this.#waiting > 0) this.#resume();
      });
    } else if (this.#waiting > 0) {
      this.#look ??= this.#clock.alarm(this.#clock.now() + LOOK_MS, this);
    }
  }

  /** The next one, under way from here on. Null: none waits, or there is no place for those that do. */
  #take(): TlsHandshake | null {
    const nowMs = this.#clock.now();
    for (const [origin, queue] of this.#origins) {
      const [handshake] = queue.waiting;
      if (handshake === undefined || !this.#hasPlace(queue, nowMs)) continue;
      queue.waiting.delete(handshake);
      this.#waiting--;
      handshake.begunMs = nowMs;
      queue.underWay.add(handshake);
      this.#underWay.add(handshake);
      // Others first.
      this.#origins.delete(origin);
      this.#origins.set(origin, queue);
      return handshake;
    }
    return null;
  }

  #hasPlace({ underWay }: OriginHandshakes, nowMs: number): boolean {
    const isFullOfOrigin = underWay.size >= this.#mostOfOrigin;
    if (!isFullOfOrigin && this.#underWay.size < this.#most) return true;
    const [oldest] = isFullOfOrigin ? underWay : this.#underWay;
    if (nowMs - oldest!.begunMs < PATIENCE_MS) return false;
    this.done(oldest!);
    oldest!.onDropped();
    return true;
  }
}
