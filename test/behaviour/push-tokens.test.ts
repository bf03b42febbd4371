/** Tokens of pushes: the bearer form beside the path form, rotation of tokens, and that a stranger cannot find out what is wrong. */

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ChannelRules } from '../../src/channel/rules.js';
import { loadConfig } from '../../src/config/load.js';
import { parseSecret } from '../../src/config/secret.js';
import { Pushes, type PushParts } from '../../src/titles/pushes.js';
import { costRatio } from '../kit/cost.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { type Answer, ask, Wire } from '../kit/wire.js';

const digest = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
/** Nothing but the tokens differs. */
const yaml = (tokens: readonly string[]) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
      demo: { pushTokens: [${tokens.map((token) => `'${digest(token)}'`).join(', ')}], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      quiet: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;

const bearer = (t: Test, port: number, token: string, song = 'x', method = 'GET') =>
  ask(t, port, `${method} /metapush/demo?song=${song} HTTP/1.1\nAuthorization: Bearer ${token}`);
const byPath = (t: Test, port: number, token: string, song = 'x') =>
  ask(t, port, `GET /metapush/demo/${encodeURIComponent(token)}?song=${song} HTTP/1.1`);

async function now(t: Test, port: number): Promise<string | undefined> {
  const answer = await ask(t, port, 'GET /metadata/channel/demo.json HTTP/1.1');
  return answer.status === 204 ? undefined : answer.json().song;
}

t.test('GET and POST with a bearer token push as with the token in the path', async (t) => {
  const { port } = await startServer(t, yaml(['one', 'zwei ü/x']));
  const got = await bearer(t, port, 'one', 'A');
  t.equal(got.status, 200, got.body);
  t.equal(await now(t, port), 'A');
  t.equal(got.headers.get('cache-control'), 'no-store');

  const post = (authorization: string, body: string) =>
    ask(
      t,
      port,
      `POST /metapush/demo HTTP/1.1\n${authorization}\nContent-Type: application/json\nContent-Length: ${Buffer.byteLength(body)}`,
      body,
    );
  const posted = await post('Authorization: bearer  one', '{"song":"B","artist":"b","duration":9}');
  t.equal(posted.status, 200, posted.body);
  t.strictSame(Object.keys(posted.json()), Object.keys(got.json()), 'the same record');
  t.equal(await now(t, port), 'B');

  const utf8 = Buffer.from('Authorization: Bearer zwei ü/x').toString('latin1');
  t.equal((await post(utf8, '{"song":"C","artist":"","duration":0}')).status, 200, 'any text can be a token');
  t.equal((await post('Authorization: Bearer one', '{"song":"D"}')).status, 422, 'the rest is judged as ever');
  t.equal((await post('Authorization: Bearer no', '{')).status, 403, 'but not before the token');
  t.equal(await now(t, port), 'C');
});

t.test('missing, wrong, of another kind, for an unknown channel: one and the same 403', async (t) => {
  const { port } = await startServer(t, yaml(['one']));
  const headers = [
    'X-None: 1',
    'Authorization: Bearer',
    'Authorization: Bearer ',
    'Authorization: Bearer wrong',
    'Authorization: Bearer one two',
    'Authorization: Bearer oneone',
    'Authorization: Bearerone',
    'Authorization: one',
    `Authorization: Basic ${Buffer.from('one:one').toString('base64')}`,
  ];
  const paths = ['/metapush/demo', '/metapush/demo/', '/metapush/quiet', '/metapush/nobody', '/metapush/DEMO'];
  const answers: Answer[] = [];
  for (const head of headers) answers.push(await ask(t, port, `GET ${paths[0]}?song=x HTTP/1.1\n${head}`));
  for (const path of paths)
    answers.push(await ask(t, port, `GET ${path}?song=x HTTP/1.1\nAuthorization: Bearer wrong`));
  for (const path of paths.slice(2))
    answers.push(await ask(t, port, `GET ${path} HTTP/1.1\nAuthorization: Bearer one`));
  for (const path of paths.slice(2)) answers.push(await ask(t, port, `POST ${path} HTTP/1.1\nContent-Length: 0`));
  const byPath = await ask(t, port, 'GET /metapush/nobody/wrong HTTP/1.1');
  for (const answer of [...answers, byPath]) {
    t.equal(answer.status, 403);
    t.equal(answer.body, byPath.body);
  }
  t.equal(answers[0]!.headers.get('www-authenticate'), 'Bearer');
  t.equal(byPath.headers.get('www-authenticate'), undefined, 'there the token has no head to stand in');
  t.equal(
    (await ask(t, port, 'GET /metapush/demo/wrong HTTP/1.1\nAuthorization: Bearer one')).status,
    403,
    'a token in the path is the token',
  );
  t.equal(await now(t, port), undefined, 'nothing was applied');
});

t.test('a token whose last byte looks like a blank, and a head made to be read slowly', async (t) => {
  const { port } = await startServer(t, yaml(['voilà']));
  // Not by `ask`, which trims what it sends.
  const status = async (token: string) => {
    const head = `GET /metapush/demo?song=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    return (await new Wire(t, port).send(head).take(1))[0]!.status;
  };
  t.equal(await status(Buffer.from('voilà').toString('latin1')), 200, 'à ends with the no-break space of Latin-1');
  t.equal(await status('voil\xc3'), 403);
  const refuses = (byte: string) => async () => t.equal(await status(`${byte.repeat(30_000)}\xa0`), 403);
  const ratio = await costRatio(8, refuses(' '), refuses('x'), () => performance.now());
  t.ok(ratio < 8, `${ratio} times as long as any other`);
});

t.test('the bytes for an unknown channel and a wrong token are equal', async (t) => {
  const { port } = await startServer(t, yaml(['one']));
  const bytes = ({ status, headers, body }: Answer) => [status, [...headers].filter(([name]) => name !== 'date'), body];
  const known = await ask(t, port, 'GET /metapush/demo/wrong?song=x HTTP/1.1');
  for (const path of ['/metapush/nobody/wrong', '/metapush/quiet/wrong', '/metapush/nobody/one']) {
    t.strictSame(bytes(await ask(t, port, `GET ${path}?song=x HTTP/1.1`)), bytes(known), path);
  }
});

t.test('other methods are 405 and push nothing', async (t) => {
  const { port } = await startServer(t, yaml(['one']));
  for (const method of ['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const answer = await bearer(t, port, 'one', 'x', method);
    t.equal(answer.status, 405, method);
    t.equal(answer.headers.get('allow'), 'GET, POST');
  }
  t.equal(await now(t, port), undefined);
});

t.test('a token is replaced without a gap: old, both, new', async (t) => {
  const folder = tempFolder(t);
  const rounds: [tokens: string[], old: number, fresh: number][] = [
    [['old'], 200, 403],
    [['old', 'new'], 200, 200],
    [['new'], 403, 200],
  ];
  for (const [tokens, old, fresh] of rounds) {
    const server = await startServer(t, yaml(tokens), folder);
    for (const form of [bearer, byPath]) {
      t.equal((await form(t, server.port, 'old', `${tokens}`)).status, old, `${tokens}: old`);
      t.equal((await form(t, server.port, 'new', `${tokens}`)).status, fresh, `${tokens}: new`);
    }
    t.equal(await now(t, server.port), `${tokens}`);
    await server.app.stop();
  }
  const path = join(folder, 'three.yaml');
  writeFileSync(path, yaml(['a', 'b', 'c']));
  t.throws(() => loadConfig(path, {}), /pushTokens: must be a list of 0 to 2 items/, 'never three');
});

t.test('the digest of nothing, as an unset variable in a shell makes it, is no secret', async (t) => {
  t.match(parseSecret(digest(''), {}), { problem: /empty text/ });
  t.match(parseSecret('env:X', { X: digest('') }), { problem: /empty text/ });
});

t.test('finding out takes the same time for unknown channels, wrong tokens and however many tokens', async (t) => {
  const folder = tempFolder(t);
  const path = join(folder, 'config.yaml');
  const single = `      single: { pushTokens: ['${digest('one')}'], sources: [{ type: file, path: ${DEMO_AUDIO} }] }\n`;
  writeFileSync(path, yaml(['one', 'two']) + single);
  const config = loadConfig(path, {});
  const configs = config.stations['house']!.channels;
  t.strictSame(
    Object.values(configs).map(({ pushTokens }) => pushTokens.length),
    [2, 0, 1],
  );
  const channels = new Map(
    Object.entries(configs).map(([key, channel]) => [key, { rules: new ChannelRules(key, channel, config) }]),
  );
  const pushes = new Pushes({ channels } as unknown as PushParts);
  t.equal(pushes.authorizes('demo', 'two'), true);

  const cases = ['demo', 'single', 'quiet', 'nobody', 'demo two'];
  const tookNs = new Map<string, number[]>(cases.map((name) => [name, []]));
  // In turns, so that whatever else this machine does befalls all alike; the first rounds only warm up.
  for (let round = -500; round < 500; round++) {
    for (const name of cases) {
      const [channel, token = 'wrong-token'] = name.split(' ') as [string, string?];
      const startNs = process.hrtime.bigint();
      for (let i = 0; i < 10; i++) pushes.authorizes(channel, token);
      const ns = Number(process.hrtime.bigint() - startNs);
      if (round >= 0) tookNs.get(name)!.push(ns);
    }
  }
  const median = (name: string) => tookNs.get(name)!.sort((a, b) => a - b)[250]!;
  const demoNs = median('demo');
  for (const name of cases) {
    const ratio = median(name) / demoNs;
    t.ok(ratio > 0.6 && ratio < 1.7, `${name}: ${ratio.toFixed(2)} times a wrong token's ${demoNs / 10} ns`);
  }
});
