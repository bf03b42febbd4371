/**
 * Takes the ICY blocks out of an upstream's bytes: audio and titles come out in the order in which they stood. The byte machine is
 * icecast-metadata-js; this is the one file through which that package enters.
 */

import { IcecastMetadataReader } from 'icecast-metadata-js';
import { decodeIcyText } from '../metadata/title.js';
import { SLICE_BYTES } from './ahead.js';

/** Either at most SLICE_BYTES of audio, or the title of a block that had one. */
export interface Piece {
  readonly audio?: Buffer;
  readonly title?: string;
}

export class IcyStripper {
  readonly #reader: IcecastMetadataReader | null;

  /** @param metaint the upstream's `icy-metaint`; 0 or NaN: it sends no blocks */
  constructor(metaint: number) {
    // ISO 8859-1 keeps every byte of the text apart, so that its charset can be found out afterwards.
    this.#reader =
      metaint > 0
        ? new IcecastMetadataReader({ icyMetaInt: metaint, icyCharacterEncoding: 'iso-8859-1', metadataTypes: ['icy'] })
        : null;
  }

  *pieces(chunk: Buffer): Generator<Piece, void, void> {
    if (this.#reader === null) {
      yield* slices(chunk);
      return;
    }
    for (const item of this.#reader.iterator(chunk)) {
      if (item.stream !== undefined) {
        yield* slices(Buffer.from(item.stream.buffer, item.stream.byteOffset, item.stream.byteLength));
      } else if (item.metadata?.['StreamTitle'] !== undefined) {
        yield { title: decodeIcyText(item.metadata['StreamTitle']) };
      }
    }
  }
}

function* slices(audio: Buffer): Generator<Piece, void, void> {
  for (let at = 0; at < audio.length; at += SLICE_BYTES) yield { audio: audio.subarray(at, at + SLICE_BYTES) };
}
