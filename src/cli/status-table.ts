/**
 * A status report as terminal lines. A channel is one line if there is room for its title; in a narrow terminal the title has a line of its own,
 * and the least important columns are left out. Whatever colours express is also expressed in words.
 */

import { printable } from '../base/printable.js';
import { type ChannelStatus, ON_DEMAND, type StatusReport } from './status-report.js';
import { type Colour, columnsOf, cutTo, inColumns, type Paint, type Size } from './terminal/terminal.js';

interface Column {
  readonly head: string;
  readonly isRight: boolean;
  readonly text: (channel: ChannelStatus) => string;
  /** Maximum width. */
  readonly maxColumns: number;
}

const UNKNOWN = '–';
const GAP = '  ';
/** Minimum width of a title beside the other columns. */
const TITLE_COLUMNS = 24;
const INDENT = '    ';

const CHANNEL: Column = { head: 'CHANNEL', isRight: false, text: ({ key }) => printable(key), maxColumns: 32 };
const ON_AIR: Column = { head: 'ON AIR', isRight: false, text: onAirOf, maxColumns: 28 };
const LISTENERS: Column = {
  head: 'LISTENERS',
  isRight: true,
  text: ({ listeners }) => number(listeners),
  maxColumns: 9,
};
const PEAK: Column = { head: 'PEAK', isRight: true, text: ({ peakListeners }) => number(peakListeners), maxColumns: 9 };
const LAG: Column = {
  head: 'LAG',
  isRight: true,
  text: ({ lagSeconds }) => (lagSeconds === null ? UNKNOWN : `${lagSeconds.toFixed(1)} s`),
  maxColumns: 8,
};

/** @param now unix milliseconds */
export function statusLines(
  report: StatusReport,
  { columns, rows }: Size,
  paint: Paint,
  now = Date.now(),
): readonly string[] {
  const head = headOf(report, now).map((line) => cutTo(line, columns));
  const first = head.map((line, i) => (i === 0 ? paint(line, report.isReady ? 'bold' : 'red') : line));
  if (report.channels.length === 0) return [...first, '', 'no channels'];
  const room = rows - first.length - 1;
  const body = table(report.channels, columns, paint);
  if (body.lines.length <= room) return [...first, '', ...body.lines];
  const whole = Math.max(0, Math.floor((room - body.headLines - 1) / body.linesPerChannel));
  const visible = body.lines.slice(0, body.headLines + whole * body.linesPerChannel);
  return [...first, '', ...visible, paint(`… ${report.channels.length - whole} more`, 'dim')];
}

function headOf({ url, isReady, startedAt, channels, ...report }: StatusReport, now: number): readonly string[] {
  const onAir = channels.filter((channel) => channel.isOnAir).length;
  const up = startedAt === null ? '' : `up ${lasted(now - Date.parse(startedAt))}`;
  const parts = [
    `${onAir} of ${channels.length} on air`,
    report.listeners === null ? '' : `listeners ${report.listeners}`,
    report.watchers === null ? '' : `watchers ${report.watchers}`,
    report.workers === null ? '' : `workers ${report.workers}`,
    report.hasMetrics
      ? ''
      : 'sources unknown: /metrics answers only the machine itself, or on an address with the role ops',
  ];
  return [
    [printable(url), isReady ? 'ready' : 'NOT READY', up].filter((part) => part !== '').join(GAP),
    parts.filter((part) => part !== '').join(GAP),
  ];
}

function table(channels: readonly ChannelStatus[], columns: number, paint: Paint) {
  const wide = [CHANNEL, ON_AIR, LISTENERS, PEAK, LAG];
  // Room for the symbol before the channel's key.
  const markColumns = 2;
  const taken = (chosen: readonly Column[]) =>
    markColumns + chosen.reduce((sum, column) => sum + widthOf(column, channels) + GAP.length, 0);
  const hasTitleBeside = taken(wide) + TITLE_COLUMNS <= columns;
  const narrow = [wide, [CHANNEL, ON_AIR, LISTENERS, LAG], [CHANNEL, ON_AIR, LISTENERS], [CHANNEL, ON_AIR]];
  const chosen = hasTitleBeside ? wide : (narrow.find((some) => taken(some) - GAP.length <= columns) ?? [CHANNEL]);
  const row = (texts: readonly string[]) =>
    texts.map((text, i) => inColumns(text, widthOf(chosen[i]!, channels), chosen[i]!.isRight)).join(GAP);
  const heads = row(chosen.map(({ head }) => head));
  const lines = channels.flatMap((channel) => {
    const [mark, colour] = markOf(channel);
    const cells = cutTo(row(chosen.map(({ text }) => text(channel))), columns - markColumns);
    const left = `${paint(mark, colour)} ${colour === 'green' ? cells : paint(cells, colour)}`;
    const title = printable(channel.title) || UNKNOWN;
    const room = columns - taken(chosen);
    if (hasTitleBeside) return [`${left}${GAP}${cutTo(title, room)}`];
    return [left, paint(cutTo(`${INDENT}${title}`, columns), 'dim')];
  });
  const titleHead = hasTitleBeside ? `${GAP}TITLE` : '';
  return {
    headLines: 1,
    linesPerChannel: hasTitleBeside ? 1 : 2,
    lines: [paint(cutTo(`${' '.repeat(markColumns)}${heads}${titleHead}`, columns), 'dim'), ...lines],
  };
}

function widthOf({ head, text, maxColumns: most }: Column, channels: readonly ChannelStatus[]): number {
  return Math.min(most, Math.max(head.length, ...channels.map((channel) => columnsOf(text(channel)))));
}

function markOf({ isOnAir, source, troubles }: ChannelStatus): readonly [string, Colour] {
  if (!isOnAir) return ['○', 'red'];
  if (troubles.length > 0) return ['●', 'yellow'];
  return [source === ON_DEMAND ? '◌' : '●', 'green'];
}

function onAirOf({ isOnAir, source, troubles }: ChannelStatus): string {
  if (!isOnAir) return 'no audio';
  const kind = source ?? 'yes';
  return printable(troubles.length === 0 ? kind : `${kind}: ${troubles.join(', ')}`);
}

function number(count: number | null): string {
  return count === null ? UNKNOWN : String(count);
}

const MINUTE_MS = 60_000;

/** `3 d 4 h`, `4 h 12 min`, `12 min`. */
export function lasted(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / MINUTE_MS));
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}
