/**
 * `airsplice watch CHANNEL` (or `--station STATION`): the titles in force, then each change. In a terminal each channel has a line that is
 * updated; else, or with `--lines`, `--count` or `--json`, each change is a line. Ends with a signal or after `--count`; exit code 1 if the
 * server ends it.
 */

import { printable, printableJson } from '../base/printable.js';
import { type CommandLine, type RunCommand, readKey, textOf, UsageError, wholeOf } from './command.js';
import { type FeedRecord, readFeedRecord } from './recording/records.js';
import { openEvents, serverUrl } from './server.js';
import { columnsOf, cutTo, inColumns, isLive, type Paint, paintOf, Screen, type Size } from './terminal/terminal.js';

const MAX_COUNT = 1_000_000_000;
/** Maximum width of a channel's key. */
const KEY_COLUMNS = 32;
const NEXT = '  next: ';
/** Minimum width of a title beside the following one. */
const TITLE_COLUMNS = 30;

export const watch: RunCommand = async (line, signal) => {
  const [channel] = line.operands;
  const station = textOf(line, 'station');
  if ((channel === undefined) === (station === undefined))
    throw new UsageError('give a channel or --station, not both');
  const key = readKey(channel ?? station!, 'key');
  const scope = channel === undefined ? 'station' : 'channel';
  let left = wholeOf(line, 'count', MAX_COUNT, 1, MAX_COUNT);
  const done = new AbortController();
  let printer: RecordPrinter | null = null;
  try {
    const url = `${serverUrl(line)}/metadata/sse/${scope}/${key}`;
    const events = await openEvents(`the ${scope} ${key}`, url, AbortSignal.any([signal, done.signal]));
    printer = isPicture(line) ? new TitlePicture() : line.values['json'] ? JSON_LINES : LINES;
    for await (const record of events) {
      printer.show(record);
      if (--left === 0) return 0;
    }
    throw new Error('the server ended the connection');
  } catch (error) {
    if (signal.aborted) return 0;
    throw error;
  } finally {
    done.abort();
    printer?.close();
  }
};

function isPicture({ values }: CommandLine): boolean {
  return isLive() && ['lines', 'count', 'json'].every((option) => values[option] === undefined);
}

interface RecordPrinter {
  /** Throws if it is not a record. */
  show(record: unknown): void;
  close(): void;
}

const JSON_LINES: RecordPrinter = {
  show: (record) => process.stdout.write(`${printableJson(record)}\n`),
  close: () => undefined,
};

const LINES: RecordPrinter = {
  show: (record) => process.stdout.write(`${lineOf(readFeedRecord(record))}\n`),
  close: () => undefined,
};

function lineOf({ type, code, rawdata, duration }: FeedRecord): string {
  return printable(`${timeOfDay()}  ${code.padEnd(12)} ${type.padEnd(4)}  ${rawdata || '–'}${lengthOf(duration)}`);
}

function lengthOf(duration: number): string {
  return duration > 0 ? ` (${Math.floor(duration / 60)}:${String(duration % 60).padStart(2, '0')})` : '';
}

function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8);
}

interface WatchedChannel {
  /** When it last changed. */
  time: string;
  now: string;
  next: string;
}

/** A line for each channel, in order of appearance. */
class TitlePicture implements RecordPrinter {
  readonly #channels = new Map<string, WatchedChannel>();
  readonly #paint: Paint = paintOf();
  readonly #screen = new Screen((size) => this.#lines(size));

  show(record: unknown): void {
    const { type, code, rawdata, duration } = readFeedRecord(record);
    const key = printable(code);
    const channel = this.#channels.get(key) ?? { time: '', now: '', next: '' };
    this.#channels.set(key, channel);
    channel[type === 'next' ? 'next' : 'now'] = rawdata === '' ? '' : printable(`${rawdata}${lengthOf(duration)}`);
    channel.time = timeOfDay();
    this.#screen.draw();
  }

  close(): void {
    this.#screen.close();
  }

  #lines({ columns }: Size): readonly string[] {
    const keys = [...this.#channels.keys()];
    const keyColumns = Math.min(KEY_COLUMNS, Math.max(0, ...keys.map(columnsOf)));
    return [...this.#channels].map(([key, { time, now, next }]) => {
      const left = cutTo(`${time}  ${inColumns(key, keyColumns)}  `, columns);
      const room = columns - columnsOf(left);
      const title = cutTo(now || '–', room);
      const rest = room - Math.max(TITLE_COLUMNS, columnsOf(title));
      const more = next === '' || rest < TITLE_COLUMNS ? '' : this.#paint(cutTo(`${NEXT}${next}`, rest), 'dim');
      return `${this.#paint(left, 'dim')}${title}${more}`;
    });
  }
}
