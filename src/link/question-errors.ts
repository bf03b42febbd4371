/** How a request over a link fails: the other end refuses it, or the link is lost. */

import { REFUSALS, Refusal, type RefusalKind, retryLater } from '../base/refusal.js';
import type { RefusedAnswer } from './control-schema.js';

/** The link ended before the answer: the outcome of the request is unknown. */
export class LinkLost extends Error {
  override readonly name = 'LinkLost';

  constructor() {
    super('the link was closed');
  }
}

const RETRY_SECONDS = 2;

/** The answer to clients while the other end is away; other errors unchanged. */
export function refusalOfLost(error: unknown): unknown {
  return error instanceof LinkLost
    ? retryLater('unavailable', 'Part of the server is restarting.', RETRY_SECONDS)
    : error;
}

/** An error as plain data; of one that is not a Refusal no details are sent. */
export function refusedAnswer(error: unknown): RefusedAnswer {
  if (!(error instanceof Refusal))
    return { kind: 'internal', detail: 'Something went wrong on the server', headers: {} };
  return { kind: error.kind, detail: error.message, headers: error.headers };
}

/** The Refusal that the other end has sent. */
export function refusalOf({ kind, detail, headers }: RefusedAnswer): Refusal {
  return new Refusal(Object.hasOwn(REFUSALS, kind) ? (kind as RefusalKind) : 'internal', detail, {
    headers: { ...headers },
  });
}
