/**
 * One call of the listener hook: a form by POST, an answer by its head alone, as Icecast's URL authentication has it. On a connection
 * of its own, so that none that has gone stale in the meantime is taken for a dead hook.
 *
 * 2xx with `icecast-auth-user: 1` is yes, `icecast-auth-timelimit: N` says for how many seconds; 2xx without it, 401 and 403 are no. All else,
 * a redirect too, is no answer: an error page or a wrong URL decides nothing.
 */

import http from 'node:http';
import https from 'node:https';

/** A body says nothing, and is read only so that the other side can finish. */
const MOST_BODY_BYTES = 64 * 1024;
const MOST_HEAD_BYTES = 16 * 1024;

export interface HookAnswer {
  readonly allowed: boolean;
  /** +∞: as long as he likes. */
  readonly limitMs: number;
}

export interface HookOutcome {
  /** Once; what went wrong, where there is no answer, in words that hold nothing of the URL. */
  onAnswered(answer: HookAnswer | string): void;
  /** Once, after it: nothing of the call is left. */
  onOver(): void;
}

/** @param timeoutMs for all of it; what is still open then is cut */
export function callHook(url: string, form: string, timeoutMs: number, outcome: HookOutcome): void {
  let told = false;
  const tell = (answer: HookAnswer | string) => {
    if (told) return;
    told = true;
    outcome.onAnswered(answer);
  };
  const request = (url.startsWith('https:') ? https : http).request(url, {
    method: 'POST',
    agent: false,
    maxHeaderSize: MOST_HEAD_BYTES,
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': Buffer.byteLength(form),
      'User-Agent': 'airsplice',
      Connection: 'close',
    },
  });
  const deadline = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs);
  request.on('response', (response) => {
    tell(answerOf(response));
    let bytes = 0;
    response.on('error', () => undefined);
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MOST_BODY_BYTES) request.destroy();
    });
  });
  request.on('error', ({ code, message }: NodeJS.ErrnoException) => tell(code ?? message));
  request.on('close', () => {
    clearTimeout(deadline);
    tell('no answer');
    outcome.onOver();
  });
  request.end(form);
}

function answerOf({ statusCode = 0, headers }: http.IncomingMessage): HookAnswer | string {
  const no: HookAnswer = { allowed: false, limitMs: 0 };
  if (statusCode === 401 || statusCode === 403) return no;
  if (statusCode < 200 || statusCode > 299) return `status ${statusCode}`;
  if (headers['icecast-auth-user'] !== '1') return no;
  const limit = headers['icecast-auth-timelimit'];
  if (limit === undefined) return { allowed: true, limitMs: Number.POSITIVE_INFINITY };
  if (typeof limit !== 'string' || !/^\d{1,9}$/.test(limit)) return 'a time limit that cannot be read';
  return Number(limit) === 0 ? no : { allowed: true, limitMs: Number(limit) * 1000 };
}
