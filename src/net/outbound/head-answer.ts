/** A request of ours of whose answer only the head counts. The body is ignored, and read only so that the server can finish. */

import { lookup } from 'node:dns';
import { Outbound, type OutboundRequest } from './outbound.js';

const CONNECTION = { lookup, ca: undefined, headBytes: 16 * 1024 };
const MAX_BODY_BYTES = 64 * 1024;

export interface HeadSink {
  onHead(answer: Outbound): void;
  /** @param safe holds nothing of the URL; undefined: there is only a reason, which may hold the name that was looked up */
  onFailed(safe: string | undefined, reason: string): void;
  /** The connection is closed; the last call, once, also after an abort. */
  onClosed?(): void;
}

/** Begins the request. `onHead` or `onFailed` is called once, and neither after an abort. @returns aborts it; idempotent */
export function askForHead(request: OutboundRequest, timeoutMs: number, sink: HeadSink): () => void {
  let isOver = false;
  const over = (report: () => void) => {
    if (isOver) return;
    isOver = true;
    report();
  };
  let bytes = 0;
  const onBody = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) outbound.abort();
  };
  const outbound = new Outbound(request, CONNECTION, {
    onAnswer: () => {
      outbound.receive({ onBody, onEnd: () => undefined });
      over(() => sink.onHead(outbound));
    },
    onFailed: (reason, code) => over(() => sink.onFailed(code, reason)),
    onClosed: () => {
      clearTimeout(deadline);
      over(() => sink.onFailed('no answer', ''));
      sink.onClosed?.();
    },
  });
  const deadline = setTimeout(() => {
    over(() => sink.onFailed('no answer in time', ''));
    outbound.abort();
  }, timeoutMs);
  outbound.start();
  return () => {
    isOver = true;
    outbound.abort();
  };
}
