/**
 * Plays the best source that has bytes. Sources stand in order of preference; the first one whose audio is not overdue
 * (due.ts) is on air, the others are silent. Whole frames come in, so a switch is always a cut between frames, and listeners notice
 * nothing but the sound: the tape goes on.
 *
 *   encoder ─frames─►┐ 0
 *   pull    ─frames─►┤ 1   ──► output (the channel's tape)
 *   file    ─frames─►┘ 2
 *
 * A file runs only while nothing better has bytes; a pull on demand only while the channel has a listener. One that stalls or is lost
 * again and again is not switched back to before it has delivered for a while (input.ts), unless nothing else has bytes. Owned by a channel.
 */

import type { AlarmHandler, Clock } from '../base/clock.js';
import type { Health } from './health.js';
import { Input, type InputOptions, type SourceSettings, type SwitchOutput } from './input.js';
import type { Source, SourceInput, SourceTitle } from './source.js';

/** How often stalls are looked for. Stall + this + the first frames stay under the 2 s that a fallback may take. */
const CHECK_MS = 100;

export class Switch implements AlarmHandler {
  readonly output: SwitchOutput;
  readonly #inputs: Input[] = [];
  readonly #clock: Clock;
  readonly #options: InputOptions;
  /** Index of the input on air; -1: none. */
  #onAir = -1;
  /** The content type that the output was given last. */
  #type: string | undefined;
  #wanted = false;
  #unwantedSinceMs = Number.NEGATIVE_INFINITY;
  #open = false;

  constructor(output: SwitchOutput, clock: Clock, options: InputOptions) {
    this.output = output;
    this.#clock = clock;
    this.#options = options;
  }

  /** Adds a source behind those that are there already (less preferred). Before start only. */
  add(settings: SourceSettings, make: (input: SourceInput) => Source): void {
    const input = new Input(this, this.#inputs.length, settings, this.#clock, this.#options);
    input.source = make(input);
    this.#inputs.push(input);
  }

  get sources(): readonly Source[] {
    return this.#inputs.map((input) => input.source);
  }

  /** How each source does, in the same order. */
  get healths(): readonly Health[] {
    return this.#inputs.map((input) => input.health);
  }

  /** The source on air; null: none. */
  get onAir(): Source | null {
    return this.#inputs[this.#onAir]?.source ?? null;
  }

  /** Its place among all; -1: none. */
  get placeOnAir(): number {
    return this.#onAir;
  }

  /** The title that stands in the stream of that source; undefined: none has come. */
  get titleOnAir(): SourceTitle | undefined {
    return this.#inputs[this.#onAir]?.lastTitle;
  }

  /** Whether waiting for audio makes sense: some source is there or on its way. */
  get hopeful(): boolean {
    return this.#inputs.some((input) => input.source.state !== 'idle');
  }

  /** Whether some source waits for a listener to be asked for. */
  get onDemand(): boolean {
    return this.#inputs.some((input) => input.settings.onDemand);
  }

  start(): void {
    this.#open = true;
    this.#clock.alarm(this.#clock.now() + CHECK_MS, this);
    this.check('start');
  }

  /** Goes on with the source that was on air in another process, as if it had just delivered. Before `start`. */
  goOn(index: number, contentType: string, lastTitle: SourceTitle | undefined): void {
    this.#onAir = index;
    this.#type = contentType;
    this.#inputs[index]!.goOn(lastTitle);
  }

  /** Frames that wait for a title are written at once. */
  flush(): void {
    for (const input of this.#inputs) input.flush();
  }

  stop(): void {
    this.#open = false;
    for (const input of this.#inputs) input.source.stop();
  }

  /** Whether the channel has listeners: wakes sources on demand. */
  want(wanted: boolean): void {
    if (this.#wanted && !wanted) this.#unwantedSinceMs = this.#clock.now();
    this.#wanted = wanted;
    this.check('demand');
  }

  onAlarm(nowMs: number): void {
    if (!this.#open) return;
    for (const input of this.#inputs) input.look(nowMs);
    this.check('stalled');
    this.#clock.alarm(nowMs + CHECK_MS, this);
  }

  isOnAir(index: number): boolean {
    return index === this.#onAir;
  }

  /** The input has frames. True: it is on air; a better one than the one on air takes over at once. */
  claimAir(index: number): boolean {
    if (index === this.#onAir) return this.#open;
    if (!this.#open) return false;
    if (this.#onAir !== -1 && (index > this.#onAir || this.#inputs[index]!.isUnsteady)) return false;
    this.#putOnAir(index, 'has bytes');
    return true;
  }

  /** What kind of frames the input on air sends. */
  type(contentType: string | undefined): void {
    if (contentType === this.#type) return;
    this.#type = contentType;
    if (contentType !== undefined) this.output.onContentType(contentType);
  }

  /**
   * A title that was sent beside a source's stream. While the source is connected but not on air, it waits until it is; for one that is
   * not connected another program speaks: its title is taken at once.
   */
  title(source: Source, title: SourceTitle): Promise<void> {
    if (source.state !== 'up') return this.output.onTitle(title, source);
    return this.#inputs.find((input) => input.source === source)!.onTitle(title);
  }

  /** Puts things right: which source is on air, which ones have to run. */
  check(reason: string): void {
    if (!this.#open) return;
    const nowMs = this.#clock.now();
    const best = this.#best(nowMs);
    if (best !== this.#onAir) this.#putOnAir(best, reason);
    else this.#run(nowMs);
  }

  /** An unsteady one stays on air, and is better than none. */
  #best(nowMs: number): number {
    let spare = -1;
    for (let i = 0; i < this.#inputs.length; i++) {
      const input = this.#inputs[i]!;
      if (!input.isGood(nowMs)) continue;
      if (i === this.#onAir || !input.isUnsteady) return i;
      if (spare === -1) spare = i;
    }
    return spare;
  }

  #putOnAir(index: number, reason: string): void {
    this.#inputs[this.#onAir]?.left(this.#clock.now());
    this.#onAir = index;
    this.#type = this.onAir?.contentType;
    this.output.onSourceChanged(this.onAir, reason);
    // A source sends its title once: the one that came while another source was on air is in force from here on.
    const input = this.#inputs[index];
    if (input?.lastTitle !== undefined) input.follow(this.output.onTitle(input.lastTitle, input.source));
    this.#run(this.#clock.now());
  }

  /** Starts and stops sources as the present state asks. */
  #run(nowMs: number): void {
    for (let i = 0; i < this.#inputs.length; i++) {
      const input = this.#inputs[i]!;
      const needed = this.#isNeeded(input, i, nowMs);
      if (needed === input.running) continue;
      input.running = needed;
      if (needed) input.source.start();
      else {
        input.forget();
        input.source.stop();
      }
      // A start may deliver at once and a stop may silence the one on air: look again from the top.
      if (!needed && i === this.#onAir) {
        this.check('not wanted');
        return;
      }
    }
  }

  #isNeeded(input: Input, index: number, nowMs: number): boolean {
    if (input.source.kind === 'encoder') return true;
    const isBetterOnAir = this.#onAir !== -1 && this.#onAir < index;
    if (input.source.kind === 'file') return !isBetterOnAir;
    if (!input.settings.onDemand) return true;
    return !isBetterOnAir && (this.#wanted || nowMs - this.#unwantedSinceMs < input.settings.lingerMs);
  }
}
