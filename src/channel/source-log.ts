/** Reports the history of a channel's sources in its log and timeline. Owned by the channel. */

import type { Clock } from '../base/clock.js';
import { type Log, Repeats } from '../base/log.js';
import type { SourceEvent } from '../source/health.js';
import type { Source } from '../source/source.js';
import type { Switch } from '../source/switch.js';
import { SourceTimeline, type TimelineEntry } from './source-timeline.js';

const SECOND_MS = 1000;

export interface SourceLogParts {
  /** The channel's key. */
  readonly key: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called only after events of the sources. */
  sources(): Switch;
}

export class SourceLog {
  readonly #parts: SourceLogParts;
  readonly #repeats: Repeats;
  #timeline = new SourceTimeline();
  /** When the format last changed, monotonic milliseconds: a change with every frame must not displace all else from the timeline. */
  #formatMs = Number.NEGATIVE_INFINITY;

  constructor(parts: SourceLogParts) {
    this.#parts = parts;
    this.#repeats = new Repeats(parts.log);
  }

  /** Oldest first. */
  get entries(): readonly TimelineEntry[] {
    return this.#timeline.entries;
  }

  /** Begins with the entries of another process. */
  adopt(entries: readonly TimelineEntry[]): void {
    this.#timeline = new SourceTimeline(entries);
  }

  /** Another source is on air, or none. */
  changed(source: Source | null, reason: string): void {
    const { key, log } = this.#parts;
    log.info({ channel: key, heard: source?.kind ?? null, reason }, 'source changed');
    log.debug({ channel: key, sources: this.#states() }, 'sources, best first');
    this.#note('on-air', source, reason);
  }

  /** Listeners get another format from now on; those whose players cannot continue are ended. One line a second at most. */
  formatChanged(from: string, to: string): void {
    const { key, clock, sources } = this.#parts;
    const nowMs = clock.now();
    if (nowMs - this.#formatMs >= SECOND_MS) {
      this.#note('format', sources().onAir, `${from} → ${to}`);
      this.#formatMs = nowMs;
    }
    this.#repeats.warn('format', { channel: key, from, to }, 'another format');
  }

  /** One line a second at most for each source and event. */
  report(source: Source, event: SourceEvent, fields: Readonly<Record<string, unknown>>, isOver: boolean): void {
    const { key, log } = this.#parts;
    const place = this.#indexOf(source);
    const all = { channel: key, source: source.kind, place, event, ...fields };
    this.#note(event, source, '', isOver);
    if (isOver) log.info(all, 'source recovered');
    else this.#repeats.warn(`${place} ${event}`, all, 'source event');
  }

  /** The state of each source, best first, which explains the choice: `encoder up: unsteady`. */
  #states(): readonly string[] {
    const { sources, healths } = this.#parts.sources();
    return sources.map(({ kind, state }, place) => {
      const troubles = Object.entries(healths[place]!.troubles).flatMap(([trouble, is]) => (is ? [trouble] : []));
      return `${kind} ${state}${troubles.length === 0 ? '' : `: ${troubles.join(', ')}`}`;
    });
  }

  #note(what: string, source: Source | null, reason: string, isOver = false): void {
    const atMs = Math.round(this.#parts.clock.wallMs());
    const place = source === null ? null : this.#indexOf(source);
    this.#timeline.add({ atMs, what, place, kind: source?.kind ?? null, reason, isOver });
  }

  /** Null: it has no place, since a reload has removed it, though it still plays for a while. */
  #indexOf(source: Source): number | null {
    const place = this.#parts.sources().sources.indexOf(source);
    return place === -1 ? null : place;
  }
}
