/**
 * Plays the best source that has bytes. Sources stand in order of preference; the first one whose audio is not overdue
 * (audio-due-time.ts) is on air, the others are silent. Sources deliver whole frames, so a change of source is always a cut between frames, and
 * listeners notice only the sound: the tape continues.
 *
 *   encoder ─frames─►┐ 0
 *   pull    ─frames─►┤ 1   ──► output (the channel's tape)
 *   file    ─frames─►┘ 2
 *
 * An operator may choose a source: it counts as the best until it is released or lost. A file runs only while nothing better has bytes; a pull on
 * demand only while the channel has a listener. One that stalls or is lost again and again is not switched back to before it has delivered for a
 * while (input.ts), unless nothing else has bytes. Owned by a channel.
 */

import { type Alarm, type AlarmHandler, alarmBy, type Clock } from '../base/clock.js';
import { nextWhole } from '../base/whole-time.js';
import { isComing, isFileComing } from './files/file-order.js';
import type { Health } from './health.js';
import { CHECK_MS, Input, type InputOptions, type NextInput } from './input.js';
import { OrderedInputs } from './ordered-inputs.js';
import { AirPacer } from './pacer.js';
import { Rest } from './rest.js';
import type { Source, SourceSettings, SourceTitle } from './source.js';
import type { SwitchOutput } from './switch-output.js';

/** The longest interval between two looks; each CHECK_MS while something is under way, and at the moment when a stall would begin. */
const REST_MS = 1000;

export class Switch implements AlarmHandler {
  readonly output: SwitchOutput;
  readonly pacer: AirPacer;
  readonly rest: Rest;
  readonly #inputs: OrderedInputs;
  readonly #clock: Clock;
  readonly #options: InputOptions;
  /** The next look; null: it is not open, or a look is under way. */
  #alarm: Alarm | null = null;
  #wanted = false;
  #unwantedSinceMs = Number.NEGATIVE_INFINITY;
  #wantedSinceMs = Number.POSITIVE_INFINITY;
  #open = false;

  constructor(output: SwitchOutput, clock: Clock, options: InputOptions) {
    this.output = output;
    this.#clock = clock;
    this.#options = options;
    this.pacer = new AirPacer(options);
    this.#inputs = new OrderedInputs(output);
    this.rest = new Rest({ clock, options, output, onAir: () => this.#inputs.onAir });
  }

  /** Adds a source behind the others, as the least preferred. Before `start` only. */
  add(settings: SourceSettings, make: (input: Input) => Source): void {
    this.#inputs.add(this.#make({ settings, make }));
  }

  /**
   * Replaces the sources, in order of preference. One that stays plays on; one that goes is disconnected, if on air only when its successor has bytes
   * or a while has passed. @param next a number: the former place of one that stays
   */
  replace(next: readonly (NextInput & { readonly from: number | null })[]): void {
    const { own, onAir } = this.#inputs;
    const inputs = next.map((each) => {
      const known = each.from === null ? undefined : own[each.from]!;
      if (known === undefined) return this.#make(each);
      known.settings = each.settings;
      return known;
    });
    this.#inputs.replace(inputs, this.#clock.now());
    if (!this.#open) return;
    if (onAir !== null && this.#inputs.onAir === null) this.output.onSourceChanged(null, 'reload');
    this.check('reload');
  }

  /** The sources stay, with other settings. */
  settle(settings: readonly SourceSettings[]): void {
    for (const [i, input] of this.#inputs.own.entries()) input.settings = settings[i]!;
  }

  #make(next: NextInput): Input {
    return new Input(this, next, this.#clock, this.#options);
  }

  get sources(): readonly Source[] {
    return this.#inputs.own.map((input) => input.source);
  }

  /** The health of each source, in the same order. */
  get healths(): readonly Health[] {
    return this.#inputs.own.map((input) => input.health);
  }

  /** The source on air; null: none. */
  get onAir(): Source | null {
    return this.#inputs.onAir?.source ?? null;
  }

  /** Its health; undefined: no source is on air. */
  get healthOnAir(): Health | undefined {
    return this.#inputs.onAir?.health;
  }

  /** Its place among all; -1: none. */
  get indexOnAir(): number {
    const { own, onAir } = this.#inputs;
    return onAir === null ? -1 : own.indexOf(onAir);
  }

  /** Whether it is waited for: it has ended, or sends nothing, and `returnMs` lets it come back. */
  get isAwaited(): boolean {
    return this.#inputs.onAir?.isAwaited(this.#clock.now()) ?? false;
  }

  /** The title in the stream of that source; undefined: none. */
  get titleOnAir(): SourceTitle | undefined {
    return this.#inputs.onAir?.lastTitle;
  }

  /** Place of the source that an operator has chosen; -1: none. */
  get pinned(): number {
    const { own, pinned } = this.#inputs;
    return pinned === null ? -1 : own.indexOf(pinned);
  }

  /**
   * Plays this source, even if others are better, until `release`, or until it is lost: then the best one plays, as if nothing had been chosen.
   * A source that does not run yet is started and taken as soon as it delivers, within ten seconds. @param index of an existing source
   */
  pin(index: number): void {
    this.#inputs.pin(this.#inputs.own[index]!, this.#clock.now());
    this.check('chosen by an operator');
  }

  /** The best source plays again. Idempotent. */
  release(): void {
    if (this.#inputs.pinned === null) return;
    this.#inputs.pin(null, this.#clock.now());
    this.check('released by an operator');
  }

  /** Whether waiting for audio makes sense: some source is present or expected. */
  get hopeful(): boolean {
    return this.#inputs.all.some((input) => input.source.state !== 'idle');
  }

  /** Since when the channel has had listeners, on the clock; +∞: it has none. */
  get wantedSinceMs(): number {
    return this.#wantedSinceMs;
  }

  /** Whether some source waits for a listener to be asked for. */
  get onDemand(): boolean {
    return this.#inputs.all.some((input) => input.settings.onDemand);
  }

  start(): void {
    this.#open = true;
    this.#inputs.lookAtFiles();
    this.check('start');
    this.lookBy(this.#clock.now() + CHECK_MS);
  }

  /** Continues with the source that was on air in another process, as if it had just delivered. Before `start`. */
  adopt(index: number, lastTitle: SourceTitle | undefined, isPinned = false): void {
    const input = this.#inputs.all[index]!;
    this.#inputs.put(input);
    if (isPinned) this.#inputs.pin(input, this.#clock.now());
    input.adopt(lastTitle);
  }

  /** Writes frames that wait for a title at once. */
  flush(): void {
    for (const input of this.#inputs.all) input.flush();
  }

  stop(): void {
    this.#open = false;
    for (const input of this.#inputs.all) input.source.stop();
  }

  /** Whether the channel has listeners: wakes sources on demand. */
  want(wanted: boolean): void {
    if (this.#wanted && !wanted) this.#unwantedSinceMs = this.#clock.now();
    if (this.#wanted !== wanted) this.#wantedSinceMs = wanted ? this.#clock.now() : Number.POSITIVE_INFINITY;
    this.#wanted = wanted;
    this.check('demand');
  }

  onAlarm(nowMs: number): void {
    this.#alarm = null;
    if (!this.#open) return;
    this.rest.look(nowMs);
    for (const input of this.#inputs.all) input.look(nowMs);
    if (this.#inputs.endLeaving(nowMs)) this.output.onSourceChanged(null, 'reload');
    this.#inputs.unpinLost(nowMs);
    this.check('stalled');
    this.lookBy(this.#nextLookMs(nowMs));
  }

  /** Something is due at that time. */
  lookBy(dueMs: number): void {
    if (this.#open) this.#alarm = alarmBy(dueMs, this.#clock, this.#alarm, this);
  }

  #nextLookMs(nowMs: number): number {
    let isChanging = this.#inputs.isLeaving || this.#inputs.isPinComing;
    isChanging ||= this.#inputs.all.some((input) => isComing(input, nowMs));
    let dueMs = isChanging ? nowMs + CHECK_MS : nextWhole(Math.min(REST_MS, this.#options.stallMs), nowMs);
    for (const input of this.#inputs.all) dueMs = Math.min(dueMs, input.nextLookMs(nowMs, this.#wanted));
    return dueMs;
  }

  isOnAir(input: Input): boolean {
    return input === this.#inputs.onAir;
  }

  /** The input has frames. Returns whether it is on air; one that is better than the one on air takes over at once. */
  claimAir(input: Input): boolean {
    if (this.isOnAir(input)) return this.#open;
    if (!this.#open || !this.#inputs.takesOver(input)) return false;
    this.#putOnAir(input, 'has bytes');
    return true;
  }

  /**
   * A title that was sent beside a source's stream. If the source is connected but not on air, the title waits until it is. If it is not
   * connected, another program sends its titles, and the title is taken at once.
   */
  title(source: Source, title: SourceTitle): Promise<void> {
    if (source.state !== 'up') return this.output.onTitle(title, source);
    return this.#inputs.all.find((input) => input.source === source)!.setTitle(title);
  }

  /** Updates which source is on air, and which ones have to run. */
  check(reason: string): void {
    if (!this.#open) return;
    const nowMs = this.#clock.now();
    const best = this.#inputs.best(nowMs);
    if (best !== this.#inputs.onAir) this.#putOnAir(best, reason);
    else this.#run(nowMs);
  }

  #putOnAir(input: Input | null, reason: string): void {
    this.#inputs.onAir?.left(this.#clock.now());
    this.#inputs.put(input);
    this.output.onSourceChanged(this.onAir, reason);
    // A source sends its title once: the one that arrived while another source was on air is in force from now on.
    const now = this.#inputs.onAir;
    if (now?.lastTitle !== undefined) now.follow(this.output.onTitle(now.lastTitle, now.source));
    const nowMs = this.#clock.now();
    this.rest.changed(nowMs);
    this.#run(nowMs);
  }

  /** Starts and stops sources as the present state requires. */
  #run(nowMs: number): void {
    if (this.#alarm !== null) this.lookBy(nowMs + CHECK_MS);
    for (let i = 0; i < this.#inputs.all.length; i++) {
      const input = this.#inputs.all[i]!;
      const needed = this.#isNeeded(input, nowMs);
      if (needed === input.running) continue;
      input.running = needed;
      input.runningSinceMs = nowMs;
      if (needed) input.source.start();
      else {
        input.forget();
        input.source.stop();
      }
      // A start may deliver at once, and a stop may silence the one on air: check again from the beginning.
      if (!needed && this.isOnAir(input)) {
        this.check('not wanted');
        return;
      }
    }
  }

  #isNeeded(input: Input, nowMs: number): boolean {
    if (input.source.kind === 'encoder' || input === this.#inputs.pinned) return true;
    const { all, onAir } = this.#inputs;
    const isBetterOnAir = this.#inputs.isBetterOnAir(input);
    if (input.source.kind === 'file') return !isBetterOnAir && !isFileComing(all, input, onAir, nowMs);
    if (!input.settings.onDemand) return true;
    return !isBetterOnAir && (this.#wanted || nowMs - this.#unwantedSinceMs < input.settings.lingerMs);
  }
}
