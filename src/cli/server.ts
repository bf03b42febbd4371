/** Requests of commands to a running server. */

import { Agent, type Dispatcher, request, WebSocket } from 'undici';
import { printable } from '../base/printable.js';
import { messageOf } from '../net/outbound/message-of.js';
import { type CommandLine, textOf, UsageError } from './command.js';

/** Where a server listens by default. */
const DEFAULT_URL = 'http://127.0.0.1:8000';
/** Our events are shorter. */
const EVENT_CHARACTERS = 1024 * 1024;
/** Maximum of a response that is read whole: the metrics of a thousand channels take a few MB. */
const ANSWER_BYTES = 64 * 1024 * 1024;
/** A refusal in words is one sentence. */
const REFUSAL_BYTES = 500;
const ANSWER_MS = 10_000;

/** Names the server if `--url` is not given. */
const URL_VARIABLE = 'AIRSPLICE_URL';

/** The server of `--url`, else of the environment, else the default, without a trailing slash. Throws UsageError. */
export function serverUrl(line: CommandLine): string {
  const given = textOf(line, 'url');
  if (given !== undefined) return urlOf(given, '--url');
  return urlOf(process.env[URL_VARIABLE] || DEFAULT_URL, URL_VARIABLE);
}

/** A URL without a trailing slash. Throws UsageError. @param what names it in the error */
export function urlOf(url: string, what: string): string {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(`${what} must be an http:// or https:// URL`);
  return url.replace(/\/+$/, '');
}

export type AskOptions = Partial<Dispatcher.RequestOptions> & {
  readonly signal: AbortSignal;
  readonly dispatcher?: Dispatcher;
};

/** A response of any status, whose body may be endless. Rejects if the server cannot be reached, or refuses in words. */
export async function ask(url: string, options: AskOptions) {
  const asking = request(url, { bodyTimeout: 0, ...options } as Parameters<typeof request>[1]);
  const answer = await asking.catch((error: unknown) => {
    throw serverError(url, 'cannot be reached', error);
  });
  if (!isRefusedInWords(answer)) return answer;
  const text = await answer.body.text().catch(() => '');
  throw serverError(url, `refuses: ${printable(text.trim())}`);
}

/** A refusal before the request was parsed, such as at an address for proxies (net/front/refuse.ts); other refusals are JSON. */
function isRefusedInWords({ statusCode, headers }: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>): boolean {
  const length = Number(headers['content-length']);
  return statusCode === 400 && /^text\/plain/.test(String(headers['content-type'])) && length <= REFUSAL_BYTES;
}

/** @param what the server did, as the end of the sentence */
export function serverError(url: string, what: string, cause?: unknown): Error {
  const reason = cause === undefined ? '' : `: ${messageOf(cause)}`;
  return new Error(`the server at ${new URL(url).origin} ${what}${reason}`, { cause });
}

/** A response that was read whole. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A response of bounded size; rejects after ANSWER_MS. */
export async function answerOf(
  url: string,
  signal: AbortSignal,
  options: Partial<AskOptions> = {},
): Promise<WholeAnswer> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  const { statusCode, headers, body } = await ask(url, { ...options, signal: limit });
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw serverError(url, 'closed the connection before completing its answer', error);
  }
  if (bytes > ANSWER_BYTES) throw serverError(url, 'sends an endless answer');
  return { status: statusCode, headers, text: Buffer.concat(chunks).toString() };
}

/** The stations that a server lists, unchecked. Throws if there is no list: another program or a proxy answers. */
export function stationsOf(url: string, { status, text }: WholeAnswer): readonly unknown[] {
  const listed = status === 200 ? readJson(text) : null;
  if (!Array.isArray(listed)) throw serverError(url, `lists no stations (${status})`);
  return listed;
}

/** A response of this machine, whose certificate is not verified. */
export async function ownAnswer(url: string, signal: AbortSignal): Promise<WholeAnswer> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    return await answerOf(url, signal, { dispatcher });
  } finally {
    await dispatcher.destroy();
  }
}

/** Whether a WebSocket can be opened. */
export function opensWebSocket(url: string, signal: AbortSignal): Promise<boolean> {
  const socket = new WebSocket(url);
  return new Promise<boolean>((resolve) => {
    socket.addEventListener('open', () => resolve(true));
    socket.addEventListener('error', () => resolve(false));
    socket.addEventListener('close', () => resolve(false));
    signal.addEventListener('abort', () => resolve(false), { once: true });
  }).finally(() => socket.close());
}

/** A response with an endless body; rejects unless it is 200. @param what names the request in the error */
export async function open(what: string, url: string, signal: AbortSignal) {
  const answer = await ask(url, { signal });
  if (answer.statusCode === 200) return answer;
  await answer.body.dump().catch(() => undefined);
  throw serverError(url, `answers ${answer.statusCode} for ${what}`);
}

/** Null: not JSON, such as the answer of a proxy. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The parsed data of server-sent events; null: not JSON. Rejects for another content type; iterating throws if the stream is cut off. */
export async function openEvents(what: string, url: string, signal: AbortSignal): Promise<AsyncGenerator<unknown>> {
  const { headers, body } = await open(what, url, signal);
  const type = String(headers['content-type']);
  if (type.startsWith('text/event-stream')) return eventsOf(url, body);
  body.destroy();
  throw serverError(url, `does not answer with events for ${what} (${type})`);
}

async function* eventsOf(url: string, body: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of untilCut(url, body)) {
    const events = (text + decoder.decode(chunk, { stream: true })).split('\n\n');
    text = events.pop()!.slice(-EVENT_CHARACTERS);
    for (const event of events) {
      const data = /^data: ?(.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield readJson(data);
    }
  }
}

/** A body; if it is cut off, the error names the server. */
export async function* untilCut(url: string, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw serverError(url, 'closed the connection', error);
  }
}
