/** `airsplice token`: what it prints works as it stands, once, and a channel key that cannot be one is refused. */

import { createHash } from 'node:crypto';
import t from 'tap';
import { airsplice, runProgram } from '../kit/command-line.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { ask } from '../kit/wire.js';

const npmRun = (...args: readonly string[]) => runProgram('npm', ['run', '-s', 'token', '--', ...args]);
/** The same without npm, in a third of the time. */
const token = (...args: readonly string[]) => airsplice(['token', ...args]);

t.test('the token and its digest: the one pushes where the other is configured', async (t) => {
  const [first, second] = await Promise.all([npmRun('wave-live'), npmRun('wave-live')]);
  t.equal(first.code, 0, first.err);
  const made = /^ {4}([A-Za-z0-9_-]+)$/m.exec(first.out)?.[1] ?? '';
  t.equal(Buffer.from(made, 'base64url').length, 32, '256 random bits');
  t.equal(first.out.split(made).length, 2, 'shown once');
  const line = /^ {4}pushTokens:\n {6}- (sha256:[0-9a-f]{64})$/m.exec(first.out)?.[1];
  t.equal(line, `sha256:${createHash('sha256').update(made).digest('hex')}`);
  t.match(first.out, 'wave-live');
  t.notOk(second.out.includes(made), 'fresh each time');

  const { port } = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { wave: { channels: { wave-live: { pushTokens: ['${line}'], sources: [{ type: file, path: ${DEMO_AUDIO} }] } } } }
`,
  );
  t.equal((await ask(t, port, `GET /metapush/wave-live/${made}?song=x HTTP/1.1`)).status, 200);
  t.equal((await ask(t, port, `GET /metapush/wave-live?song=x HTTP/1.1\nAuthorization: Bearer ${made}`)).status, 200);
  t.equal((await ask(t, port, `GET /metapush/wave-live/${line}?song=x HTTP/1.1`)).status, 403);
});

t.test('no channel, a malformed one, two of them, an option: usage and exit code 2', async (t) => {
  const wrong = [[], [''], ['a/b'], ['ü'], ['x'.repeat(65)], ['a', 'b'], ['--force', 'a']];
  for (const args of wrong) {
    const { code, out, err } = await token(...args);
    t.equal(code, 2, args.join(' '));
    t.equal(out, '', 'no token is made');
    t.match(err, /usage: (?:npx airsplice|node \S+) token CHANNEL/);
  }
});

t.test('the longest channel key is fine', async (t) => {
  t.equal((await token('x'.repeat(64))).code, 0);
});
