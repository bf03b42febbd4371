/** `npm run token`: what it prints works as it stands, once, and a channel key that cannot be one is refused. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import t from 'tap';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { ask } from '../kit/wire.js';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(...args: readonly string[]): Promise<Ran> {
  // Without the test runner's own hooks, which triple the time to start.
  const env = { ...process.env, NODE_OPTIONS: '' };
  return new Promise((resolve) => {
    execFile('npm', ['run', '-s', 'token', '--', ...args], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

t.test('the token and its digest: the one pushes where the other is configured', async (t) => {
  const [first, second] = await Promise.all([run('wave-live'), run('wave-live')]);
  t.equal(first.code, 0, first.err);
  const token = /^ {4}([A-Za-z0-9_-]+)$/m.exec(first.out)?.[1] ?? '';
  t.equal(Buffer.from(token, 'base64url').length, 32, '256 random bits');
  t.equal(first.out.split(token).length, 2, 'shown once');
  const line = /^ {4}pushTokens:\n {6}- (sha256:[0-9a-f]{64})$/m.exec(first.out)?.[1];
  t.equal(line, `sha256:${createHash('sha256').update(token).digest('hex')}`);
  t.match(first.out, 'wave-live');
  t.notOk(second.out.includes(token), 'fresh each time');

  const { port } = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { wave: { channels: { wave-live: { pushTokens: ['${line}'], sources: [{ type: file, path: ${DEMO_AUDIO} }] } } } }
`,
  );
  t.equal((await ask(t, port, `GET /metapush/wave-live/${token}?song=x HTTP/1.1`)).status, 200);
  t.equal((await ask(t, port, `GET /metapush/wave-live?song=x HTTP/1.1\nAuthorization: Bearer ${token}`)).status, 200);
  t.equal((await ask(t, port, `GET /metapush/wave-live/${line}?song=x HTTP/1.1`)).status, 403);
});

t.test('no channel, a malformed one, two of them, an option: usage and exit code 2', async (t) => {
  const wrong = [[], [''], ['a/b'], ['ü'], ['x'.repeat(65)], ['a', 'b'], ['--force', 'a']];
  for (const args of wrong) {
    const { code, out, err } = await run(...args);
    t.equal(code, 2, args.join(' '));
    t.equal(out, '', 'no token is made');
    t.match(err, /usage: npm run token -- CHANNEL/);
  }
});

t.test('the longest channel key is fine', async (t) => {
  t.equal((await run('x'.repeat(64))).code, 0);
});
