/**
 * Chooses the form (segment-form.ts) of a channel's audio: MP3 is packed; AAC follows `hls.form`, packed by default; Opus and FLAC are fragments of
 * MP4.
 *
 * Invariant: audio of one format keeps one form across links, tapes and sources, and its initialization section keeps its name. Owned by an
 * HlsCutter.
 */

import type { FrameHeader } from '../audio/frames/header.js';
import type { OggLink } from '../audio/ogg/ogg-link.js';
import type { FormChoice } from '../config/hls-config.js';
import { AacForm } from './aac-form.js';
import { FragmentForm, type LastInit } from './fragment.js';
import { flacTrack, opusTrack } from './mp4-track.js';
import { PackedForm } from './packed.js';
import type { SegmentForm } from './segment-form.js';

export class HlsForms {
  readonly #before: LastInit;
  #choice: FormChoice;
  #form: SegmentForm | null = null;
  /** The format of the latest form, as a frame's key (FrameHeader); -1: Opus or FLAC. */
  #key = -1;
  /** The same as a track's sample entry; null: MP3 or AAC. */
  #entry: Buffer | null = null;
  /** The latest link of that track. */
  #link: OggLink | null = null;

  constructor(choice: FormChoice, before: LastInit) {
    this.#choice = choice;
    this.#before = before;
  }

  /** Returns whether the choice has changed; then the audio that follows has another form, if only by name. */
  choose(choice: FormChoice): boolean {
    if (choice === this.#choice) return false;
    this.#choice = choice;
    this.#form = null;
    return true;
  }

  /** Returns the form of a frame of MP3 or AAC. */
  ofFrame(frame: Buffer, header: FrameHeader): SegmentForm {
    if (this.#form !== null && header.key === this.#key) return this.#form;
    this.#key = header.key;
    this.#entry = this.#link = null;
    this.#form = this.#made(frame, header);
    return this.#form;
  }

  /** Returns the form of a link of Opus or FLAC. */
  ofLink(link: OggLink): SegmentForm {
    if (this.#form !== null && link === this.#link) return this.#form;
    this.#link = link;
    const [identification] = link.packets(null, 0);
    const track = link.facts.codec === 'opus' ? opusTrack(identification!) : flacTrack(identification!);
    if (this.#form !== null && this.#entry?.equals(track.entry)) return this.#form;
    this.#key = -1;
    this.#entry = track.entry;
    this.#form = new FragmentForm(track, this.#before);
    return this.#form;
  }

  #made(frame: Buffer, header: FrameHeader): SegmentForm {
    const { codec, channels } = header;
    // If the frames themselves name their channels, MP4 would have to name them too (ISO 14496-3, 4.4.1).
    if (codec === 'aac')
      return new AacForm(frame, header, this.#choice === 'fmp4' && channels > 0 ? this.#before : null);
    const layer = 4 - ((frame[1]! >> 1) & 3);
    // ISO 14496-3, table 1.17: 32 to 34 are layers I to III.
    return new PackedForm('mp3', `mp4a.40.${31 + layer}`, header);
  }
}
