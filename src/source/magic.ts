/**
 * What a stream without frames of ours is, by its first bytes: a name for the operator who has set the encoder up. Pure.
 */

/** Enough for every row. */
export const MAGIC_BYTES = 12;

/** Offset, bytes in Latin-1, name. */
const ROWS: readonly (readonly [number, string, string])[] = [
  [0, 'OggS', 'Ogg'],
  [0, 'fLaC', 'FLAC without Ogg'],
  [8, 'WAVE', 'WAV'],
  [0, 'RIFF', 'RIFF'],
  [8, 'AIFF', 'AIFF'],
  [0, '\x1a\x45\xdf\xa3', 'WebM or Matroska'],
  [4, 'ftyp', 'MP4'],
  [0, 'FLV', 'FLV'],
  [0, 'ADIF', 'AAC without ADTS headers'],
  [0, '\x89PNG', 'a PNG image'],
  [0, '\xff\xd8\xff', 'a JPEG image'],
  [0, '\x47', 'perhaps MPEG-TS'],
  [0, '<', 'text'],
];

/** @param first at most MAGIC_BYTES are looked at; "unknown": by no row */
export function nameOfFormat(first: Buffer): string {
  const text = first.toString('latin1', 0, MAGIC_BYTES);
  return ROWS.find(([at, magic]) => text.startsWith(magic, at))?.[2] ?? 'unknown';
}
