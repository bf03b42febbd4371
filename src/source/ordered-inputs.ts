/**
 * The inputs of a switch in order of preference: which of them is on air, and which one is to be. What an operator has pinned is better than
 * all others, until it is lost. Where a reload takes out the one on air, and a new pull stands at its place, it stays behind that one, without a
 * place of its own, until another is on air or its time is up:
 *
 *   pull (on air), file ── reload ──► other, pull (on air, leaving), file ── bytes of other ──► other (on air), file
 *
 * Invariant: only the one on air can be leaving. An input that is taken out is ended. Owned by the switch (switch.ts).
 */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import { orderOf } from './files/file-order.js';
import type { Input } from './input.js';
import type { SwitchOutput } from './switch-output.js';

/** For how long a source on air that was taken out of the configuration plays on, while the one at its place has no bytes. */
const LEAVING_MS = 10_000;
/** How long one that an operator has pinned may take to deliver. */
const PIN_MS = 10_000;

/** Of the one on air. */
interface Leaving {
  /** What it plays on for. */
  readonly awaited: readonly Input[];
  readonly untilMs: number;
}

export class OrderedInputs {
  readonly #output: Pick<SwitchOutput, 'format'>;
  #all: readonly Input[] = [];
  /** The same, best first, and of what format that was made. */
  #bestFirst: readonly Input[] = [];
  #madeFor: AudioFormat | null = null;
  #onAir: Input | null = null;
  #leaving: Leaving | null = null;
  #pinned: Input | null = null;
  #pinnedMs = 0;

  constructor(output: Pick<SwitchOutput, 'format'>) {
    this.#output = output;
  }

  /** With one that is leaving. */
  get all(): readonly Input[] {
    return this.#all;
  }

  /** Those that the channel has, without one that is leaving. */
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

  /** Whether another one is pinned that is not on air yet. */
  get isPinComing(): boolean {
    return this.#pinned !== null && this.#pinned !== this.#onAir;
  }

  /** @param input null: the order of preference counts again */
  pin(input: Input | null, nowMs: number): void {
    this.#pinned = input;
    this.#pinnedMs = nowMs;
  }

  /** What was pinned and does not come is pinned no more. (Once it is lost, neither: `put`.) */
  unpinLost(nowMs: number): void {
    if (this.isPinComing && !this.#pinned!.isGood(nowMs) && nowMs - this.#pinnedMs > PIN_MS) this.#pinned = null;
  }

  /** Adds one behind the others. */
  add(input: Input): void {
    this.#set([...this.#all, input]);
  }

  /** Other ones from now on. */
  replace(next: readonly Input[], nowMs: number): void {
    const before = this.#all;
    const onAir = this.#onAir;
    const all = [...next];
    if (onAir !== null && !next.includes(onAir)) {
      // It stands behind the place that it had.
      const index = before.indexOf(onAir);
      const place = this.#leaving === null ? index : index - 1;
      this.#leaving = this.#leavingFor(onAir, next, place, nowMs);
      if (this.#leaving === null) this.#onAir = null;
      else all.splice(place + 1, 0, onAir);
    } else this.#leaving = null;
    if (this.#pinned !== null && !next.includes(this.#pinned)) this.#pinned = null;
    for (const input of before) if (!all.includes(input)) input.end();
    this.#set(all);
    this.lookAtFiles();
  }

  /** Null: nothing comes at that place that is worth waiting for. A file would be there at once, an encoder perhaps never. */
  #leavingFor(onAir: Input, next: readonly Input[], place: number, nowMs: number): Leaving | null {
    const isNew = (input: Input) => !this.#all.includes(input) && input.source.kind === 'pull';
    const still = this.#leaving?.awaited.filter((input) => next.includes(input)) ?? [];
    const awaited = [...next.slice(0, place + 1).filter(isNew), ...still];
    if (onAir.source.kind === 'file' || awaited.length === 0) return null;
    return { awaited, untilMs: this.#leaving?.untilMs ?? nowMs + LEAVING_MS };
  }

  /** This one is on air from now on; null: none. One that was leaving has left, what was pinned and on air is lost. */
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

  /** One that is leaving ends when its time is up. True: it has, and none is on air. */
  endLeaving(nowMs: number): boolean {
    if (this.#leaving === null || nowMs < this.#leaving.untilMs) return false;
    this.put(null);
    return true;
  }

  /** The best that has bytes; null: none has. An unsteady one stays on air, and is better than none. */
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

  /** Whether one that has bytes takes over from the one on air. */
  takesOver(input: Input): boolean {
    const onAir = this.#onAir;
    if (input === this.#pinned || onAir === null) return true;
    return onAir !== this.#pinned && input.rank < onAir.rank && !input.isUnsteady;
  }

  /** Whether what is on air is better. */
  isBetterOnAir(input: Input): boolean {
    const onAir = this.#onAir;
    return onAir !== null && (onAir.rank < input.rank || onAir === this.#pinned);
  }

  /** Where one file of several has to be chosen, what they have is known before. */
  lookAtFiles(): void {
    const files = this.#all.filter(({ source }) => source.kind === 'file');
    if (files.length > 1) for (const { source } of files) source.look?.();
  }

  #set(all: readonly Input[]): void {
    this.#all = all;
    this.#arrange();
  }

  /** Which is better than which. */
  #arrange(): void {
    this.#madeFor = this.#output.format;
    this.#bestFirst = orderOf(this.#all, this.#onAir, this.#madeFor);
    for (const [rank, input] of this.#bestFirst.entries()) input.rank = rank;
  }
}
