/** A request of ours whose answer is read completely, within limits of time and length. */

import { lookup } from 'node:dns';
import { Outbound, type OutboundRequest } from './outbound.js';

export interface AnswerLimits {
  /** PEM of the trusted authorities; undefined: Node's. */
  readonly ca: Buffer | undefined;
  readonly timeoutMs: number;
  readonly headBytes: number;
  readonly bodyBytes: number;
  readonly signal: AbortSignal;
}

export interface BoundedAnswer {
  readonly status: number;
  /** By name in lower case; one character a byte. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** Rejects with an error whose message may name the host; its `code`, if any, holds no part of the URL. */
export function boundedAnswer(request: OutboundRequest, limits: AnswerLimits): Promise<BoundedAnswer> {
  const { ca, headBytes, bodyBytes, timeoutMs, signal } = limits;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = () => {
      clearTimeout(deadline);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (reason: string, code?: string) => {
      end();
      outbound.abort();
      reject(Object.assign(new Error(reason), { code }));
    };
    const onAbort = () => fail('it was broken off');
    const onBody = (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > bodyBytes) fail(`the answer is longer than ${bodyBytes} bytes`);
    };
    const outbound = new Outbound(
      request,
      { lookup, ca, headBytes },
      {
        onAnswer: () => {
          const onEnd = () => {
            end();
            resolve({ status: outbound.status, headers: outbound.headers, body: Buffer.concat(chunks) });
          };
          outbound.receive({ onBody, onEnd });
        },
        onFailed: fail,
        onClosed: () => fail('no answer'),
      },
    );
    const deadline = setTimeout(() => fail('no answer in time'), timeoutMs);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    outbound.start();
  });
}
