/** Pushes over HTTP for several test files: a server's configuration, pushes by GET and POST, the polled record, a check of problems. */

import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import { type Answer, ask } from './wire.js';

/** Digest of the token `second token/ü`, which must be percent-encoded in a path. */
export const SECOND = createHash('sha256').update('second token/ü').digest('hex');
export const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    timezone: Europe/Zurich
    channels:
      demo: { name: Demo Channel, pushTokens: [demo-token, 'sha256:${SECOND}'], sources: [{ type: encoder, password: demo-source }] }
      quiet: { sources: [{ type: encoder, password: demo-source }] }
`;
export const FIELDS = [
  'time start start_timestamp duration song artist code channelkey channel timezone id userplayout separator etype',
  'album type isrc',
]
  .join(' ')
  .split(' ');
export const PATH = '/metapush/demo/demo-token';
export const FULL = { song: 'Song', artist: 'Artist', duration: 200 };

export const get = (t: Test, port: number, query: string) => ask(t, port, `GET ${PATH}${query} HTTP/1.1`);

export function post(t: Test, port: number, body: unknown, type = 'application/json', path = PATH): Promise<Answer> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const head = `POST ${path} HTTP/1.1\nContent-Length: ${bytes.length}`;
  return ask(t, port, type === '' ? head : `${head}\nContent-Type: ${type}`, bytes);
}

/** The polled record; undefined: none. */
export async function now(t: Test, port: number) {
  const answer = await ask(t, port, 'GET /metadata/channel/demo.json HTTP/1.1');
  return answer.status === 204 ? undefined : answer.json();
}

export function isProblem(t: Test, answer: Answer, status: number, fields: readonly string[] = []): void {
  const body = answer.body.slice(0, 300);
  t.equal(answer.status, status, body);
  t.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  t.equal(answer.headers.get('access-control-allow-origin'), undefined, 'no CORS on pushes');
  t.equal(answer.headers.get('cache-control'), 'no-store');
  const problem = answer.json();
  t.same(Object.keys(problem).slice(0, 4), ['type', 'title', 'status', 'detail']);
  t.equal(problem.status, status);
  t.match(problem.type, /^urn:airsplice:problem:/);
  t.ok(problem.title !== '' && problem.detail !== '');
  t.same(
    [...new Set((problem.errors ?? []).map((error: { field: string }) => error.field))].sort(),
    [...fields].sort(),
    body,
  );
}
