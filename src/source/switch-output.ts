/** Where a switch sends what is on air, and what it says of its sources: to the channel that owns it. */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { SourceEvent } from './health.js';
import type { Source, SourceTitle } from './source.js';

export interface SwitchOutput {
  onFrame(frame: Frame): void;
  onTitle(title: SourceTitle, source: Source): Promise<void>;
  /** What listeners hear, as far as frames have come of it; null: nothing. */
  readonly format: AudioFormat | null;
  /** Another source is on air; null: none is. */
  onSourceChanged(source: Source | null, reason: string): void;
  /** Listeners have nothing to begin with. */
  readonly isEmpty: boolean;
  /** The source on air rests until its audio is read (Source.rest), or goes on. */
  onRest(isResting: boolean): void;
  /** Something of any source that the operator should know (health.ts). */
  onEvent(source: Source, event: SourceEvent, fields: Readonly<Record<string, unknown>>, isOver: boolean): void;
}
