/** How a question over a link ends where it is not answered: the other end refuses it, or the link is lost. */

import { REFUSALS, Refusal, type RefusalKind, retryLater } from '../base/refusal.js';
import type { RefusedAnswer } from './control.js';

/** The link has ended before the answer: what became of the question is not known. */
export class LinkLost extends Error {
  override readonly name = 'LinkLost';

  constructor() {
    super('the link has ended');
  }
}

const RETRY_SECONDS = 2;

/** What clients are answered where the other end is away. Other errors as they are. */
export function refusalOfLost(error: unknown): unknown {
  return error instanceof LinkLost
    ? retryLater('unavailable', 'A part of the server is being restarted.', RETRY_SECONDS)
    : error;
}

/** An error as plain data: what is not a refusal says nothing of itself. */
export function refusedAnswer(error: unknown): RefusedAnswer {
  if (!(error instanceof Refusal))
    return { kind: 'internal', detail: 'Something went wrong on the server', headers: {} };
  return { kind: error.kind, detail: error.message, headers: error.headers };
}

/** As the other end has refused it. */
export function refusalOf({ kind, detail, headers }: RefusedAnswer): Refusal {
  return new Refusal(Object.hasOwn(REFUSALS, kind) ? (kind as RefusalKind) : 'internal', detail, {
    headers: { ...headers },
  });
}
