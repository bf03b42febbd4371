/**
 * Playlists that stand where a stream is expected: M3U and PLS, as stations hand them out. Pure functions; what an entry leads to
 * is net/target.ts's business. An HLS playlist looks the same from outside, and is told apart, since it names pieces and no stream.
 */

/** The media types of both kinds, as they are met. */
const LIST_TYPES = new Set([
  ...['audio/x-mpegurl', 'audio/mpegurl', 'application/x-mpegurl', 'application/mpegurl'],
  ...['application/vnd.apple.mpegurl', 'audio/x-scpls', 'audio/scpls', 'application/pls', 'application/pls+xml'],
]);
/** Types that say nothing: there the URL's ending counts. */
const VAGUE_TYPES = new Set(['', 'text/plain', 'application/octet-stream', 'binary/octet-stream']);

export interface Playlist {
  /** Its entries in the order in which they are meant, as they stand there: absolute or relative URLs, or anything. */
  readonly entries: readonly string[];
  readonly isHls: boolean;
}

/**
 * Whether an answer is a playlist. A stream's own type counts more than the URL: a mount may be called /live.m3u.
 * @param contentType the head's value, parameters and all; undefined: none was sent
 * @param path of the URL
 */
export function isPlaylist(contentType: string | undefined, path: string): boolean {
  const type = (contentType ?? '').split(';')[0]!.trim().toLowerCase();
  return LIST_TYPES.has(type) || (VAGUE_TYPES.has(type) && /\.(m3u8?|pls)$/i.test(path));
}

/** Reads either kind, whatever it was called: many servers mix up their types. */
export function readPlaylist(text: string): Playlist {
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.replace(/^\ufeff/, '').trim());
  const isPls = lines.some((line) => /^\[playlist\]$/i.test(line));
  const isHls = lines.some((line) => line.startsWith('#EXT-X-'));
  if (isPls) return { entries: plsEntries(lines), isHls };
  return { entries: lines.filter((line) => line !== '' && !line.startsWith('#')), isHls };
}

/** `File1=…` by number, wherever it stands. */
function plsEntries(lines: readonly string[]): string[] {
  return lines
    .map((line) => /^file(\d{1,9})\s*=\s*(.+)$/i.exec(line))
    .filter((found) => found !== null)
    .sort((a, b) => Number(a[1]) - Number(b[1]))
    .map((found) => found[2]!);
}
