/**
 * Playlists in place of a stream: M3U and PLS, as stations publish them. Pure functions; net/outbound/target.ts decides which addresses an entry may
 * have. An HLS playlist has the same types and endings, and is recognized by its tags: it lists segments instead of a stream.
 */

/** The media types that servers send for both kinds. */
const LIST_TYPES = new Set([
  ...['audio/x-mpegurl', 'audio/mpegurl', 'application/x-mpegurl', 'application/mpegurl'],
  ...['application/vnd.apple.mpegurl', 'audio/x-scpls', 'audio/scpls', 'application/pls', 'application/pls+xml'],
]);
/** Generic types: the URL's ending counts. */
const VAGUE_TYPES = new Set(['', 'text/plain', 'application/octet-stream', 'binary/octet-stream']);

export interface Playlist {
  /** Its entries in playing order, as written: absolute or relative URLs, or anything else. */
  readonly entries: readonly string[];
  readonly isHls: boolean;
}

/**
 * Whether a response is a playlist. The type of a stream takes precedence over the URL, since a mount may be called /live.m3u.
 * @param contentType the header's value with its parameters; undefined: none was sent
 * @param path of the URL
 */
export function isPlaylist(contentType: string | undefined, path: string): boolean {
  const type = (contentType ?? '').split(';')[0]!.trim().toLowerCase();
  return LIST_TYPES.has(type) || (VAGUE_TYPES.has(type) && /\.(m3u8?|pls)$/i.test(path));
}

/** Reads either kind, whatever the declared type: many servers send the wrong one. */
export function readPlaylist(text: string): Playlist {
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.replace(/^\ufeff/, '').trim());
  const isPls = lines.some((line) => /^\[playlist\]$/i.test(line));
  const isHls = lines.some((line) => line.startsWith('#EXT-X-'));
  if (isPls) return { entries: plsEntries(lines), isHls };
  return { entries: lines.filter((line) => line !== '' && !line.startsWith('#')), isHls };
}

/** `File1=…`, sorted by number. */
function plsEntries(lines: readonly string[]): string[] {
  return lines
    .map((line) => /^file(\d{1,9})\s*=(.+)$/is.exec(line))
    .filter((found) => found !== null)
    .sort((a, b) => Number(a[1]) - Number(b[1]))
    .map((found) => found[2]!.trim())
    .filter((entry) => entry !== '');
}
