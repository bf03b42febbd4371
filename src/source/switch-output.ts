/** Receives what a switch puts on air, and its reports about its sources: the channel that owns the switch. */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import type { Frame } from '../audio/frames/frame.js';
import type { SourceEvent } from './health.js';
import type { Source, SourceTitle } from './source.js';

export interface SwitchOutput {
  onFrame(frame: Frame): void;
  onTitle(title: SourceTitle, source: Source): Promise<void>;
  /** The format that listeners hear, known from its frames; null: none. */
  readonly format: AudioFormat | null;
  /** Another source is on air; null: none is. */
  onSourceChanged(source: Source | null, reason: string): void;
  /** Listeners have no audio to begin with. */
  readonly isEmpty: boolean;
  /** The source on air rests until its audio is read (Source.rest), or goes on. */
  onRest(isResting: boolean): void;
  /** An event of any source that the operator should know (health.ts). */
  onEvent(source: Source, event: SourceEvent, fields: Readonly<Record<string, unknown>>, isOver: boolean): void;
}
