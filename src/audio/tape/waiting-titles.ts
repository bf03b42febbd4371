/**
 * Titles whose place is not on the tape yet: its audio waits in the delay line, or has not arrived.
 *
 *   line          │ frame │ frame │ frame │ …           not arrived yet
 *   titles                ▲ place known   ▲             by moment, until a frame comes at or after it
 *
 * Invariant: they are in the order of their moments and places, and those with a known place come first. Owned by ChannelAudio.
 */

import type { RecordView } from '../../metadata/view.js';
import type { LinePosition } from '../delay-line.js';

export interface AwaitedTitle {
  view: RecordView;
  /** Monotonic milliseconds. */
  readonly momentMs: number;
  /** Null: the audio of that moment has not arrived. */
  position: LinePosition | null;
}

export class WaitingTitles {
  readonly #titles: AwaitedTitle[] = [];

  get isEmpty(): boolean {
    return this.#titles.length === 0;
  }

  /** The next to go onto the tape. */
  get first(): AwaitedTitle | undefined {
    return this.#titles[0];
  }

  get last(): AwaitedTitle | undefined {
    return this.#titles.at(-1);
  }

  get all(): readonly AwaitedTitle[] {
    return this.#titles;
  }

  /** Adopts the titles of another process. Call it first. */
  adopt(titles: readonly AwaitedTitle[]): void {
    this.#titles.push(...titles);
  }

  clear(): void {
    this.#titles.length = 0;
  }

  /** Adds a title, not before the last one. @param position null: the audio of that moment has not arrived */
  add(view: RecordView, momentMs: number, position: LinePosition | null, nowMs: number): void {
    const titles = this.#titles;
    const { last } = this;
    if (last === undefined) titles.push({ view, momentMs, position });
    else if (last.position === null) titles.push({ view, momentMs: Math.max(momentMs, last.momentMs), position: null });
    else {
      const isBehind = position === null || position.atByte > last.position.atByte;
      titles.push({ view, momentMs, position: isBehind ? position : last.position });
    }
    // Without audio titles would pile up; of those whose moment has passed only the last can be heard.
    const first = titles.findIndex((title) => title.position === null);
    while (first >= 0 && first + 1 < titles.length && titles[first + 1]!.momentMs <= nowMs) titles.splice(first, 1);
  }

  /** A frame arrives: titles whose moment has come take effect at its place. */
  onArrival(nowMs: number, position: LinePosition): void {
    for (const title of this.#titles) if (title.position === null && title.momentMs <= nowMs) title.position = position;
  }

  shift(): void {
    this.#titles.shift();
  }
}
