/**
 * The inputs of a switch in order of preference: which one is on air, and which one should be. A pinned input precedes all others until it is lost.
 * If a reload removes the input on air and puts a new pull in its place, the old one is *leaving*: it plays on behind the new one until another
 * input is on air, or for LEAVING_MS:
 *
 *   pull (on air), file ── reload ──► other, pull (on air, leaving), file ── bytes of other ──► other (on air), file
 *
 * Invariant: only the input on air can be leaving. A removed input is ended. Owned by the switch (switch.ts).
 */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import { orderOf } from './files/file-order.js';
import type { Input } from './input.js';
import type { SwitchOutput } from './switch-output.js';

/** How long an input on air that a reload has removed plays on while its replacement has no bytes. */
const LEAVING_MS = 10_000;
/** How long a pinned input may take to deliver audio. */
const PIN_MS = 10_000;

/** The input on air was removed by a reload, and plays on. */
interface Leaving {
  /** The new inputs that may replace it. */
  readonly awaited: readonly Input[];
  readonly untilMs: number;
}

export class OrderedInputs {
  readonly #output: Pick<SwitchOutput, 'format'>;
  #all: readonly Input[] = [];
  /** The same, best first, sorted for listeners who hear the format `#madeFor`. */
  #bestFirst: readonly Input[] = [];
  #madeFor: AudioFormat | null = null;
  #onAir: Input | null = null;
  #leaving: Leaving | null = null;
  #pinned: Input | null = null;
  #pinnedMs = 0;

  constructor(output: Pick<SwitchOutput, 'format'>) {
    this.#output = output;
  }

  /** Including one that is leaving. */
  get all(): readonly Input[] {
    return this.#all;
  }

  /** The inputs of the configuration in force, without one that is leaving. */
  get own(): readonly Input[] {
    return this.#leaving === null ? this.#all : this.#all.filter((input) => input !== this.#onAir);
  }

  /** Null: none. */
  get onAir(): Input | null {
    return this.#onAir;
  }

  get isLeaving(): boolean {
    return this.#leaving !== null;
  }

  get pinned(): Input | null {
    return this.#pinned;
  }

  /** Whether the pinned input is not on air yet. */
  get isPinComing(): boolean {
    return this.#pinned !== null && this.#pinned !== this.#onAir;
  }

  /** @param input null: the order of preference applies again */
  pin(input: Input | null, nowMs: number): void {
    this.#pinned = input;
    this.#pinnedMs = nowMs;
  }

  /** Unpins an input that has no bytes after PIN_MS. (`put` unpins one that was on air and is lost.) */
  unpinLost(nowMs: number): void {
    if (this.isPinComing && !this.#pinned!.isGood(nowMs) && nowMs - this.#pinnedMs > PIN_MS) this.#pinned = null;
  }

  /** Adds an input behind the others. */
  add(input: Input): void {
    this.#set([...this.#all, input]);
  }

  /** A reload replaces the inputs: those that are not in `next` are ended, except one that is leaving. */
  replace(next: readonly Input[], nowMs: number): void {
    const before = this.#all;
    const onAir = this.#onAir;
    const all = [...next];
    if (onAir !== null && !next.includes(onAir)) {
      // It is inserted behind the input that has its place now.
      const index = before.indexOf(onAir);
      const slot = this.#leaving === null ? index : index - 1;
      this.#leaving = this.#leavingFor(onAir, next, slot, nowMs);
      if (this.#leaving === null) this.#onAir = null;
      else all.splice(slot + 1, 0, onAir);
    } else this.#leaving = null;
    if (this.#pinned !== null && !next.includes(this.#pinned)) this.#pinned = null;
    for (const input of before) if (!all.includes(input)) input.end();
    this.#set(all);
    this.lookAtFiles();
  }

  /** Null: nothing new is worth waiting for. Only a pull is: a file delivers at once, and an encoder may never connect. */
  #leavingFor(onAir: Input, next: readonly Input[], slot: number, nowMs: number): Leaving | null {
    const isNew = (input: Input) => !this.#all.includes(input) && input.source.kind === 'pull';
    const still = this.#leaving?.awaited.filter((input) => next.includes(input)) ?? [];
    const awaited = [...next.slice(0, slot + 1).filter(isNew), ...still];
    if (onAir.source.kind === 'file' || awaited.length === 0) return null;
    return { awaited, untilMs: this.#leaving?.untilMs ?? nowMs + LEAVING_MS };
  }

  /** Puts an input on air; null: none. Ends one that was leaving, and unpins one that was on air. */
  put(input: Input | null): void {
    const { own } = this;
    const left = this.#leaving === null ? null : this.#onAir;
    if (this.#pinned === this.#onAir) this.#pinned = null;
    this.#leaving = null;
    this.#onAir = input;
    this.#set(own);
    left?.end();
    if (input !== null && input.source.kind !== 'file') this.lookAtFiles();
  }

  /** Ends a leaving input whose time is up. True: it has ended, and none is on air. */
  endLeaving(nowMs: number): boolean {
    if (this.#leaving === null || nowMs < this.#leaving.untilMs) return false;
    this.put(null);
    return true;
  }

  /** The best input that has bytes; null: none has. An unsteady one may stay on air, but is put on air only if there is no other. */
  best(nowMs: number): Input | null {
    if (this.#output.format !== this.#madeFor) this.#arrange();
    if (this.#pinned?.isGood(nowMs)) return this.#pinned;
    let spare: Input | null = null;
    for (const input of this.#bestFirst) {
      if (!input.isGood(nowMs)) continue;
      if (input === this.#onAir || !input.isUnsteady) return input;
      spare ??= input;
    }
    return spare;
  }

  /** Whether this input, which has bytes, takes over from the one on air. */
  takesOver(input: Input): boolean {
    const onAir = this.#onAir;
    if (input === this.#pinned || onAir === null) return true;
    return onAir !== this.#pinned && input.rank < onAir.rank && !input.isUnsteady;
  }

  /** Whether the input on air precedes this one. */
  isBetterOnAir(input: Input): boolean {
    const onAir = this.#onAir;
    return onAir !== null && (onAir.rank < input.rank || onAir === this.#pinned);
  }

  /** Has the formats of several files read in advance, as the choice between them depends on it (file-order.ts). */
  lookAtFiles(): void {
    const files = this.#all.filter(({ source }) => source.kind === 'file');
    if (files.length > 1) for (const { source } of files) source.look?.();
  }

  #set(all: readonly Input[]): void {
    this.#all = all;
    this.#arrange();
  }

  /** Sorts the inputs, and numbers them from the best on. */
  #arrange(): void {
    this.#madeFor = this.#output.format;
    this.#bestFirst = orderOf(this.#all, this.#onAir, this.#madeFor);
    for (const [rank, input] of this.#bestFirst.entries()) input.rank = rank;
  }
}
