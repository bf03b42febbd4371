/**
 * Plays the best source that has bytes. Sources stand in order of preference; the first one whose audio is not overdue
 * (due.ts) is on air, the others are silent. Whole frames come in, so a switch is always a cut between frames, and listeners notice
 * nothing but the sound: the tape goes on.
 *
 *   encoder ─frames─►┐ 0
 *   pull    ─frames─►┤ 1   ──► output (the channel's tape)
 *   file    ─frames─►┘ 2
 *
 * An operator may choose a source: it counts as the best until it is released or lost. A file runs only while nothing better has bytes; a pull on
 * demand only while the channel has a listener. One that stalls or is lost again and again is not switched back to before it has delivered for a
 * while (input.ts), unless nothing else has bytes. Owned by a channel.
 */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import { type Alarm, type AlarmHandler, alarmBy, type Clock } from '../base/clock.js';
import { nextWhole } from '../base/whole-time.js';
import { awaitedOf, isComing, isFileComing, orderOf } from './files/file-order.js';
import type { Health } from './health.js';
import { CHECK_MS, Input, type InputOptions, type NextInput } from './input.js';
import { AirPacer } from './pacer.js';
import { Rest } from './rest.js';
import type { Source, SourceSettings, SourceTitle } from './source.js';
import type { SwitchOutput } from './switch-output.js';

/** How often it is looked at, at least: each CHECK_MS while something is under way; for a stall when it would be one. */
const REST_MS = 1000;
/** For how long a source on air that was taken out of the configuration plays on, while the one at its place has no bytes. */
const LEAVING_MS = 10_000;

/** How long a source that an operator has chosen may take to deliver. */
const PIN_MS = 10_000;

export class Switch implements AlarmHandler {
  readonly output: SwitchOutput;
  readonly pacer: AirPacer;
  readonly rest: Rest;
  #inputs: Input[] = [];
  /** Was on air when another one took its place, and plays until that can; it has no place of its own any more. Null: none. */
  #leaving: Input | null = null;
  /** What it plays on for. */
  #awaited: readonly Input[] = [];
  #leavesAtMs = 0;
  readonly #clock: Clock;
  readonly #options: InputOptions;
  /** The same, best first, and of what format that was made. */
  #order: readonly Input[] = [];
  #orderedFor: AudioFormat | null = null;
  /** Index of the input on air; -1: none. */
  #onAir = -1;
  /** The next look; null: it is not open, or is being looked at. */
  #alarm: Alarm | null = null;
  #wanted = false;
  #unwantedSinceMs = Number.NEGATIVE_INFINITY;
  #wantedSinceMs = Number.POSITIVE_INFINITY;
  #open = false;
  /** The source that an operator has chosen; null: none. */
  #pinned: Input | null = null;
  /** When it was chosen. */
  #pinnedMs = 0;

  constructor(output: SwitchOutput, clock: Clock, options: InputOptions) {
    this.output = output;
    this.#clock = clock;
    this.#options = options;
    this.pacer = new AirPacer(options);
    this.rest = new Rest({ clock, options, output, onAir: () => this.#inputs[this.#onAir] });
  }

  /** Adds a source behind those that are there already (less preferred). Before start only. */
  add(settings: SourceSettings, make: (input: Input) => Source): void {
    this.#inputs.push(this.#make({ settings, make }));
    this.#arrange();
  }

  /**
   * Other sources from now on, in order of preference. One that stays plays on, whatever its place; of one that goes the connection ends. Where
   * the one on air goes and what stands at its place has no bytes yet, it plays on until that has, for a while, whatever changes meanwhile.
   * @param next a number: the place of one that stays
   */
  replace(next: readonly (NextInput & { readonly from: number | null })[]): void {
    const before = this.#own;
    const onAir = this.#inputs[this.#onAir];
    const kept = new Set(next.flatMap(({ from }) => (from === null ? [] : before[from]!)));
    const inputs = next.map((each) => {
      const known = each.from === null ? undefined : before[each.from]!;
      if (known === undefined) return this.#make(each);
      known.settings = each.settings;
      return known;
    });
    if (this.#pinned !== null && !kept.has(this.#pinned)) this.#pinned = null;
    const goes = onAir !== undefined && !kept.has(onAir);
    const isLeaving = goes && onAir === this.#leaving;
    // It stands behind the place that it had.
    const place = isLeaving ? this.#onAir - 1 : goes ? before.indexOf(onAir) : -1;
    const awaited = awaitedOf(inputs, place, kept).concat(
      isLeaving ? this.#awaited.filter((each) => kept.has(each)) : [],
    );
    const mayWait = goes && onAir.source.kind !== 'file' && awaited.length > 0;
    for (const input of this.#inputs) if (!kept.has(input) && !(mayWait && input === onAir)) input.end();
    this.#leaving = mayWait ? onAir : null;
    this.#awaited = mayWait ? awaited : [];
    if (mayWait) {
      if (!isLeaving) this.#leavesAtMs = this.#clock.now() + LEAVING_MS;
      inputs.splice(Math.min(place + 1, inputs.length), 0, onAir);
    }
    this.#inputs = inputs;
    for (const [i, input] of inputs.entries()) input.index = i;
    this.#onAir = onAir === undefined ? -1 : inputs.indexOf(onAir);
    this.#lookAtFiles();
    this.#arrange();
    if (!this.#open) return;
    if (onAir !== undefined && this.#onAir === -1) this.output.onSourceChanged(null, 'reload');
    this.check('reload');
  }

  /** The same sources, with other settings. */
  settle(settings: readonly SourceSettings[]): void {
    for (const [i, input] of this.#own.entries()) input.settings = settings[i]!;
  }

  #make({ settings, make }: NextInput): Input {
    const input = new Input(this, this.#inputs.length, settings, this.#clock, this.#options);
    input.source = make(input);
    return input;
  }

  /** Those that the channel has, without one that is about to leave. */
  get #own(): readonly Input[] {
    return this.#leaving === null ? this.#inputs : this.#inputs.filter((input) => input !== this.#leaving);
  }

  get sources(): readonly Source[] {
    return this.#own.map((input) => input.source);
  }

  /** How each source does, in the same order. */
  get healths(): readonly Health[] {
    return this.#own.map((input) => input.health);
  }

  /** The source on air; null: none. */
  get onAir(): Source | null {
    return this.#inputs[this.#onAir]?.source ?? null;
  }

  /** How it does; undefined: there is none. */
  get healthOnAir(): Health | undefined {
    return this.#inputs[this.#onAir]?.health;
  }

  /** Its place among all; -1: none. */
  get placeOnAir(): number {
    const onAir = this.#inputs[this.#onAir];
    return onAir === undefined ? -1 : this.#own.indexOf(onAir);
  }

  /** Whether it is waited for: it has ended, or sends nothing, and `returnMs` lets it come back. */
  get isAwaited(): boolean {
    return this.#inputs[this.#onAir]?.isAwaited(this.#clock.now()) ?? false;
  }

  /** The title that stands in the stream of that source; undefined: none has come. */
  get titleOnAir(): SourceTitle | undefined {
    return this.#inputs[this.#onAir]?.lastTitle;
  }

  /** Place of the source that an operator has chosen; -1: none. */
  get pinned(): number {
    return this.#pinned === null ? -1 : this.#own.indexOf(this.#pinned);
  }

  /**
   * Plays this source, whatever is better, until `release`, or until it is lost: then the best one plays, as if nothing had been chosen.
   * A source that does not run yet is started and taken as soon as it delivers, within PIN_MS. @param index of an existing source
   */
  pin(index: number): void {
    this.#pinned = this.#own[index]!;
    this.#pinnedMs = this.#clock.now();
    this.check('chosen by an operator');
  }

  /** The best source plays again. Idempotent. */
  release(): void {
    if (this.#pinned === null) return;
    this.#pinned = null;
    this.check('released by an operator');
  }

  /** Whether waiting for audio makes sense: some source is there or on its way. */
  get hopeful(): boolean {
    return this.#inputs.some((input) => input.source.state !== 'idle');
  }

  /** Since when the channel has had listeners, on the clock; +∞: it has none. */
  get wantedSinceMs(): number {
    return this.#wantedSinceMs;
  }

  /** Whether some source waits for a listener to be asked for. */
  get onDemand(): boolean {
    return this.#inputs.some((input) => input.settings.onDemand);
  }

  start(): void {
    this.#open = true;
    this.#lookAtFiles();
    this.check('start');
    this.lookBy(this.#clock.now() + CHECK_MS);
  }

  /** Goes on with the source that was on air in another process, as if it had just delivered. Before `start`. */
  adopt(index: number, lastTitle: SourceTitle | undefined, isPinned = false): void {
    this.#onAir = index;
    if (isPinned) this.#pinned = this.#inputs[index]!;
    this.#inputs[index]!.adopt(lastTitle);
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
    if (this.#wanted !== wanted) this.#wantedSinceMs = wanted ? this.#clock.now() : Number.POSITIVE_INFINITY;
    this.#wanted = wanted;
    this.check('demand');
  }

  onAlarm(nowMs: number): void {
    this.#alarm = null;
    if (!this.#open) return;
    this.rest.look(nowMs);
    for (const input of this.#inputs) input.look(nowMs);
    if (this.#leaving !== null && nowMs >= this.#leavesAtMs) this.#dropLeaving();
    this.#letLostGo(nowMs);
    this.check('stalled');
    this.lookBy(this.#nextLookMs(nowMs));
  }

  /** Something is due then. */
  lookBy(dueMs: number): void {
    if (this.#open) this.#alarm = alarmBy(dueMs, this.#clock, this.#alarm, this);
  }

  #nextLookMs(nowMs: number): number {
    let isChanging = this.#leaving !== null || (this.#pinned !== null && !this.isOnAir(this.#pinned.index));
    isChanging ||= this.#inputs.some((input) => isComing(input, nowMs));
    let dueMs = isChanging ? nowMs + CHECK_MS : nextWhole(Math.min(REST_MS, this.#options.stallMs), nowMs);
    for (const input of this.#inputs) dueMs = Math.min(dueMs, input.nextLookMs(nowMs, this.#wanted));
    return dueMs;
  }

  isOnAir(index: number): boolean {
    return index === this.#onAir;
  }

  /** The input has frames. True: it is on air; a better one than the one on air takes over at once. */
  claimAir(index: number): boolean {
    if (index === this.#onAir) return this.#open;
    if (!this.#open) return false;
    // What an operator has chosen is better than all.
    const pinned = this.#pinned?.index ?? -1;
    if (index !== pinned && this.#onAir !== -1) {
      const isBetter = this.#inputs[index]!.rank < this.#inputs[this.#onAir]!.rank;
      if (this.#onAir === pinned || !isBetter || this.#inputs[index]!.isUnsteady) return false;
    }
    this.#putOnAir(index, 'has bytes');
    return true;
  }

  /**
   * A title that was sent beside a source's stream. While the source is connected but not on air, it waits until it is; for one that is
   * not connected another program speaks: its title is taken at once.
   */
  title(source: Source, title: SourceTitle): Promise<void> {
    if (source.state !== 'up') return this.output.onTitle(title, source);
    return this.#inputs.find((input) => input.source === source)!.setTitle(title);
  }

  /** Puts things right: which source is on air, which ones have to run. */
  check(reason: string): void {
    if (!this.#open) return;
    if (this.output.format !== this.#orderedFor) this.#arrange();
    const nowMs = this.#clock.now();
    const best = this.#best(nowMs);
    if (best !== this.#onAir) this.#putOnAir(best, reason);
    else this.#run(nowMs);
  }

  /** An unsteady one stays on air, and is better than none. */
  #best(nowMs: number): number {
    if (this.#pinned?.isGood(nowMs)) return this.#pinned.index;
    let spare = -1;
    for (const input of this.#order) {
      if (!input.isGood(nowMs)) continue;
      if (input.index === this.#onAir || !input.isUnsteady) return input.index;
      if (spare === -1) spare = input.index;
    }
    return spare;
  }

  /** Which is better than which. */
  #arrange(): void {
    this.#orderedFor = this.output.format;
    this.#order = orderOf(this.#inputs, this.#inputs[this.#onAir], this.#orderedFor);
    for (const [rank, input] of this.#order.entries()) input.rank = rank;
  }

  /** Where one has to be chosen, what they have is known before. */
  #lookAtFiles(): void {
    const files = this.#inputs.filter(({ source }) => source.kind === 'file');
    if (files.length > 1) for (const { source } of files) source.look?.();
  }

  /** What was chosen and does not come is chosen no more. (Once it is lost, neither: `putOnAir`.) */
  #letLostGo(nowMs: number): void {
    if (this.#pinned === null || this.#pinned.isGood(nowMs)) return;
    if (this.#pinned.index !== this.#onAir && nowMs - this.#pinnedMs > PIN_MS) this.#pinned = null;
  }

  #putOnAir(index: number, reason: string): void {
    const before = this.#inputs[this.#onAir];
    if (before === this.#pinned) this.#pinned = null;
    before?.left(this.#clock.now());
    this.#onAir = index;
    if (before !== undefined && before === this.#leaving) this.#dropLeaving();
    if (this.onAir !== null && this.onAir.kind !== 'file') this.#lookAtFiles();
    this.#arrange();
    this.output.onSourceChanged(this.onAir, reason);
    // A source sends its title once: the one that came while another source was on air is in force from here on.
    const input = this.#inputs[this.#onAir];
    if (input?.lastTitle !== undefined) input.follow(this.output.onTitle(input.lastTitle, input.source));
    this.#run(this.#clock.now());
  }

  /** It goes, on air or not. */
  #dropLeaving(): void {
    const leaving = this.#leaving!;
    this.#leaving = null;
    this.#awaited = [];
    const onAir = this.#inputs[this.#onAir];
    this.#inputs = this.#inputs.filter((input) => input !== leaving);
    for (const [i, input] of this.#inputs.entries()) input.index = i;
    this.#onAir = onAir === undefined ? -1 : this.#inputs.indexOf(onAir);
    this.#arrange();
    leaving.end();
    if (onAir === leaving) this.output.onSourceChanged(null, 'reload');
  }

  /** Starts and stops sources as the present state asks. */
  #run(nowMs: number): void {
    if (this.#alarm !== null) this.lookBy(nowMs + CHECK_MS);
    for (let i = 0; i < this.#inputs.length; i++) {
      const input = this.#inputs[i]!;
      const needed = this.#isNeeded(input, nowMs);
      if (needed === input.running) continue;
      input.running = needed;
      input.runningSinceMs = nowMs;
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

  #isNeeded(input: Input, nowMs: number): boolean {
    if (input.source.kind === 'encoder' || input === this.#pinned) return true;
    const onAir = this.#inputs[this.#onAir];
    const isBetterOnAir = onAir !== undefined && (onAir.rank < input.rank || onAir === this.#pinned);
    if (input.source.kind === 'file') return !isBetterOnAir && !isFileComing(this.#inputs, input, this.#onAir, nowMs);
    if (!input.settings.onDemand) return true;
    return !isBetterOnAir && (this.#wanted || nowMs - this.#unwantedSinceMs < input.settings.lingerMs);
  }
}
