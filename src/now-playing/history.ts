/**
 * Renders the history: channel records with `from` and `to`, or an as-run log in CSV (RFC 4180). Pure.
 */

import { csvLine } from '../base/csv.js';
import { type ChannelFace, RecordView } from '../metadata/view.js';
import type { HistoryEntry } from './state.js';

const CSV_HEAD = 'from,to,artist,song,etype,source,id,isrc';

export type HistoryForm = 'json' | 'csv';

/** A page is `open`, an entry, `separator`, another entry, `close`. */
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
  /** The same as CSV; `to` is empty while a title is on air. Cells that a spreadsheet would run get an apostrophe. */
  csv: {
    open: `${CSV_HEAD}\r\n`,
    line: ({ record, fromMs, toMs }) => {
      const { artist, song, etype, source, id, isrc } = record;
      const times = [utcMs(fromMs), toMs === null ? '' : utcMs(toMs)];
      return csvLine([...times, artist, song, etype, source, id, isrc]);
    },
    separator: '',
    close: '',
  },
};

/** `2026-11-20T12:37:28.123Z` */
function utcMs(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
