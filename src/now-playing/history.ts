/**
 * What was on air, as readers receive it: channel records with `from` and `to`, or an as-run log in CSV (RFC 4180). Pure.
 */

import { type ChannelFace, RecordView } from '../metadata/view.js';
import type { HistoryEntry } from './state.js';

const CSV_HEAD = 'from,to,artist,song,etype,source,id,isrc';

/** What a spreadsheet runs as a formula, also after blanks and in the wide forms of East Asian keyboards. */
const FORMULA = /^(?:\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/u;
/** Where a semicolon parts the columns (much of Europe), a cell begins after each. */
const LATER_FORMULA = /;(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;

export type HistoryForm = 'json' | 'csv';

/** How a page is put together: `open`, an entry, `separator`, another entry, `close`. */
interface HistoryWriter {
  readonly open: string;
  line(entry: HistoryEntry, face: ChannelFace): string;
  readonly separator: string;
  readonly close: string;
}

export const HISTORY_FORMS: Readonly<Record<HistoryForm, HistoryWriter>> = {
  /** An array of channel records, each with `from` and `to` (src/now-playing/README.md, "History"). */
  json: {
    open: '[',
    line: ({ record, fromMs, toMs }, face) => {
      const to = toMs === null ? 'null' : `"${utcMs(toMs)}"`;
      return `${new RecordView(record, face).json.slice(0, -1)},"from":"${utcMs(fromMs)}","to":${to}}`;
    },
    separator: ',',
    close: ']',
  },
  /** The same as CSV; `to` is empty while a title is on air. Cells that a spreadsheet would run get an apostrophe before them. */
  csv: {
    open: `${CSV_HEAD}\r\n`,
    line: ({ record, fromMs, toMs }) => {
      const { artist, song, etype, source, id, isrc } = record;
      const times = [utcMs(fromMs), toMs === null ? '' : utcMs(toMs)];
      return `${[...times, artist, song, String(etype), source, id, isrc].map(cell).join(',')}\r\n`;
    },
    separator: '',
    close: '',
  },
};

/** Controls should not occur (metadata/text.ts); one that does stays within its cell. */
function cell(text: string): string {
  const harmless = (FORMULA.test(text) ? `'${text}` : text).replaceAll(LATER_FORMULA, ";'");
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** `2026-11-20T12:37:28.123Z` */
function utcMs(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
