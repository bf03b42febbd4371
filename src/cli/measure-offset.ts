/**
 * `airsplice measure-offset CHANNEL`: helps to find how much later than its push a title's audio comes in. It plays the channel of a running server,
 * follows its own listener feed, and writes a file for each push, whose first sample came in at that moment. A person listens to them.
 *
 * Exit codes: 0 after --count files or a signal, 1 where the server or the disk does not play along, 2 for a wrong command line.
 */

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { KEY } from '../base/key.js';
import { cutBytes } from '../metadata/text.js';
import { OffsetRecorder, type Recording } from './offset-recorder.js';

const USAGE =
  'usage: airsplice measure-offset CHANNEL [--url http://127.0.0.1:8000] [--out .] [--seconds 30] [--before 0] [--count N]';
/** Letters and digits of a title in a file's name, in bytes: file systems take names of 255. */
const TITLE_BYTES = 120;
/** Of its time: as RFC 3339 has it. */
const TIME_CHARACTERS = 16;
const MOST_NAMESAKES = 1000;
/** Longer events are none of ours. */
const EVENT_CHARACTERS = 1024 * 1024;

interface Options {
  readonly channel: string;
  readonly url: string;
  readonly out: string;
  readonly seconds: number;
  readonly before: number;
  readonly count: number;
}

/** What of a record is looked at. */
interface PushedTitle {
  readonly type: string;
  readonly rawdata: string;
  /** UTC, RFC 3339. */
  readonly time: string;
  readonly position: string;
}

/** @param args behind the command's name @param stop ends it @returns the exit code */
export async function measureOffset(args: readonly string[], stop: AbortSignal): Promise<number> {
  let options: Options;
  try {
    options = readOptions(args);
  } catch (error) {
    process.stderr.write(`airsplice: ${messageOf(error)}\n${USAGE}\n`);
    return 2;
  }
  try {
    await measure(options, stop);
    return 0;
  } catch (error) {
    process.stderr.write(`airsplice: ${messageOf(error)}\n`);
    return 1;
  }
}

/** Throws what is wrong. */
function readOptions(args: readonly string[]): Options {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { url: text, out: text, seconds: text, before: text, count: text },
    allowPositionals: true,
  });
  const [channel, ...more] = positionals;
  if (channel === undefined || more.length > 0 || !KEY.test(channel)) throw new Error('one channel key is needed');
  const url = values.url ?? 'http://127.0.0.1:8000';
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Error('--url must be an http:// or https:// URL');
  return {
    channel,
    url: url.replace(/\/+$/, ''),
    out: values.out ?? '.',
    seconds: numberOf('seconds', values.seconds ?? '30', 1, 600),
    before: numberOf('before', values.before ?? '0', 0, 60),
    count: values.count === undefined ? Number.POSITIVE_INFINITY : numberOf('count', values.count, 1, 10_000),
  };
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text === '' || !(value >= min && value <= max))
    throw new Error(`--${name} must be a number from ${min} to ${max}`);
  return value;
}

/** Ends after `count` files, or when `stop` does; rejects where the server ends it. */
async function measure(options: Options, stop: AbortSignal): Promise<void> {
  const { channel, url, seconds, before, count } = options;
  const done = new AbortController();
  const signal = AbortSignal.any([stop, done.signal]);
  let written = 0;
  const recorder: OffsetRecorder<PushedTitle> = new OffsetRecorder(before * 1000, seconds * 1000, (recording) => {
    if (written >= count || recording.lengthMs === 0) return;
    save(options, recording, recorder.codec);
    if (++written >= count) done.abort();
  });
  const metaid = randomUUID();
  try {
    const feed = await open('the listener feed', `${url}/metadata/sse/listener/${metaid}?sync=wire`, signal);
    const stream = await open(`the channel ${channel}`, `${url}/${channel}?metaid=${metaid}`, signal);
    const type = String(stream.headers['content-type']);
    if (type.includes('ogg')) throw new Error('the channel plays Ogg, which cannot be cut here: MP3 and AAC can');
    process.stdout.write(`${channel}: waiting for pushes; Ctrl-C ends it\n`);
    await Promise.race([play(stream.body, recorder), follow(feed.body, recorder)]);
    throw new Error('the server has ended the stream');
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    done.abort();
    recorder.end();
  }
}

/** Rejects where nobody answers, or not with 200. @param what is asked for, as the error names it */
async function open(what: string, url: string, signal: AbortSignal) {
  const { origin } = new URL(url);
  const answer = await request(url, { signal, bodyTimeout: 0 }).catch((error: unknown) => {
    throw new Error(`the server at ${origin} cannot be reached: ${messageOf(error)}`, { cause: error });
  });
  if (answer.statusCode === 200) return answer;
  await answer.body.dump();
  throw new Error(`the server at ${origin} answers ${answer.statusCode} for ${what}`);
}

async function play(body: AsyncIterable<Buffer>, recorder: OffsetRecorder<PushedTitle>): Promise<void> {
  for await (const chunk of body) recorder.push(chunk);
}

/** Server-sent events: the title in force at the first byte comes first, at position 0. A correction has the place of what it corrects. */
async function follow(body: AsyncIterable<Buffer>, recorder: OffsetRecorder<PushedTitle>): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  let last = '0';
  for await (const chunk of body) {
    const events = (text + decoder.decode(chunk, { stream: true })).split('\n\n');
    text = events.pop()!.slice(-EVENT_CHARACTERS);
    for (const event of events) {
      const data = /^data: ?(.*)$/m.exec(event)?.[1];
      if (data === undefined) continue;
      const title = JSON.parse(data) as PushedTitle;
      if (title.type !== 'now' || title.position === last || !/^\d+$/.test(title.position)) continue;
      last = title.position;
      recorder.title(title, Number(title.position));
    }
  }
}

function save({ channel, out, before }: Options, { title, audio, lengthMs }: Recording<PushedTitle>, codec = ''): void {
  const name = [channel, title.time.replace(/[^0-9TZ]/g, '').slice(0, TIME_CHARACTERS), fileText(title.rawdata)]
    .filter((part) => part !== '')
    .join('-');
  const path = writeNew(join(out, name), codec === 'aac' ? 'aac' : 'mp3', audio);
  const at = before === 0 ? 'with its first sample' : `${before} s into it`;
  process.stdout.write(
    `${path}: ${(lengthMs / 1000).toFixed(1)} s; "${title.rawdata.replace(/\p{Cc}/gu, ' ')}" took effect ${at}. ` +
      `If the new song begins 2.8 s after that, add 2800 to titleOffsetMs; if 2.8 s before it (--before 5), take 2800 off.\n`,
  );
}

/** A file that is there already, of a title with the same name or of another program, stays. @returns its path */
function writeNew(base: string, end: string, audio: Buffer): string {
  for (let number = 1; ; number++) {
    const path = `${base}${number === 1 ? '' : `-${number}`}.${end}`;
    try {
      writeFileSync(path, audio, { flag: 'wx' });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number >= MOST_NAMESAKES) throw error;
    }
  }
}

/** Letters and digits, which any file system takes; all else is a `-`. */
function fileText(title: string): string {
  const safe = title.normalize('NFC').replace(/[^\p{L}\p{N}]+/gu, '-');
  return cutBytes(safe, TITLE_BYTES).replace(/^-|-$/g, '');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
