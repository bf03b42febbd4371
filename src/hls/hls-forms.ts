/**
 * Chooses the form (segment-form.ts) of what a channel plays: MP3 is packed; AAC as the channel says (`hls.form`), packed where it says nothing; Opus
 * and FLAC are fragments of MP4.
 *
 * Invariant: what goes on in one format has one form, over links, tapes and sources: its initialization section keeps its name. Owned by an
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
  /** The latest. */
  #form: SegmentForm | null = null;
  /** What it was made for: a frame's format (FrameHeader), else a track; -1, null: it is the other. And the latest link of that track. */
  #key = -1;
  #entry: Buffer | null = null;
  #link: OggLink | null = null;

  constructor(choice: FormChoice, before: LastInit) {
    this.#choice = choice;
    this.#before = before;
  }

  /** @returns whether it is another choice: then what comes has another form, if only by name */
  choose(choice: FormChoice): boolean {
    if (choice === this.#choice) return false;
    this.#choice = choice;
    this.#form = null;
    return true;
  }

  /** @param header of the frame */
  ofFrame(frame: Buffer, header: FrameHeader): SegmentForm {
    if (this.#form !== null && header.key === this.#key) return this.#form;
    this.#key = header.key;
    this.#entry = this.#link = null;
    this.#form = this.#made(frame, header);
    return this.#form;
  }

  /** @param link of Opus or FLAC */
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
    // Where frames name their channels themselves MP4 would have to name them too (ISO 14496-3, 4.4.1).
    if (codec === 'aac')
      return new AacForm(frame, header, this.#choice === 'fmp4' && channels > 0 ? this.#before : null);
    const layer = 4 - ((frame[1]! >> 1) & 3);
    // ISO 14496-3, table 1.17: 32 to 34 are layers I to III.
    return new PackedForm(codec, `mp4a.40.${31 + layer}`, header);
  }
}
