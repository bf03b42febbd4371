/**
 * From conditions to alerts: one when a condition has lasted for a while, one when it has been over for as long, and no second one too soon.
 *
 *   condition   ──────████████████████──████──██──────────        begins again: `flaps`
 *   alert       ──────────firing·····················resolved      `firing` no sooner than `againMs` after the last one of the same condition
 *                     └afterMs┘                └afterMs┘
 *
 * Owned by alerts.ts, asked once a second. Bounded by what is configured: channels, addresses, limits, kinds of processes.
 */

import type { Alert } from './alert.js';
import { type Condition, keyOf } from './condition.js';

export interface Damping {
  /** How long a condition lasts before it counts, and is over before that counts. */
  readonly afterMs: number;
  /** The shortest time between two alerts of one condition. */
  readonly againMs: number;
}

/** The state of one condition. */
interface Standing {
  condition: Condition;
  /** Since when it is in force, or over; monotonic milliseconds. */
  changedMs: number;
  /** When it began; unix milliseconds. */
  beganWallMs: number;
  isInForce: boolean;
  isFiring: boolean;
  /** When the last `firing` alert was made; -Infinity: never. */
  firedMs: number;
  flaps: number;
}

export class AlertBoard {
  readonly #makeId: () => string;
  readonly #standings = new Map<string, Standing>();

  constructor(makeId: () => string) {
    this.#makeId = makeId;
  }

  /** Conditions with an alert that is not resolved, for metrics. */
  *firing(): Iterable<Condition> {
    for (const { isFiring, condition } of this.#standings.values()) if (isFiring) yield condition;
  }

  /** Alerts that are not resolved, once more, for a new webhook. */
  again(wallMs: number): Alert[] {
    const firing = [...this.#standings.values()].filter(({ isFiring }) => isFiring);
    return firing.map((standing) => this.#alert(standing, 'firing', wallMs));
  }

  /** Called while there is no webhook: once there is one, each condition is a new alert. */
  clear(): void {
    this.#standings.clear();
  }

  /** @param conditions all in force @param nowMs monotonic @param wallMs unix milliseconds @returns the alerts to send, in order */
  look(conditions: readonly Condition[], { afterMs, againMs }: Damping, nowMs: number, wallMs: number): Alert[] {
    const inForce = new Set<string>();
    for (const condition of conditions) {
      const key = keyOf(condition);
      inForce.add(key);
      this.#begin(key, condition, nowMs, wallMs);
    }
    const alerts: Alert[] = [];
    for (const [key, standing] of this.#standings) {
      if (standing.isInForce && !inForce.has(key)) {
        standing.isInForce = false;
        standing.changedMs = nowMs;
      }
      const isLasting = nowMs - standing.changedMs >= afterMs;
      const isFree = nowMs - standing.firedMs >= againMs;
      if (standing.isInForce && !standing.isFiring && isLasting && isFree) {
        alerts.push(this.#alert(standing, 'firing', wallMs));
        standing.isFiring = true;
        standing.firedMs = nowMs;
        standing.flaps = 0;
      } else if (!standing.isInForce && standing.isFiring && isLasting) {
        alerts.push(this.#alert(standing, 'resolved', wallMs));
        standing.isFiring = false;
        standing.flaps = 0;
      }
      // Possibly in the call that has just resolved it.
      if (!standing.isInForce && !standing.isFiring && isFree) this.#standings.delete(key);
    }
    return alerts;
  }

  #begin(key: string, condition: Condition, nowMs: number, wallMs: number): void {
    const standing = this.#standings.get(key);
    if (standing === undefined) {
      const began = { changedMs: nowMs, beganWallMs: wallMs, isInForce: true };
      this.#standings.set(key, {
        condition,
        ...began,
        isFiring: false,
        firedMs: Number.NEGATIVE_INFINITY,
        flaps: 0,
      });
      return;
    }
    standing.condition = condition;
    if (standing.isInForce) return;
    standing.isInForce = true;
    standing.changedMs = nowMs;
    standing.flaps++;
    if (!standing.isFiring) standing.beganWallMs = wallMs;
  }

  #alert({ condition, beganWallMs, flaps }: Standing, state: Alert['state'], atMs: number): Alert {
    return { ...condition, id: this.#makeId(), state, sinceMs: beganWallMs, atMs, flaps };
  }
}
