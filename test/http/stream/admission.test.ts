/** Which listeners are admitted: room in all, of a channel, of an address, elsewhere when there is none; signed URLs; the longest time. */

import { execFileSync } from 'node:child_process';
import { createHmac, createSecretKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../../src/config/load.js';
import { isSigned } from '../../../src/http/stream/signed.js';
import { ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { bestOfThree } from '../../kit/best-of-three.js';
import { leftover } from '../../kit/frame-recorder.js';
import { LoopDelay } from '../../kit/loop-delay.js';
import { Player } from '../../kit/player.js';
import { Random } from '../../kit/random.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';
import { audioOf, streamHead, Upstream } from '../../kit/upstream.js';
import { ask, Wire } from '../../kit/wire.js';

t.jobs = 5;

const [OLD, NEW] = ['the old key, thirty-two bytes long', 'the new key, thirty-two bytes long'];
process.env['SIGNING_KEY_OLD'] = OLD;
process.env['SIGNING_KEY_NEW'] = NEW;
const KEYS = 'signedUrls: { keys: [env:SIGNING_KEY_OLD, env:SIGNING_KEY_NEW] }';

const yaml = (channel: string, extra = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
${extra}
stations:
  house:
    channels:
      demo: { mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }], ${channel} }
      other: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;

/** Comes to listen, over a connection of HTTP's (`kept`) or straight; from another address of this machine's. */
class Client {
  readonly wire: Wire;
  readonly #request: string;
  readonly #kept: boolean;

  constructor(t: Test, port: number, path: string, options: { from?: string; headers?: string; kept?: boolean } = {}) {
    this.wire = new Wire(t, port, options.from === undefined ? {} : { from: options.from });
    this.#request = `GET ${path} HTTP/1.1\r\nHost: x\r\n${options.headers ?? ''}\r\n`;
    this.#kept = options.kept ?? false;
    this.wire.send(this.#kept ? 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' : this.#request);
  }

  get #text(): string {
    return this.#kept ? this.wire.got.slice(this.wire.got.indexOf('ok\n') + 3) : this.wire.got;
  }

  async status(): Promise<number> {
    if (this.#kept) {
      await this.wire.take(1);
      this.wire.send(this.#request);
    }
    await until(
      () => this.#text.includes('\r\n\r\n'),
      10_000,
      () => this.wire.got.slice(0, 300),
    );
    return Number(this.#text.split(' ')[1]);
  }

  head(name: string): string | undefined {
    const line = this.#text.split('\r\n').find((each) => each.toLowerCase().startsWith(`${name}: `));
    return line?.slice(name.length + 2);
  }

  leave(): void {
    this.wire.socket.destroy();
  }
}

async function listeners(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(/^airsplice_listeners\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}

t.test('room: of a channel, in all and of an address; at each limit and one past it', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('maxListeners: 2', 'limits: { listeners: 5, listenersPerAddress: 3 }'));
  const come = (path: string, from = '127.0.0.1') => new Client(t, port, path, { from });
  const all = [come('/demo.mp3'), come('/demo')];
  for (const client of all) t.equal(await client.status(), 200);
  const third = come('/demo.mp3', '127.0.0.2');
  t.equal(await third.status(), 503, 'one past the channel');
  t.equal(third.head('retry-after'), '30');
  t.match(third.wire.got, /This channel has no room/);

  const other = come('/other');
  t.equal(await other.status(), 200);
  const fourth = come('/other');
  t.equal(await fourth.status(), 503, 'one past the address');
  t.match(fourth.wire.got, /Too many listeners from this address/);
  for (const client of [come('/other', '127.0.0.2'), come('/other', '127.0.0.2')]) t.equal(await client.status(), 200);
  const sixth = come('/other', '127.0.0.3');
  t.equal(await sixth.status(), 503, 'one past all');
  t.match(sixth.wire.got, /This server has no room/);

  other.leave();
  await until(async () => (await listeners(port)) === 4, 5000);
  t.equal(await come('/other').status(), 200, 'a place that was given back, of the address and in all');
  const full = await ask(t, port, 'HEAD /demo HTTP/1.1');
  t.same([full.status, full.headers.get('retry-after')], [503, '30'], 'a HEAD is answered as a GET');
  all[0]!.leave();
  await until(async () => (await listeners(port)) === 4, 5000);
  for (let i = 0; i < 3; i++) t.equal((await ask(t, port, 'HEAD /demo HTTP/1.1')).status, 200);
  t.equal(await listeners(port), 4, 'and takes no place');
});

t.test('places of those who never played are given back', { buffered: true }, async (t) => {
  const silent = 'sources: [{ type: encoder, password: demo-source }]';
  const text = yaml('', 'limits: { listenersPerAddress: 2 }\nstreams: { startTimeoutSeconds: 0.3 }').replace(
    /other: .*/,
    `other: { ${silent} }`,
  );
  const { port } = await startServer(t, text);
  for (let i = 0; i < 3; i++) {
    const guests = [new Client(t, port, '/other'), new Client(t, port, '/other', { kept: true })];
    if (i === 1) for (const client of guests) client.leave();
    else for (const client of guests) t.equal(await client.status(), 503);
    await until(async () => (await listeners(port)) === 0, 5000);
  }
  // The place of an address is free a moment after the count falls: with its connection.
  const comes = async () => (await new Client(t, port, '/demo').status()) === 200;
  for (let i = 0; i < 2; i++) await until(comes, 5000, () => 'a place is not given back');
  t.equal(await new Client(t, port, '/demo').status(), 503);
});

t.test('no room: another node, the query goes along', { buffered: true }, async (t) => {
  const one = await startServer(
    t,
    yaml(
      'maxListeners: 1',
      'streams: { overflowUrl: "https://two.example/{mount}" }\nlimits: { listeners: 2, listenersPerAddress: 2 }',
    ),
  );
  const sent = async (path: string, kept = false) => {
    const client = new Client(t, one.port, path, { kept });
    return `${await client.status()} ${client.head('location')} ${client.head('access-control-allow-origin')} ${client.head('cache-control')}`;
  };
  t.equal(await new Client(t, one.port, '/demo').status(), 200);
  for (const kept of [false, true]) {
    t.equal(await sent('/demo.mp3?metaid=a%20b&x', kept), '302 https://two.example/demo.mp3?metaid=a%20b&x * no-store');
    t.equal(await sent('/demo', kept), '302 https://two.example/demo * no-store');
  }
  t.equal(
    await sent('/demo?a b\xfc'),
    '302 https://two.example/demo?a%20b%C3%BC * no-store',
    'only what a URL may hold',
  );
  t.equal(await new Client(t, one.port, '/other').status(), 200);
  t.equal(await sent('/other'), '302 https://two.example/other * no-store', 'the server is full');

  const own = await startServer(
    t,
    yaml(
      'maxListeners: 1, overflowUrl: "http://three.example/x?from=one"',
      'streams: { overflowUrl: "https://two.example/" }',
    ),
  );
  t.equal(await new Client(t, own.port, '/demo').status(), 200);
  const client = new Client(t, own.port, '/demo?metaid=m');
  t.equal(await client.status(), 302);
  t.equal(client.head('location'), 'http://three.example/x?from=one&metaid=m', "the channel's own comes first");

  const named = await startServer(
    t,
    yaml('maxListeners: 1', 'streams: { overflowUrl: "https://zwei.радио.example/ü/{mount}" }'),
  );
  t.equal(await new Client(t, named.port, '/demo').status(), 200);
  for (const kept of [false, true]) {
    const sentOn = new Client(t, named.port, '/demo.mp3?a', { kept });
    t.equal(await sentOn.status(), 302);
    t.equal(
      sentOn.head('location'),
      'https://zwei.xn--80aimyg.example/%C3%BC/demo.mp3?a',
      'names of hosts with letters of their own',
    );
  }

  const target = await startServer(t, yaml(''));
  const full = await startServer(t, yaml('maxListeners: 1', `streams: { overflowUrl: "${target.base}/{mount}" }`));
  t.equal(await new Client(t, full.port, '/demo').status(), 200);
  const response = await fetch(`${full.base}/demo.mp3`);
  t.equal(response.url, `${target.base}/demo.mp3`, 'a client follows');
  t.equal(response.status, 200);
  await response.body!.cancel();
});

t.test('the longest time: of the channel, ended politely within a tenth of it', { buffered: true }, async (t) => {
  const { port } = await startServer(
    t,
    yaml('maxListenSeconds: 4, metaint: 4000', 'streams: { maxListenSeconds: 3600 }'),
  );
  const other = new Player(port, '/other');
  t.teardown(() => other.close());
  let stories = 0;
  const lastMs = await bestOfThree(4500, async () => {
    stories++;
    const late = new LoopDelay(t);
    const startMs = performance.now();
    const players = Array.from({ length: 20 }, (_, i) => new Player(port, '/demo', { icy: i % 2 === 0, keep: true }));
    for (const player of players) t.teardown(() => player.close());
    await Promise.all(players.map((player) => player.until((p) => p.firstByteMs > 0)));
    const ended = await Promise.all(
      players.map(async (player) => {
        await player.until((p) => p.closed, 20_000);
        return performance.now() - startMs;
      }),
    );
    t.ok(Math.min(...ended) > 3500, `${ended.map(Math.round)}`);
    for (const { audio } of players) t.equal(leftover(audio), 0, 'with a whole frame');
    const areSpread = Math.max(...ended) - Math.min(...ended) > 20;
    return areSpread ? Math.max(...ended) - late.totalMs : Number.POSITIVE_INFINITY;
  });
  t.ok(lastMs < 4500, `not all at once; the last after ${Math.round(lastMs)} ms`);
  t.notOk(other.closed);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  t.match(text, new RegExp(`^airsplice_listener_endings_total\\{reason="overtime"\\} ${20 * stories}$`, 'm'));
});

t.test('an address that is blocked while its listener waits is not let in', { buffered: true }, async (t) => {
  const asked: http.ServerResponse[] = [];
  let ended = 0;
  const hook = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (body.includes('action=listener_add')) asked.push(response);
      else {
        ended++;
        response.end();
      }
    });
  });
  await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
  t.teardown(() => hook.close());
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  const options = `listenerHook: { url: '${url}', timeoutSeconds: 60 }
streams: { startTimeoutSeconds: 60, hls: { enabled: true, segmentSeconds: 5 } }
${ADMIN_USERS}`;
  const upstream = await Upstream.open(t);
  const pull = `sources: [{ type: pull, url: '${upstream.url}', allowPrivate: true, connectTimeoutSeconds: 60 }]`;
  const text = yaml('access: hook', options).replace(/other: .*/, `other: { ${pull} }`);
  const server = await startServer(t, text);
  const { port } = server;
  const paths = ['/demo', '/demo.mp3/hls.m3u8?metaid=a', '/other', '/other/hls.m3u8?metaid=a'];
  const come = (from: string) => [
    ...paths.map((path) => new Client(t, port, path, { from })),
    new Client(t, port, '/demo.mp3', { from, kept: true }),
  ];
  const all = ['127.0.0.2', '127.0.0.3'].map(come);
  const statuses = Promise.all(all.map((clients) => Promise.all(clients.map((client) => client.status()))));
  await until(() => asked.length === 6, 10_000);
  await until(async () => (await listeners(port)) === 10, 10_000);
  t.equal((await new AdminClient(server).post('blocks', { network: '127.0.0.2', seconds: 60 })).status, 201);
  for (const response of asked) response.writeHead(200, { 'icecast-auth-user': '1' }).end();
  upstream.sockets[0]!.write(streamHead());
  upstream.sockets[0]!.write(audioOf(new Random(), 600));
  t.strictSame(await statuses, [Array(5).fill(403), Array(5).fill(200)]);
  await until(async () => (await listeners(port)) === 5, 10_000);
  await until(
    () => ended === 3,
    10_000,
    () => `the hook hears of ${ended} ends`,
  );
});

const signed = (key: string, path: string, expires: number | string) =>
  `?expires=${expires}&sig=${createHmac('sha256', key).update(`${path}\n${expires}`).digest('hex')}`;

t.test("the longest time: the less of the channel's and the hook's", { buffered: true }, async (t) => {
  const hook = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const timelimit = body.includes('demo') ? '3600' : '1';
      response.writeHead(200, { 'icecast-auth-user': '1', 'icecast-auth-timelimit': timelimit }).end();
    });
  });
  await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
  t.teardown(() => hook.close());
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  const both = 'access: hook, maxListenSeconds: 1 }\n      longer: { access: hook, maxListenSeconds: 3600';
  const channels = `${both}, sources: [{ type: file, path: ${DEMO_AUDIO} }]`;
  const { port } = await startServer(t, yaml(channels, `listenerHook: { url: '${url}' }`));
  const players = ['/demo', '/longer'].map((path) => new Player(port, path));
  for (const player of players) t.teardown(() => player.close());
  for (const player of players) {
    await player.until((p) => p.audioBytes > 0);
    await player.until((p) => p.closed, 10_000);
  }
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  t.match(text, /^airsplice_listener_endings_total\{reason="overtime"\} 2$/m);
});

t.test('signed URLs: both keys, until they expire, for their path alone', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('access: signed', KEYS));
  const later = Math.floor(Date.now() / 1000) + 60;
  const status = (query: string, path = '/demo.mp3', kept = false) =>
    new Client(t, port, `${path}${query}`, { kept }).status();
  for (const key of [OLD, NEW]) t.equal(await status(signed(key, '/demo.mp3', later)), 200);
  t.equal(await status(signed(NEW, '/demo.mp3', later), '/demo.mp3', true), 200, 'also by HTTP');
  t.equal(await status(`${signed(NEW, '/demo.mp3', later)}&metaid=mine`), 200, 'more may stand beside it');
  t.equal((await ask(t, port, `HEAD /demo${signed(NEW, '/demo', later)} HTTP/1.1`)).status, 200);
  t.equal(await status('', '/other'), 200, 'other channels are open');

  const answers = new Set<string>();
  const good = signed(NEW, '/demo.mp3', later);
  const wrong = {
    nothing: '',
    'no signature': `?expires=${later}`,
    'no expiry': good.replace(/expires=\d+&/, ''),
    'another path': signed(NEW, '/demo', later),
    'another key': signed('another key, thirty-two bytes long.', '/demo.mp3', later),
    'a later expiry': good.replace(String(later), String(later + 1)),
    'one digit': good.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
    'one digit less': good.slice(0, -1),
    'one digit more': `${good}0`,
    expired: signed(NEW, '/demo.mp3', later - 61),
    'no number': signed(NEW, '/demo.mp3', '1e12'),
    negative: signed(NEW, '/demo.mp3', -1),
    'an empty expiry': signed(NEW, '/demo.mp3', ''),
  };
  for (const [name, query] of Object.entries(wrong)) {
    const answer = await ask(t, port, `GET /demo.mp3${query} HTTP/1.1`);
    t.equal(answer.status, 403, name);
    answers.add(answer.body);
    t.equal((await ask(t, port, `HEAD /demo.mp3${query} HTTP/1.1`)).status, 403, `HEAD: ${name}`);
  }
  t.equal(answers.size, 1, 'no client learns why');
  t.match([...answers][0], /"type":"urn:airsplice:problem:not-admitted"/);
  t.equal((await ask(t, port, 'OPTIONS /demo.mp3 HTTP/1.1')).status, 204);
});

t.test('a signature holds to the second, and no other bytes are one', { buffered: true }, async (t) => {
  const keys = [createSecretKey(OLD, 'utf8'), createSecretKey(NEW, 'utf8')];
  const query = (text: string) => new URLSearchParams(text);
  const good = signed(NEW, '/x', 1000);
  t.equal(isSigned(keys, '/x', query(good), 999_999), true);
  t.equal(isSigned(keys, '/x', query(good), 1_000_000), false);
  t.equal(isSigned(keys, '/x', query(good.toUpperCase().replace('EXPIRES', 'expires').replace('SIG', 'sig')), 0), true);
  t.equal(isSigned([], '/x', query(good), 0), false);
  const random = new Random();
  for (let i = 0; i < 5000; i++) {
    const at = random.int(1, good.length - 1);
    const other = good.slice(0, at) + String.fromCharCode(random.int(33, 126)) + good.slice(at + 1);
    if (other.toLowerCase() !== good && isSigned(keys, '/x', query(other), 0)) t.fail(`seed ${random.seed}: ${other}`);
  }
});

t.test('the lines of the README make a URL that is let in', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('access: signed', KEYS));
  const script = `mount=/demo.mp3 expires=$(($(date +%s) + 3600))
sig=$(printf '%s\\n%s' "$mount" "$expires" | openssl dgst -sha256 -hmac "$KEY" -r | cut -d ' ' -f 1)
printf %s "$mount?expires=$expires&sig=$sig"`;
  const url = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { ...process.env, KEY: NEW } });
  t.equal(await new Client(t, port, url).status(), 200, url);
});

t.test('what guards a channel has to be there', { buffered: true }, async (t) => {
  const path = join(tempFolder(t), 'config.yaml');
  const problem = (text: string, env: NodeJS.ProcessEnv = process.env) => {
    writeFileSync(path, text);
    try {
      loadConfig(path, env);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.equal(problem(yaml('access: signed', KEYS)), '');
  t.match(problem(yaml('access: signed')), /channels\.demo\.access: needs the options of signedUrls/);
  t.match(problem(yaml('access: hook')), /channels\.demo\.access: needs the options of listenerHook/);
  t.match(problem(yaml('access: member')), /must be one of: open, hook, signed/);
  const short = { SIGNING_KEY_OLD: OLD, SIGNING_KEY_NEW: 'x'.repeat(31) };
  t.match(problem(yaml('', KEYS), short), /keys\[1\]: must be env: and the name of .* at least 32 characters/);
  t.notMatch(problem(yaml('', KEYS), short), /xxx/);
  t.match(problem(yaml('', `signedUrls: { keys: ['${OLD}'] }`)), /keys\[0\]: must be env:/);
  t.match(problem(yaml('', 'signedUrls: { keys: [] }')), /keys: must be a list of 1 to 2/);
  t.match(problem(yaml('', 'streams: { overflowUrl: "{mount}" }')), /overflowUrl: must be an http/);
});
