/**
 * `airsplice record URL`: records a stream, of this server or another, into one file or a file for each title. Reconnects when the connection is
 * lost, until a signal or `--seconds` end it.
 *
 * Exit codes: 0 after those, 1 if the first connection fails or the disk cannot be written to, 2 for a wrong command line.
 */

import { mkdirSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { printable } from '../../base/printable.js';
import { decoded } from '../../base/request-target.js';
import { messageOf } from '../../net/outbound/message-of.js';
import { type CommandLine, numberOf, type RunCommand, textOf } from '../command.js';
import { ask, untilCut, urlOf } from '../server.js';
import { fileText } from '../setup/new-file.js';
import { RecordingFiles, type RecordingOptions } from './recording-files.js';
import { StreamRecorder } from './stream-recorder.js';

const MAX_SECONDS = 31_536_000;
/** How much longer than its audio a recording may take by the clock. */
const LATE_MS = 2000;
const MAX_REDIRECTS = 5;
/** The first and the longest pause before another try. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
/** A connection without a byte for this long is dropped. */
const SILENT_MS = 30_000;

const ENDINGS: readonly (readonly [RegExp, string])[] = [
  // Not audio/mpegurl, a playlist.
  [/^audio\/(mpeg|mp3|mpa|x-mpeg)(?!\w)/i, 'mp3'],
  [/^audio\/mp2(?!\w)/i, 'mp2'],
  [/^audio\/(aac|aacp|x-aac)/i, 'aac'],
  [/ogg|opus|vorbis/i, 'ogg'],
  [/flac/i, 'flac'],
];

interface RecordOptions extends Pick<RecordingOptions, 'url' | 'isSplit' | 'untilMs' | 'onEnd'> {
  readonly out: string | undefined;
}

export const record: RunCommand = async (line, stop) => {
  const options = readOptions(line);
  const seconds = numberOf(line, 'seconds', MAX_SECONDS, 0.1, MAX_SECONDS);
  const done = new AbortController();
  // The burst at the start makes audio run ahead of the clock, so the audio is counted, not the time.
  const untilMs = line.values['seconds'] === undefined ? Number.POSITIVE_INFINITY : seconds * 1000;
  const end = () => done.abort();
  const session = new RecordSession({ ...options, untilMs, onEnd: end }, AbortSignal.any([stop, done.signal]));
  // The clock ends a recording without durations (Ogg), or whose audio does not arrive.
  const clockMs = Math.min(seconds * 1000, 2 ** 31 - 1 - LATE_MS);
  let timer = setTimeout(() => {
    if (session.isTimed) timer = setTimeout(end, LATE_MS);
    else end();
  }, clockMs);
  try {
    await session.run();
  } finally {
    clearTimeout(timer);
    session.close();
  }
  return 0;
};

/** Throws UsageError. */
function readOptions(line: CommandLine): Pick<RecordOptions, 'url' | 'out' | 'isSplit'> {
  const url = urlOf(line.operands[0] ?? '', 'URL');
  return { url, out: textOf(line, 'out'), isSplit: line.values['split'] === true };
}

class RecordSession {
  readonly #options: RecordOptions;
  readonly #stop: AbortSignal;
  /** Null until the first response, which has the type of the audio. */
  #recording: RecordingFiles | null = null;
  #recorder: StreamRecorder | null = null;

  constructor(options: RecordOptions, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
  }

  /** Resolves when it is stopped. */
  async run(): Promise<void> {
    let waitMs = RETRY_MS;
    while (!this.#stop.aborted) {
      const before = this.#recording?.seconds ?? 0;
      const reason = await this.#connection().catch((error: unknown) => {
        if (this.#stop.aborted) return '';
        // A retry does not help with a full disk.
        if (this.#recording === null || isDiskError(error)) throw error;
        return messageOf(error);
      });
      if (this.#stop.aborted) return;
      waitMs = (this.#recording?.seconds ?? 0) > before ? RETRY_MS : Math.min(waitMs * 2, MAX_RETRY_MS);
      process.stderr.write(`airsplice: ${printable(reason)}: retrying in ${waitMs / 1000} s\n`);
      await wait(waitMs, undefined, { signal: this.#stop }).catch(() => undefined);
    }
  }

  /** Whether it counts its audio: false for Ogg, and before the first frame. */
  get isTimed(): boolean {
    return (this.#recording?.seconds ?? 0) > 0;
  }

  close(): void {
    this.#recording?.close();
    const seconds = this.#recording?.seconds ?? 0;
    if (seconds > 0 && this.#recording?.hasFile) process.stdout.write(`${seconds.toFixed(1)} s recorded\n`);
  }

  /** @returns why it has ended */
  async #connection(): Promise<string> {
    const { headers, body } = await this.#open(this.#options.url);
    const type = String(headers['content-type'] ?? '');
    const recorder = (this.#recorder ??= this.#begin(type));
    recorder.connected(headers['icy-metaint']);
    for await (const chunk of untilCut(this.#options.url, body)) {
      if (this.#stop.aborted) break;
      recorder.push(chunk);
    }
    return 'the stream has ended';
  }

  async #open(url: string, redirects = 0): Promise<Awaited<ReturnType<typeof ask>>> {
    const { username, password } = new URL(url);
    const login = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
    const answer = await ask(url, {
      signal: this.#stop,
      bodyTimeout: SILENT_MS,
      headers: { 'icy-metadata': '1', ...(username === '' ? {} : { authorization: `Basic ${login}` }) },
    });
    const { statusCode, headers } = answer;
    if (statusCode === 200) return answer;
    await answer.body.dump().catch(() => undefined);
    const to = headers['location'];
    const isRedirect = statusCode >= 300 && statusCode < 400 && typeof to === 'string' && URL.canParse(to, url);
    if (isRedirect && redirects < MAX_REDIRECTS) {
      const next = new URL(to, url);
      if (next.protocol !== 'http:' && next.protocol !== 'https:')
        throw new Error(`${withoutLogin(url)} redirects to something other than an http:// or https:// URL`);
      return this.#open(next.href, redirects + 1);
    }
    throw new Error(`${withoutLogin(url)} answers ${statusCode}`);
  }

  #begin(type: string): StreamRecorder {
    const { url, out, isSplit, untilMs, onEnd } = this.#options;
    const ending = ENDINGS.find(([pattern]) => pattern.test(type))?.[1];
    if (ending === undefined)
      throw new Error(`${withoutLogin(url)} does not send recordable audio (${type || 'no type'})`);
    const isFramed = ending === 'mp3' || ending === 'mp2' || ending === 'aac';
    if (isSplit && !isFramed) throw new Error(`${ending} cannot be split: only MP3 and AAC can`);
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const named = `${fileText(basename(new URL(url).pathname, extname(url))) || 'stream'}-${time}`;
    const base = isSplit ? (out ?? named) : fileBase(out ?? named, named, ending);
    if (isSplit) mkdirSync(base, { recursive: true });
    const onFile = (path: string, title: string) =>
      process.stdout.write(`${path}${title === '' ? '' : `: ${printable(title)}`}\n`);
    const onCut = () => this.#recorder?.cut();
    this.#recording = new RecordingFiles({
      url: withoutLogin(url),
      base,
      ending,
      isSplit,
      onFile,
      onCut,
      untilMs,
      onEnd,
    });
    return new StreamRecorder(this.#recording, isFramed);
  }
}

/** The path without the extension. @param named the name in an existing folder */
function fileBase(out: string, named: string, ending: string): string {
  if (statSync(out, { throwIfNoEntry: false })?.isDirectory()) return join(out, named);
  return out.replace(new RegExp(`\\.${ending}$`), '');
}

/** A URL for files and messages. */
function withoutLogin(url: string): string {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare.href;
}

const DISK = ['write', 'open', 'rename', 'mkdir', 'close'];

function isDiskError(error: unknown): boolean {
  return DISK.includes(String((error as NodeJS.ErrnoException).syscall));
}
