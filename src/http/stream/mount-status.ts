/**
 * A channel as playlists and statistics tell of it: looked at when somebody asks, never kept. Made in the composition root.
 */

import type { ListenerCounts } from '../../listener/listener-stats.js';

export interface MountStatus {
  /** Every path at which it is heard; the first is the one that statistics name. */
  readonly paths: readonly string[];
  readonly name: string;
  readonly genre: string;
  readonly url: string;
  readonly description: string;
  readonly contentType: string;
  /** 0: not known. */
  readonly bitrateKbps: number;
  /** What the source says of its audio: `name=value;…`, Hertz, a number. `""` and 0: it does not say. */
  readonly audioInfo: string;
  readonly sampleRate: number;
  readonly channels: number;
  /** Whether something is heard, or would be as soon as somebody listens. */
  readonly onAir: boolean;
  /** Since when it has been heard without a gap, unix milliseconds; null: it is not. */
  readonly heardSinceMs: number | null;
  /** The title line in force; "": none. */
  readonly title: string;
  readonly maxListeners: number;
  readonly tally: ListenerCounts;
}

export const NO_STORE: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Cache-Control': 'no-store',
};

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * For text between the tags of XML and HTML; quotes stay, since readers of `/7.html` show them as they come. What XML 1.0 cannot say
 * at all is left out.
 */
export function escapeMarkup(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ufffd]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '')
    .replace(/[&<>]/g, (character) => NAMED[character]!);
}
