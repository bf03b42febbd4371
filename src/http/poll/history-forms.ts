/**
 * Renders the history: channel records with `from` and `to`, an as-run log in CSV (RFC 4180), or RSS 2.0 for feed readers. Pure.
 */

import { csvLine } from '../../base/csv.js';
import { ETYPES, playId } from '../../metadata/record.js';
import { type ChannelFace, RecordView } from '../../metadata/view.js';
import type { HistoryEntry } from '../../now-playing/state.js';
import { elements, escapeAttribute, escapeMarkup } from '../markup.js';
import { JSON_TYPE } from '../reads.js';

const CSV_HEAD = 'from,to,artist,song,etype,source,id,isrc';

export type HistoryForm = 'json' | 'csv' | 'rss';

/** A page consists of `open`, lines with `separator` between them, and `close`. */
interface HistoryWriter {
  readonly type: string;
  open(face: ChannelFace): string;
  line(entry: HistoryEntry, face: ChannelFace): string;
  readonly separator: string;
  readonly close: string;
}

export const HISTORY_FORMS: Readonly<Record<HistoryForm, HistoryWriter>> = {
  /** An array of channel records, each with `from` and `to` (src/now-playing/README.md, "History"). */
  json: {
    type: JSON_TYPE,
    open: () => '[',
    line: ({ record, fromMs, toMs }, face) => {
      const to = toMs === null ? 'null' : `"${utcMs(toMs)}"`;
      return `${new RecordView(record, face).json.slice(0, -1)},"from":"${utcMs(fromMs)}","to":${to}}`;
    },
    separator: ',',
    close: ']',
  },
  /** The same as CSV; `to` is empty while a title is on air. Cells that a spreadsheet would execute get an apostrophe. */
  csv: {
    type: 'text/csv; charset=utf-8',
    open: () => `${CSV_HEAD}\r\n`,
    line: ({ record, fromMs, toMs }) => {
      const { artist, song, etype, source, id, isrc } = record;
      const times = [utcMs(fromMs), toMs === null ? '' : utcMs(toMs)];
      return csvLine([...times, artist, song, etype, source, id, isrc]);
    },
    separator: '',
    close: '',
  },
  rss: {
    type: 'application/rss+xml; charset=utf-8',
    open: ({ name, key, link = '' }) =>
      `<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>${elements(
        {
          title: name || key,
          link,
          description: `What was on air: ${name || key}`,
        },
      )}`,
    line: ({ record, fromMs }, face) => {
      const view = new RecordView(record, face);
      // The same also if the sender's id came later: feed readers show another guid as another item.
      const guid = `${record.channel} ${fromMs} ${playId(record)}`;
      const cover = view.cover === '' ? '' : `<media:thumbnail url="${escapeAttribute(view.cover)}"/>`;
      const members = {
        title: view.title || (ETYPES.get(record.etype) ?? ''),
        pubDate: new Date(fromMs).toUTCString(),
      };
      return `<item>${elements(members)}<guid isPermaLink="false">${escapeMarkup(guid)}</guid>${cover}</item>`;
    },
    separator: '',
    close: '</channel></rss>\n',
  },
};

/** `2026-11-20T12:37:28.123Z` */
function utcMs(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
