/**
 * What has its turn every second or two, in slots of a tick each, so that a crowd's writes are spread and never block the loop.
 *
 *   tick 40 ms ─► slot 0 │ slot 1 │ … │ slot 24 │ slot 0 …      a second; two are 50 slots. A late tick makes up for those it missed, each once
 *
 * A removal moves the last one of the slot into the gap, and takes constant time. Invariant: between two turns of one lies the time of all slots at
 * most, and also between its placing and its first turn. Owned by the audience.
 */

import { TICK_MS } from '../../base/clock.js';

/** How much fuller than the emptiest a slot may become for the sake of a group. */
const MAX_TOGETHER = 16;

/** Where it is; kept by its slots. */
export interface Slotted {
  /** -1: in none. */
  slot: number;
  place: number;
}

export interface TurnHandler<T> {
  /** It is due. Free to remove it. */
  onTurn(one: T, nowMs: number): void;
}

export class Slots<T extends Slotted> {
  readonly slots: readonly T[][];
  #doneTick: number;

  constructor(seconds: number, nowMs: number) {
    this.slots = Array.from({ length: (seconds * 1000) / TICK_MS }, () => []);
    this.#doneTick = Math.floor(nowMs / TICK_MS);
  }

  /** Into its group's slot, unless that is much fuller than others: then into the emptiest. @param group any whole number from 0 on */
  add(one: T, group: number): void {
    const { slots } = this;
    let best = 0;
    for (let i = 1; i < slots.length; i++) if (slots[i]!.length < slots[best]!.length) best = i;
    const own = group % slots.length;
    if (slots[own]!.length < slots[best]!.length + MAX_TOGETHER) best = own;
    one.slot = best;
    one.place = slots[best]!.push(one) - 1;
  }

  remove(one: T): void {
    const slot = this.slots[one.slot]!;
    const last = slot.pop()!;
    if (last !== one) {
      slot[one.place] = last;
      last.place = one.place;
    }
    one.slot = -1;
  }

  /** Calls `onTurn` of each that is due. */
  turn(nowMs: number, handler: TurnHandler<T>): void {
    const { length } = this.slots;
    const tick = Math.floor(nowMs / TICK_MS);
    const first = Math.max(this.#doneTick + 1, tick - length + 1);
    this.#doneTick = tick;
    for (let t = first; t <= tick; t++) {
      const slot = this.slots[t % length]!;
      // Backwards: a removal moves the last one into the gap.
      for (let i = slot.length - 1; i >= 0; i--) handler.onTurn(slot[i]!, nowMs);
    }
  }
}
