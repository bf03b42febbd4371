/** How far ICY blocks stand apart, and how many of them a segment has (README.md). Pure. */

/** Blocks in a segment, which is about a second. */
const BLOCKS = 4;
/** Where no bitrate is known: a quarter of Icecast's interval (src/listener/README.md). */
const DEFAULT_METAINT = 4096;
const MIN_METAINT = 500;
const MAX_METAINT = 65_535;

/** About a quarter of a second of audio at this bitrate, bytes. */
export function metaintFor(bitrateKbps: number): number {
  const bytes = Math.round((bitrateKbps * 1000) / 8 / BLOCKS);
  return bytes > 0 ? Math.min(MAX_METAINT, Math.max(MIN_METAINT, bytes)) : DEFAULT_METAINT;
}

/** How many blocks of a metaint are about a second of audio at this bitrate. */
export function blocksFor(metaint: number, bitrateKbps: number): number {
  const bytes = (bitrateKbps * 1000) / 8;
  return bytes > 0 ? Math.max(1, Math.round(bytes / metaint)) : BLOCKS;
}
