/**
 * The switch's side of one source: takes its frames and titles, remembers when the last of them came, and has its health watched.
 * Whether it is heard is the switch's to decide (switch.ts), which owns it.
 */

import type { OggLink } from '../audio/ogg-link.js';
import type { Clock } from '../clock.js';
import { Health, type HealthOptions } from './health.js';
import type { Source, SourceInput, SourceTitle } from './source.js';
import type { SwitchOutput } from './switch.js';

/** What the switch must know of a source beyond the port. */
export interface Seat {
  readonly onDemand: boolean;
  readonly lingerMs: number;
  /** For so long after its last frame the source that is heard is waited for, in silence, before the next one is heard. */
  readonly returnMs: number;
  /** The bitrate that it should have by configuration; 0: none is told. */
  readonly bitrateKbps: number;
}

/** What an input asks of its switch. */
export interface InputOwner {
  readonly output: SwitchOutput;
  takes(index: number): boolean;
  hears(index: number): boolean;
  type(contentType: string | undefined): void;
  check(reason: string): void;
}

export class Input implements SourceInput {
  readonly seat: Seat;
  readonly #owner: InputOwner;
  readonly #index: number;
  readonly #clock: Clock;
  source!: Source;
  lastMs = Number.NEGATIVE_INFINITY;
  /** The title in force in its stream, whether it is heard or not; undefined: none has come. */
  lastTitle: SourceTitle | undefined;
  running = false;
  /** Ended, and waited for. */
  isAway = false;
  readonly health: Health;

  constructor(owner: InputOwner, index: number, seat: Seat, clock: Clock, options: HealthOptions) {
    this.health = new Health(options, (event, fields, isOver) => owner.output.told(index, event, fields, isOver));
    this.#owner = owner;
    this.#index = index;
    this.seat = seat;
    this.#clock = clock;
  }

  frame(bytes: Buffer, durationMs: number, bitrateKbps: number, fresh: boolean, link?: OggLink): void {
    this.lastMs = this.#clock.now();
    this.isAway = false;
    this.health.frame(bytes, durationMs, this.lastMs, link === undefined);
    if (!this.#owner.takes(this.#index)) return;
    this.#owner.type(this.source.contentType);
    this.#owner.output.frame(bytes, durationMs, bitrateKbps, fresh, link);
  }

  title(title: SourceTitle): Promise<void> {
    this.lastTitle = title;
    return this.#owner.hears(this.#index) ? this.#owner.output.title(title, this.source) : Promise.resolve();
  }

  lost(reason: string): void {
    if (this.seat.returnMs > 0 && this.#owner.hears(this.#index)) this.isAway = true;
    else this.forget();
    this.#owner.check(reason);
  }

  /** Whether it is there to be heard, as far as its frames tell. */
  isGood(nowMs: number, stallMs: number): boolean {
    const patienceMs = this.#owner.hears(this.#index) ? Math.max(stallMs, this.seat.returnMs) : stallMs;
    return nowMs - this.lastMs <= patienceMs;
  }

  look(nowMs: number): void {
    const { facts, state } = this.source;
    this.health.look(nowMs, state === 'up', this.seat.bitrateKbps || (facts?.bitrateKbps ?? 0));
  }

  /** What comes from now on is another stream. */
  forget(): void {
    this.lastMs = Number.NEGATIVE_INFINITY;
    this.lastTitle = undefined;
    this.isAway = false;
    this.health.reset();
  }
}
