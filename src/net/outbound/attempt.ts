/**
 * One attempt to deliver a message (delivery.ts): an HTTP request, or bytes to a TCP or UDP socket. Each has a connection of its own. A redirect
 * counts as a failure, as with the listener hook.
 *
 *   success:   http, https   a status 2xx          tcp, udp   all bytes were sent
 */

import type { KeyObject } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { hostOf } from '../../base/ip.js';
import { askForHead } from './head-answer.js';
import { Target } from './target.js';
import { signatureHeaders } from './webhook-signature.js';

export interface DeliveryMessage {
  /** The same in every attempt, so that a receiver can recognise duplicates. */
  readonly id: string;
  /** http, https, tcp or udp. */
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a request, or all bytes for a socket. */
  readonly body: string | Buffer;
  /** Signs it. Undefined: it has an id and a time, but no signature; null: none of these. */
  readonly key: KeyObject | undefined | null;
}

export interface AttemptOutput {
  /** Unix milliseconds, for the signature. */
  readonly wallMs: number;
  readonly timeoutMs: number;
  /** Judges a final HTTP response: null: success, else why not. Absent: 2xx is success. @param headers by name in lower case */
  judge?(status: number, headers: ReadonlyMap<string, string>): string | null;
  /**
   * Called once, unless the attempt is aborted.
   * @param failure without any part of the URL; null: success @param isFinal retries are pointless @param afterSeconds as the receiver asks; 0: none
   */
  onOver(failure: string | null, isFinal: boolean, afterSeconds: number): void;
}

export interface Attempt {
  /** Idempotent. */
  abort(): void;
}

/** The receiver is gone permanently. */
const GONE = 410;
/** A device that takes lines may leave its connection open: we close it this long after all was sent. */
const LINGER_MS = 250;

/** Begins an attempt. */
export function attempt(message: DeliveryMessage, output: AttemptOutput): Attempt {
  const { protocol } = new URL(message.url);
  if (protocol === 'tcp:') return attemptTcp(message, output);
  if (protocol === 'udp:') return attemptUdp(message, output);
  return attemptHttp(message, output);
}

function attemptHttp({ id, url, method, headers, body, key }: DeliveryMessage, output: AttemptOutput): Attempt {
  const text = body.toString();
  const signed = key === null ? {} : signatureHeaders(key, id, text, output.wallMs);
  const request = {
    target: Target.named(url, undefined, true),
    method,
    headers: { ...headers, 'User-Agent': 'airsplice', ...signed },
    ...(method === 'POST' && { body: text }),
  } as const;
  const abort = askForHead(request, output.timeoutMs, {
    onHead: (answer) => {
      const { status } = answer;
      const judged = output.judge?.(status, answer.headers);
      if (judged !== undefined) output.onOver(judged, false, 0);
      else if (status >= 200 && status <= 299) output.onOver(null, false, 0);
      else output.onOver(`status ${status}`, status === GONE, retryAfter(answer.headers.get('retry-after')));
    },
    onFailed: (safe) => output.onOver(safe ?? 'the connection failed', false, 0),
  });
  return { abort };
}

function attemptTcp({ url, body }: DeliveryMessage, { timeoutMs, onOver }: AttemptOutput): Attempt {
  const { host, port } = targetOf(url);
  const socket = connect({ host, port, noDelay: true });
  let isOver = false;
  let failure: string | null = 'the connection failed';
  let linger: NodeJS.Timeout | undefined;
  const end = () => {
    isOver = true;
    clearTimeout(deadline);
    clearTimeout(linger);
    socket.destroy();
  };
  const deadline = setTimeout(() => {
    failure = 'not accepted in time';
    socket.destroy();
  }, timeoutMs);
  socket.on('connect', () =>
    socket.end(body, () => {
      failure = null;
      clearTimeout(deadline);
      linger = setTimeout(() => socket.destroy(), LINGER_MS);
    }),
  );
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // A reset after the last byte is not a failure: small devices close this way, though they have read the line.
    if (failure !== null) failure = error.code ?? 'the connection failed';
  });
  // Answers are read and ignored.
  socket.resume();
  socket.on('close', () => {
    if (isOver) return;
    end();
    onOver(failure, false, 0);
  });
  return { abort: end };
}

function attemptUdp({ url, body }: DeliveryMessage, { onOver }: AttemptOutput): Attempt {
  const { host, port } = targetOf(url);
  const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4' });
  let isOver = false;
  const over = (error: NodeJS.ErrnoException | null) => {
    if (isOver) return;
    isOver = true;
    socket.close();
    onOver(error === null ? null : (error.code ?? 'not sent'), false, 0);
  };
  socket.on('error', over);
  socket.send(body, port, host, over);
  return {
    abort: () => {
      if (!isOver) socket.close();
      isOver = true;
    },
  };
}

function targetOf(url: string): { readonly host: string; readonly port: number } {
  return { host: hostOf(url), port: Number(new URL(url).port) };
}

/** Seconds; 0: none. Dates are not supported. */
function retryAfter(value: string | undefined): number {
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : 0;
}
