/** The listener hook: the calls that it gets, and what becomes of listeners when it is slow, down, lying or huge. */

import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { Log } from '../../../src/base/log.js';
import { type HookOptions, ListenerHook } from '../../../src/http/hook/hook.js';
import type { HookListener } from '../../../src/http/hook/hook-call.js';
import { FakeClock } from '../../kit/clock.js';
import { alive, heldBytes } from '../../kit/heap.js';
import { LoopDelay } from '../../kit/loop-delay.js';
import { pause } from '../../kit/pause.js';
import { Player } from '../../kit/player.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';
import { ask } from '../../kit/wire.js';

t.jobs = 5;

type Form = Record<string, string>;
type Answering = (form: Form, response: http.ServerResponse) => void;

const YES: Answering = (_, response) => response.writeHead(200, { 'icecast-auth-user': '1' }).end();
const NO: Answering = (_, response) => response.end('<html>welcome</html>');

/** The operator's side. */
class Operator {
  readonly forms: Form[] = [];
  open = 0;
  maxOpen = 0;
  answer: Answering = YES;
  url = '';
  readonly #server: http.Server;

  constructor(t: Test) {
    this.#server = http.createServer((request, response) => {
      let body = '';
      this.maxOpen = Math.max(this.maxOpen, ++this.open);
      response.on('close', () => this.open--);
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const form = Object.fromEntries(new URLSearchParams(body));
        this.forms.push({ ...form, method: request.method!, url: request.url! });
        this.answer(form, response);
      });
    });
    t.teardown(() => this.stop());
  }

  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook?key=of-the-hook`;
    return this;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  of(action: string): Form[] {
    return this.forms.filter((form) => form['action'] === action);
  }
}

class Bench {
  readonly clock = new FakeClock();
  readonly verdicts: string[] = [];
  readonly changes: (string | null)[] = [];
  readonly hook: ListenerHook;

  constructor(url: string, options: Partial<HookOptions> = {}) {
    this.hook = new ListenerHook(this.clock, {
      url,
      timeoutMs: 2000,
      parallel: 4,
      waiting: 100,
      cacheMs: 0,
      cacheEntries: 3,
      cacheBy: 'address',
      whenDown: 'deny',
      breakAfter: 3,
      breakMs: 1000,
      ...options,
      onVerdict: (verdict) => this.verdicts.push(verdict),
      onTroubleChanged: (trouble) => this.changes.push(trouble),
    });
  }

  async ask(caller: Partial<HookListener> = {}): Promise<string> {
    const { verdict, limitMs, client } = await this.hook.ask(callerOf(caller));
    return `${verdict} ${limitMs} ${client}`;
  }
}

function callerOf(caller: Partial<HookListener>): HookListener {
  return { mount: '/demo', user: '', password: '', address: '192.0.2.1', agent: 'test', ...caller };
}

t.test('what the head of an answer says', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  const { hook } = new Bench(operator.url, { breakAfter: 100 });
  const says = async (status: number, headers: http.OutgoingHttpHeaders) => {
    operator.answer = (_, response) => response.writeHead(status, headers).end('x');
    const { verdict, limitMs } = await hook.ask(callerOf({}));
    return `${verdict} ${limitMs}`;
  };
  const user = { 'icecast-auth-user': '1' };
  t.equal(await says(200, user), 'allowed Infinity');
  t.equal(await says(204, { 'Icecast-Auth-User': '1' }), 'allowed Infinity');
  t.equal(await says(200, { ...user, 'icecast-auth-timelimit': '90' }), 'allowed 90000');
  for (const [status, headers] of [
    [200, {}],
    [200, { 'icecast-auth-user': '0' }],
    [200, { 'icecast-auth-user': '1, 1' }],
    [401, user],
    [403, user],
    [200, { ...user, 'icecast-auth-timelimit': '0' }],
  ] as const) {
    t.equal(await says(status, headers), 'denied 0', `${status} ${JSON.stringify(headers)}`);
  }
  for (const [status, headers] of [
    [302, { ...user, Location: operator.url }],
    [404, user],
    [429, user],
    [500, user],
    [200, { ...user, 'icecast-auth-timelimit': '-1' }],
    [200, { ...user, 'icecast-auth-timelimit': 'soon' }],
  ] as const) {
    t.match(await says(status, headers), /^down/, `${status} ${JSON.stringify(headers)} is no answer`);
  }
});

t.test('questions and notices as Icecast sends them', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  const { hook } = new Bench(operator.url);
  const caller = callerOf({ mount: '/demo.mp3?a=b&c=ü', user: 'nina', password: 'p&=ä', agent: 'VLC/3 LibVLC' });
  const { client } = await hook.ask(caller);
  hook.gone(caller, client!, 61_499);
  await hook.settled();
  const fields = {
    client: '1',
    mount: '/demo.mp3?a=b&c=ü',
    user: 'nina',
    pass: 'p&=ä',
    ip: '192.0.2.1',
    agent: 'VLC/3 LibVLC',
  };
  const http = { method: 'POST', url: '/hook?key=of-the-hook' };
  t.strictSame(operator.forms, [
    { action: 'listener_add', ...fields, ...http },
    { action: 'listener_remove', ...fields, duration: '61', ...http },
  ]);
});

t.test('so many at once, so many waiting, questions before notices', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  const held: (() => void)[] = [];
  operator.answer = (form, response) => held.push(() => YES(form, response));
  const bench = new Bench(operator.url, { parallel: 2, waiting: 3, timeoutMs: 20_000 });
  const first = [bench.ask(), bench.ask()];
  await until(() => held.length === 2, 5000);
  bench.hook.gone(callerOf({}), '99', 5);
  const waiting = [bench.ask(), bench.ask(), bench.ask()];
  t.equal(await bench.ask(), 'down Infinity null', 'one past those who may wait');
  for (let i = 0; i < 3; i++) bench.hook.gone(callerOf({}), '100', 5);
  for (let i = 0; i < 8; i++) {
    await until(() => held.length > 0, 5000);
    held.shift()!();
  }
  t.same(
    (await Promise.all(first)).map((said) => said.split(' ')[0]),
    ['allowed', 'allowed'],
  );
  t.same(
    (await Promise.all(waiting)).map((said) => said.split(' ')[0]),
    ['allowed', 'allowed', 'allowed'],
  );
  await bench.hook.settled();
  t.equal(operator.maxOpen, 2);
  t.same(
    operator.forms.map(({ action }) => action),
    [...Array(5).fill('listener_add'), ...Array(3).fill('listener_remove')],
    'the fourth notice was one too many',
  );
});

t.test('none waiting: what has no free call is not asked, and what has one is', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  const held: (() => void)[] = [];
  operator.answer = (form, response) => held.push(() => YES(form, response));
  const bench = new Bench(operator.url, { parallel: 1, waiting: 0, timeoutMs: 20_000 });
  const first = bench.ask();
  await until(() => held.length === 1, 5000);
  const second = bench.ask();
  bench.hook.gone(callerOf({}), '99', 5);
  held.shift()!();
  t.match(await first, /^allowed/);
  t.equal(await second, 'down Infinity null');
  await bench.hook.settled();
  t.equal(operator.forms.length, 1);
  bench.hook.gone(callerOf({}), '100', 5);
  await until(() => held.length === 1, 5000);
  held.shift()!();
  await bench.hook.settled();
  t.same(
    operator.forms.map(({ action }) => action),
    ['listener_add', 'listener_remove'],
  );
});

t.test(
  'where credentials decide, answers are remembered for mount, credentials and query; never for an address',
  { buffered: true },
  async (t) => {
    const operator = await new Operator(t).start();
    const bench = new Bench(operator.url, { cacheMs: 10_000, cacheBy: 'credentials' });
    const nina = { user: 'nina', password: 'x' };
    t.equal(await bench.ask(nina), 'allowed Infinity 1');
    t.equal(await bench.ask({ ...nina, address: '192.0.2.2' }), 'allowed Infinity null', 'not announced again');
    t.equal(await bench.ask({ ...nina, password: 'y' }), 'allowed Infinity 2');
    t.equal(await bench.ask({ ...nina, mount: '/other' }), 'allowed Infinity 3');
    t.equal(await bench.ask({ mount: '/demo?token=1' }), 'allowed Infinity 4');
    operator.answer = NO;
    t.equal(await bench.ask({ mount: '/demo?token=2' }), 'denied 0 null');
    t.equal(await bench.ask({ mount: '/demo?token=2', address: '192.0.2.3' }), 'denied 0 null');
    t.equal(operator.forms.length, 5);
    t.equal(await bench.ask(), 'denied 0 null');
    t.equal(await bench.ask({ address: '192.0.2.9' }), 'denied 0 null');
    t.equal(operator.forms.length, 7, 'an address says nothing about another');
    t.equal(await bench.ask(nina), 'denied 0 null', 'no more than three are remembered: the oldest was forgotten');
    operator.answer = YES;
    bench.clock.advance(9960);
    t.equal(await bench.ask(nina), 'denied 0 null');
    bench.clock.advance(40);
    t.match(await bench.ask(nina), /^allowed/, 'for so long and no longer');

    const together = await Promise.all(Array.from({ length: 10 }, () => bench.ask({ user: 'crowd' })));
    t.equal(together.filter((said) => !said.endsWith('null')).length, 1, 'a crowd with one password asks once');
    operator.answer = (_, response) => response.destroy();
    t.match(await bench.ask({ user: 'later' }), /^down/);
    operator.answer = YES;
    t.match(await bench.ask({ user: 'later' }), /^allowed/, 'that it was down is not remembered');
    t.ok(bench.verdicts.includes('remembered') && bench.verdicts.includes('down'));
  },
);

// By itself: it measures the memory of the process.
t.test('what is remembered takes the same memory whatever a client sends', async (t) => {
  const operator = await new Operator(t).start();
  const bench = new Bench(operator.url, { cacheMs: 600_000, cacheEntries: 1000, parallel: 10, waiting: 100 });
  const fill = async (bytes: number, round: string) => {
    for (let i = 0; i < 1000; i += 50) {
      const asked = Array.from({ length: 50 }, (_, k) =>
        bench.ask({ mount: `/demo?${round}=${i + k}${'x'.repeat(bytes)}` }),
      );
      await Promise.all(asked);
      operator.forms.length = 0;
    }
  };
  await fill(1, 'short');
  const before = heldBytes();
  await fill(60_000, 'long');
  const grown = heldBytes() - before;
  // What connections and other tests leave is up to 12 MB; with the questions themselves it would be 60 MB.
  t.ok(grown < 20_000_000, `${grown} bytes more for 1,000 answers to 60,000 bytes each`);
  t.match(await bench.ask({ mount: `/demo?long=999${'x'.repeat(60_000)}` }), /null$/, 'they are remembered');
});

t.test('a question that joins one without an answer does not count as remembered', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  operator.answer = (_, response) => response.destroy();
  const bench = new Bench(operator.url, { cacheMs: 10_000 });
  const crowd = await Promise.all(Array.from({ length: 3 }, () => bench.ask()));
  t.same(crowd, Array(3).fill('down Infinity null'));
  t.same(bench.verdicts, ['down', 'down', 'down']);
  t.equal(operator.forms.length, 1);
});

t.test('of a public link no client is let in or locked out by the answer to another', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  operator.answer = (form, response) => (form['ip'] === '192.0.2.1' ? YES : NO)(form, response);
  const bench = new Bench(operator.url, { cacheMs: 10_000, cacheEntries: 100 });
  for (const caller of [{ mount: '/h.mp3?ref=web' }, { user: 'nina', password: 'x' }, {}]) {
    t.match(await bench.ask({ ...caller, address: '192.0.2.2' }), /^denied/);
    t.match(await bench.ask({ ...caller, address: '192.0.2.1' }), /^allowed .*\d$/, 'not locked out');
    t.match(await bench.ask({ ...caller, address: '192.0.2.3' }), /^denied/, 'nor let in');
    t.match(await bench.ask({ ...caller, address: '192.0.2.1' }), /^allowed .* null$/, 'and remembered');
  }
  t.equal(operator.forms.length, 9);
});

t.test('a dead hook costs the first listeners their time-out, and none after them', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  operator.answer = () => undefined;
  const bench = new Bench(operator.url, { timeoutMs: 1500, breakAfter: 3, parallel: 3, whenDown: 'allow' });
  const startMs = performance.now();
  const crowd = await Promise.all(Array.from({ length: 50 }, () => bench.ask()));
  const tookMs = performance.now() - startMs;
  // Three at a time, all of them would wait for 25 s.
  t.ok(tookMs > 1400 && tookMs < 12_000, `fifty waited ${Math.round(tookMs)} ms together`);
  t.same(new Set(crowd), new Set(['allowed Infinity null']));
  t.same(bench.changes, ['no answer in time']);
  // While the last of the first three waits out its time, the places of the others may be taken.
  const asked = operator.forms.length;
  t.ok(asked >= 3 && asked <= 5, `${asked} were asked about`);
  for (let i = 0; i < 100; i++) await bench.ask();
  bench.hook.gone(callerOf({}), '1', 5);
  await bench.hook.settled();
  t.equal(operator.forms.length, asked, 'it was left alone: the next are not held up');

  bench.clock.advance(1000);
  const tried = await Promise.all(Array.from({ length: 20 }, () => bench.ask()));
  t.equal(tried.length, 20);
  t.equal(operator.forms.length, asked + 1, 'one alone finds out');
  t.equal(bench.changes.length, 1);
  operator.answer = YES;
  bench.clock.advance(1000);
  t.match(await bench.ask(), /^allowed Infinity \d+$/);
  t.same(bench.changes, ['no answer in time', null]);
  for (let i = 0; i < 10; i++) await bench.ask();
  t.equal(operator.forms.length, asked + 12, 'and all are asked about again');
});

t.test('no server there, a hang-up, rubbish, a head without end, a body without end', { buffered: true }, async (t) => {
  const closed = await new Operator(t).start();
  closed.stop();
  t.equal(await new Bench(closed.url).ask(), 'down Infinity null');

  const raw = async (speak: (socket: net.Socket) => void): Promise<string> => {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((socket) => {
      sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
      socket.once('data', () => speak(socket));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => server.close());
    const bench = new Bench(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { timeoutMs: 2000 });
    const said = await bench.ask();
    await bench.hook.settled();
    await until(
      () => sockets.size === 0,
      5000,
      () => 'nothing of the call is left',
    );
    return said;
  };
  const forEver = (socket: net.Socket, bytes: string, first = '') => {
    socket.write(first);
    const timer = setInterval(() => socket.write(bytes), 10);
    socket.on('close', () => clearInterval(timer));
  };
  const ok = 'HTTP/1.1 200 OK\r\nicecast-auth-user: 1\r\n';
  t.match(await raw((socket) => socket.destroy()), /^down/);
  t.match(await raw((socket) => socket.end('SSH-2.0-OpenSSH\r\n')), /^down/);
  t.match(await raw((socket) => socket.end(`${ok}`)), /^down/, 'half a head');
  t.match(await raw((socket) => forEver(socket, '')), /^down/, 'not a byte');
  t.match(await raw((socket) => forEver(socket, 'x: y\r\n', ok)), /^down/, 'a head that trickles');
  t.match(await raw((socket) => socket.write(`${ok}x: ${'y'.repeat(100_000)}\r\n\r\n`)), /^down/, 'a huge head');
  t.match(await raw((socket) => forEver(socket, 'z'.repeat(100_000), `${ok}\r\n`)), /^allowed/, 'a huge body');
  t.match(await raw((socket) => forEver(socket, 'z', `${ok}\r\n`)), /^allowed/, 'a body that trickles');
});

t.test('no call that is forgotten keeps the breaker open for ever', { buffered: true }, async (t) => {
  // All calls hang; the one that finds out never gets its turn.
  const operator = await new Operator(t).start();
  operator.answer = (form, response) => (form['mount'] === '/fails' ? response.destroy() : undefined);
  const bench = new Bench(operator.url, { timeoutMs: 1500, breakAfter: 1, parallel: 2 });
  const hung = bench.ask({ mount: '/hangs' });
  await bench.ask({ mount: '/fails' });
  bench.hook.gone(callerOf({}), '9', 1);
  t.equal(bench.changes.length, 1);
  const more = bench.ask();
  bench.clock.advance(1000);
  await Promise.all([hung, more, bench.ask()]);
  operator.answer = YES;
  bench.clock.advance(1000);
  t.match(await bench.ask(), /^allowed/);
});

t.test(
  'while a trial is under way, the failure of a call from before admits no second one',
  { buffered: true },
  async (t) => {
    const operator = await new Operator(t).start();
    const hangs = new Map<string, http.ServerResponse>();
    operator.answer = ({ mount }, response) => (mount === '/fails' ? response.destroy() : hangs.set(mount!, response));
    const bench = new Bench(operator.url, { timeoutMs: 20_000, breakAfter: 1 });
    const before = bench.ask({ mount: '/before' });
    await until(() => hangs.has('/before'), 5000);
    t.match(await bench.ask({ mount: '/fails' }), /^down/);
    bench.clock.advance(1000);
    const trial = bench.ask({ mount: '/trial' });
    await until(() => hangs.has('/trial'), 5000);
    hangs.get('/before')!.destroy();
    t.match(await before, /^down/);
    bench.clock.advance(1000);
    const second = await Promise.race([bench.ask({ mount: '/second' }), until(() => hangs.has('/second'), 5000)]);
    t.match(second, /^down/, 'refused at once');
    YES({}, hangs.get('/trial')!);
    t.match(await trial, /^allowed/);
    t.same(bench.changes.length, 2);
  },
);

const yaml = (url: string, hook = 'timeoutSeconds: 10', extra = '') => `
addresses: [{ host: 127.0.0.1, port: 0 }]
listenerHook: { url: '${url}', breakAfter: 2, ${hook} }
${extra}
stations:
  house:
    channels:
      demo: { access: hook, mounts: [/demo.mp3], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      open: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;

t.test('a HEAD and a probe of some bytes are asked about, and have gone at once', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  operator.answer = ({ mount }, response) =>
    response.writeHead(200, mount?.includes('good') ? { 'icecast-auth-user': '1' } : {}).end();
  const { port } = await startServer(t, yaml(operator.url));
  await until(async () => (await ask(t, port, 'HEAD /open HTTP/1.1')).status === 200, 10_000);
  await until(async () => (await ask(t, port, 'HEAD /demo?good HTTP/1.1')).status === 200, 10_000);
  const asked = (action: string) => operator.of(action).filter(({ mount }) => mount?.startsWith('/demo.mp3'));
  for (const method of ['HEAD', 'GET']) {
    const range = method === 'GET' ? '\nRange: bytes=0-1' : '';
    t.equal((await ask(t, port, `${method} /demo.mp3 HTTP/1.1${range}`)).status, 401, method);
    t.equal((await ask(t, port, `${method} //demo%2Emp3?good HTTP/1.1${range}`)).status, 200, method);
  }
  await until(
    () => asked('listener_remove').length === 2,
    5000,
    () => JSON.stringify(operator.forms),
  );
  const [added, removed] = [asked('listener_add'), asked('listener_remove')];
  t.same(
    added.map(({ mount }) => mount),
    ['/demo.mp3', '/demo.mp3?good', '/demo.mp3', '/demo.mp3?good'],
    'by the name of the mount, however it was written',
  );
  t.same(
    removed.map(({ client, duration, mount }) => [client, duration, mount]),
    [added[1]!, added[3]!].map(({ client }) => [client, '0', '/demo.mp3?good']),
  );
  t.equal(
    (await ask(t, port, 'GET /metrics HTTP/1.1')).body.match(/^airsplice_listeners\{channel="demo"\} (\d+)$/m)?.[1],
    '0',
  );
});

t.test('at a server: asked, let in, limited, notified of the end', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  operator.answer = ({ user, pass, mount, action }, response) => {
    if (action === 'listener_remove') return void response.end();
    const isIn = (user === 'nina' && pass === 'simone') || mount?.includes('token=good');
    const limit = mount?.includes('short') ? { 'icecast-auth-timelimit': '2' } : {};
    response.writeHead(200, isIn ? { 'icecast-auth-user': '1', ...limit } : {}).end();
  };
  const { port, app } = await startServer(t, yaml(operator.url));
  const unknown = await ask(t, port, 'GET /demo.mp3 HTTP/1.1');
  t.equal(unknown.status, 401);
  t.equal(unknown.headers.get('www-authenticate'), 'Basic realm="airsplice", charset="UTF-8"');
  t.match(unknown.json(), { type: 'urn:airsplice:problem:unauthorized' });
  const login = (pair: string) => `Authorization: Basic ${btoa(pair)}\r\n`;
  const wrong = await ask(t, port, `GET /demo.mp3?token=bad HTTP/1.1\n${login('nina:wrong').trim()}`);
  t.equal(wrong.status, 403);
  t.notMatch(wrong.body, /nina|hook|wrong/);
  const play = (path: string, headers = '') => {
    const player = new Player(port, path, { headers });
    t.teardown(() => player.close());
    return player;
  };
  const startedMs = performance.now();
  const [nina, token, short] = [
    play('/demo', login('nina:simone')),
    play('/demo.mp3?token=good'),
    play('/demo?token=good&short'),
  ];
  for (const player of [nina, token, short]) await player.until((p) => p.audioBytes > 0);
  await play('/open').until((p) => p.audioBytes > 0);
  t.equal(operator.of('listener_add').length, 5, 'the open channel was not asked about');
  t.match(operator.of('listener_add')[2], {
    user: 'nina',
    pass: 'simone',
    mount: '/demo',
    ip: '127.0.0.1',
    agent: 'test',
  });
  t.equal((await ask(t, port, 'HEAD /demo HTTP/1.1')).status, 401, 'a HEAD is answered as a GET');

  await short.until((p) => p.closed);
  t.ok(performance.now() - startedMs > 1900);
  nina.close();
  await until(() => operator.of('listener_remove').length === 2, 5000);
  const [first] = operator.of('listener_remove');
  t.equal(first!['mount'], '/demo?token=good&short');
  const heardSeconds = Number(first!['duration']);
  t.ok(heardSeconds >= 2 && heardSeconds < (performance.now() - startedMs) / 1000 + 1, `${heardSeconds} s`);
  t.match(operator.of('listener_remove')[1], { user: 'nina', client: operator.of('listener_add')[2]!['client'] });
  await app.stop();
  t.equal(operator.of('listener_remove').length, 3, 'a stop notifies it of all who are in');
  t.equal(operator.forms.length, 9);
});

t.test('at a server: reloads leave no hooks behind, and no number is given twice', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  const { port, app, reload } = await startServer(t, yaml(operator.url));
  const first = new Player(port, '/demo');
  t.teardown(() => first.close());
  await first.until((p) => p.audioBytes > 0);
  await reload(
    yaml(operator.url)
      .replace(/^listenerHook.*$/m, '')
      .replace('access: hook, ', ''),
  );
  const encoders = (i: number) => `encoderHook: { url: '${operator.url}', timeoutSeconds: ${i} }`;
  const channel = (text: string) => text.replace('sources: [', 'sources: [{ type: encoder, password: demo-source }, ');
  const before = alive(ListenerHook);
  for (let i = 1; i <= 20; i++) await reload(channel(yaml(operator.url, `timeoutSeconds: ${i}`, encoders(i))));
  // Tests beside this one have some of their own.
  t.ok(alive(ListenerHook) - before < 15, `${before} → ${alive(ListenerHook)}`);
  const second = new Player(port, '/demo');
  await second.until((p) => p.audioBytes > 0);
  t.strictSame(
    operator.of('listener_add').map(({ client }) => client),
    ['1', '2'],
  );
  await app.stop();
  t.strictSame(
    operator
      .of('listener_remove')
      .map(({ client }) => client)
      .sort(),
    ['1', '2'],
    'each hook hears of those that it let in',
  );
});

t.test(
  'at a server: gone before the answer, no room to be asked about, nothing secret logged',
  { buffered: true },
  async (t) => {
    const operator = await new Operator(t).start();
    const held: (() => void)[] = [];
    operator.answer = (form, response) => held.push(() => YES(form, response));
    const lines: unknown[] = [];
    const note = (...line: unknown[]) => void lines.push(line);
    const log = { debug: note, info: note, warn: note, error: note } as unknown as Log;
    const { port } = await startServer(
      t,
      yaml(operator.url, 'timeoutSeconds: 10', 'limits: { listeners: 2 }'),
      tempFolder(t),
      log,
    );
    const players = [new Player(port, '/demo?token=t0ken'), new Player(port, '/demo')];
    const asked = () => `${held.length} are asked about; ${players.map(({ status }) => status)}`;
    await until(() => held.length >= 2, 5000, asked);
    t.equal((await ask(t, port, 'GET /demo HTTP/1.1')).status, 503, 'a listener that is asked about has a place');
    t.equal(held.length, 2);
    players[0]!.close();
    for (const answer of held.splice(0)) answer();
    await until(() => operator.of('listener_remove').length === 1, 5000);
    t.match(operator.of('listener_remove')[0], { mount: '/demo?token=t0ken', duration: /^\d$/ });
    held.splice(0).forEach((answer) => void answer());
    await players[1]!.until((p) => p.audioBytes > 0);
    players[1]!.close();

    operator.stop();
    for (const status of [503, 503, 503]) {
      await until(
        async () =>
          (await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).includes('listeners{channel="demo"} 0'),
        5000,
      );
      const answer = await ask(t, port, 'GET /demo?token=t0ken HTTP/1.1');
      t.equal(answer.status, status);
      t.match(answer.headers.get('retry-after'), /^\d+$/);
    }
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    t.match(metrics, /^airsplice_listener_hook_verdicts_total\{verdict="down"\} 3$/m);
    t.match(JSON.stringify(lines), /the listener hook does not answer/);
    t.notMatch(JSON.stringify(lines), /of-the-hook|t0ken/);
  },
);

t.test('at a server: the hook is down, and all may listen', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  operator.answer = () => undefined;
  const { port } = await startServer(t, yaml(operator.url, 'timeoutSeconds: 3, whenDown: allow, breakSeconds: 60'));
  const late = new LoopDelay(t);
  const waits: number[] = [];
  for (let i = 0; i < 5; i++) {
    const startedMs = performance.now();
    const player = new Player(port, '/demo');
    await player.until((p) => p.audioBytes > 0);
    waits.push(performance.now() - startedMs);
    player.close();
  }
  t.ok(waits[0]! > 2900 && waits[1]! > 2900, `${waits.map(Math.round)}`);
  // None of them has waited for a time-out.
  t.ok(Math.max(...waits.slice(2)) < 2500 + late.totalMs, `${waits.map(Math.round)}`);
});

t.test(
  'addresses take turns, and `allow` is not for who asks so often that there is no room',
  { buffered: true },
  async (t) => {
    const operator = await new Operator(t).start();
    const held: (() => void)[] = [];
    operator.answer = (form, response) => held.push(() => NO(form, response));
    const ask = (bench: Bench, address: string, count: number) =>
      Array.from({ length: count }, async (_, i) => (await bench.ask({ address, mount: `/demo?${i}` })).split(' ')[0]!);
    const bench = new Bench(operator.url, { parallel: 1, timeoutMs: 4000, whenDown: 'allow' });
    const crowd = ask(bench, '192.0.2.1', 40);
    const others = [...ask(bench, '192.0.2.2', 1), ...ask(bench, '2001:db8::1', 1)];
    for (let i = 0; i < 4; i++) {
      await until(() => held.length > 0, 5000);
      held.shift()!();
    }
    t.same(await Promise.all(others), ['denied', 'denied'], 'behind two of those that have come before');
    const late = await Promise.all(crowd);
    t.same(late.slice(10), Array(30).fill('down'), 'the hook answers: what it has no time for is not let in');
    const full = new Bench(operator.url, { parallel: 1, waiting: 10, timeoutMs: 4000, whenDown: 'allow' });
    const many = ask(full, '192.0.2.1', 40);
    t.same(await Promise.all(many.slice(11)), Array(29).fill('down'));
    t.same(await Promise.all(ask(full, '192.0.2.2', 1)), ['allowed'], 'who asks once');
  },
);

t.test('a crowd that waits does not make a hook that answers look dead', { buffered: true }, async (t) => {
  const operator = await new Operator(t).start();
  operator.answer = (form, response) => void pause(100).then(() => NO(form, response));
  const bench = new Bench(operator.url, { parallel: 1, waiting: 200, timeoutMs: 2000 });
  const asked: Promise<string>[] = [];
  const endMs = performance.now() + 4000;
  for (let lastMs = performance.now(); lastMs < endMs; ) {
    asked.push(bench.ask({ mount: `/demo?${asked.length}` }));
    await pause(10);
    const nowMs = performance.now();
    bench.clock.spend(nowMs - lastMs);
    lastMs = nowMs;
  }
  await Promise.all(asked);
  t.same(bench.changes, []);
});
