/**
 * Items that have their turn every few seconds, in slots of a tick each, so that a crowd's writes are spread and never block the loop.
 *
 *   tick 40 ms ─► slot 0 │ slot 1 │ … │ slot 24 │ slot 0 …      a second; four are 100 slots. A late tick makes up for missed slots, each once
 *
 * A removal moves the last item of the slot into the gap, in constant time. Invariant: the first turn, and each next one, comes within one round
 * of all slots. Owned by the audience.
 */

import { TICK_MS } from '../../base/clock.js';

/** How much fuller than the emptiest a slot may be to keep a group together. */
const MAX_EXTRA = 16;

/** The position of an item, kept by Slots. */
export interface Slotted {
  /** -1: it is in no slot. */
  slot: number;
  index: number;
}

export interface TurnHandler<T> {
  /** `one` is due. It may be removed. */
  onTurn(one: T, nowMs: number): void;
}

export class Slots<T extends Slotted> {
  readonly slots: readonly T[][];
  #doneTick: number;

  constructor(seconds: number, nowMs: number) {
    this.slots = Array.from({ length: (seconds * 1000) / TICK_MS }, () => []);
    this.#doneTick = Math.floor(nowMs / TICK_MS);
  }

  /** Adds it to its group's slot, unless that is much fuller than others; then to the emptiest. @param group 0, 1, … */
  add(one: T, group: number): void {
    const { slots } = this;
    let best = 0;
    for (let i = 1; i < slots.length; i++) if (slots[i]!.length < slots[best]!.length) best = i;
    const own = group % slots.length;
    if (slots[own]!.length < slots[best]!.length + MAX_EXTRA) best = own;
    one.slot = best;
    one.index = slots[best]!.push(one) - 1;
  }

  remove(one: T): void {
    const slot = this.slots[one.slot]!;
    const last = slot.pop()!;
    if (last !== one) {
      slot[one.index] = last;
      last.index = one.index;
    }
    one.slot = -1;
  }

  /** Turns begin, or begin again: slots up to this moment are not due. */
  begin(nowMs: number): void {
    this.#doneTick = Math.floor(nowMs / TICK_MS);
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
