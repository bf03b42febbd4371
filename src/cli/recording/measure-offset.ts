/**
 * `airsplice measure-offset CHANNEL`: helps to measure how long after its push a title's audio arrives. It plays the channel of a running server,
 * follows its own listener feed, and writes for each push an audio file that starts at that moment, for a person to listen to.
 *
 * Exit codes: 0 after --count files or a signal, 1 for an error of the server or the disk, 2 for a wrong command line.
 */

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printable } from '../../base/printable.js';
import { type CommandLine, numberOf, type RunCommand, readKey, textOf, wholeOf } from '../command.js';
import { open, openEvents, serverError, serverUrl, untilCut } from '../server.js';
import { fileText, reserveNew } from '../setup/new-file.js';
import { OffsetRecorder, type Recording } from './offset-recorder.js';
import { type ListenerRecord, readListenerRecord } from './records.js';

/** Length of the time in a file's name, up to the second. */
const TIME_CHARACTERS = 16;
const MAX_FILES = 10_000;
const AUDIO = /^(audio\/|application\/ogg)/i;

interface Options {
  readonly channel: string;
  readonly url: string;
  readonly out: string;
  readonly seconds: number;
  readonly before: number;
  readonly count: number;
}

export const measureOffset: RunCommand = async (line, stop) => {
  await measure(readOptions(line), stop);
  return 0;
};

/** Throws UsageError. */
function readOptions(line: CommandLine): Options {
  const [channel = ''] = line.operands;
  return {
    channel: readKey(channel),
    url: serverUrl(line),
    out: textOf(line, 'out') ?? '.',
    seconds: numberOf(line, 'seconds', 30, 1, 600),
    before: numberOf(line, 'before', 0, 0, 60),
    count: wholeOf(line, 'count', MAX_FILES, 1, MAX_FILES),
  };
}

/** Resolves after `count` files or when stopped; rejects if the server ends the stream. */
async function measure(options: Options, stop: AbortSignal): Promise<void> {
  const { channel, url, seconds, before, count } = options;
  const done = new AbortController();
  const signal = AbortSignal.any([stop, done.signal]);
  let written = 0;
  const recorder: OffsetRecorder<ListenerRecord> = new OffsetRecorder(before * 1000, seconds * 1000, (recording) => {
    if (written >= count || recording.lengthMs === 0) return;
    save(options, recording, recorder.codec);
    if (++written >= count) done.abort();
  });
  const metaid = randomUUID();
  try {
    const feed = await openEvents('the listener feed', `${url}/metadata/sse/listener/${metaid}?sync=wire`, signal);
    const stream = await open(`the channel ${channel}`, `${url}/${channel}?metaid=${metaid}`, signal);
    const type = String(stream.headers['content-type']);
    if (!AUDIO.test(type)) throw serverError(url, `does not answer with audio for the channel ${channel} (${type})`);
    if (type.includes('ogg')) throw new Error('the channel plays Ogg, which cannot be cut: only MP3 and AAC can');
    process.stdout.write(`${channel}: waiting for pushes; stop with Ctrl-C\n`);
    await Promise.race([play(untilCut(url, stream.body), recorder), follow(feed, recorder)]);
    throw new Error('the server ended the stream');
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    done.abort();
    recorder.end();
  }
}

async function play(body: AsyncIterable<Buffer>, recorder: OffsetRecorder<ListenerRecord>): Promise<void> {
  for await (const chunk of body) recorder.push(chunk);
}

/** The first title is the one in force at the first byte, at position 0. A correction has the position of the title that it corrects. */
async function follow(events: AsyncIterable<unknown>, recorder: OffsetRecorder<ListenerRecord>): Promise<void> {
  let last = '0';
  for await (const event of events) {
    const title = readListenerRecord(event);
    if (title.type !== 'now' || title.position === last || !/^\d+$/.test(title.position)) continue;
    last = title.position;
    recorder.title(title, Number(title.position));
  }
}

function save(
  { channel, out, before }: Options,
  { title, audio, lengthMs }: Recording<ListenerRecord>,
  codec = '',
): void {
  const name = [channel, title.time.replace(/[^0-9TZ]/g, '').slice(0, TIME_CHARACTERS), fileText(title.rawdata)]
    .filter((part) => part !== '')
    .join('-');
  const path = reserveNew(join(out, name), codec === 'aac' ? 'aac' : 'mp3');
  writeFileSync(path, audio);
  const at = before === 0 ? 'at its first sample' : `${before} s into it`;
  process.stdout.write(
    `${path}: ${(lengthMs / 1000).toFixed(1)} s; "${printable(title.rawdata)}" took effect ${at}. ` +
      `If the new song begins 2.8 s after that, add 2800 to titleOffsetMs; if 2.8 s before it (--before 5), subtract 2800.\n`,
  );
}
