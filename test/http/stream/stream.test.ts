/** `GET` and `HEAD` of a mount whose audio is still to come, with the whole server; places of listeners on whom playing fails. */

import t, { type Test } from 'tap';
import { openLog } from '../../../src/base/log.js';
import type { Refusal } from '../../../src/base/refusal.js';
import type { Mount } from '../../../src/channel/mount.js';
import { Feed } from '../../../src/feed/feed.js';
import type { ListenerHook } from '../../../src/http/hook/hook.js';
import { Admission } from '../../../src/http/stream/admission.js';
import { Stream } from '../../../src/http/stream/stream.js';
import type { StreamRequest } from '../../../src/http/stream/stream-request.js';
import { Audience } from '../../../src/listener/cursor/audience.js';
import { ListenerStats } from '../../../src/listener/listener-stats.js';
import { ListenerFeed } from '../../../src/listener/sessions/listener-feed.js';
import { Sessions } from '../../../src/listener/sessions/sessions.js';
import { FakeClock } from '../../kit/clock.js';
import { Random } from '../../kit/random.js';
import { startServer } from '../../kit/server.js';
import { until, untilPromised } from '../../kit/until.js';
import { audioOf, streamHead, Upstream } from '../../kit/upstream.js';
import { arrived, ask, ENDS_MS, peerOf, Wire } from '../../kit/wire.js';

/** A relay of an upstream that has the request and has not answered yet. */
async function relay(t: Test, startTimeoutSeconds: number) {
  const upstream = await Upstream.open(t);
  const { app, port } = await startServer(
    t,
    `addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { startTimeoutSeconds: ${startTimeoutSeconds} }
shutdown: { graceSeconds: 5 }
stations:
  house:
    channels:
      relay: { sources: [{ type: pull, url: '${upstream.url}', allowPrivate: true, connectTimeoutSeconds: 60 }] }
`,
  );
  await until(() => upstream.sockets.length > 0, 5000);
  return { upstream, app, port };
}

const requestOf = (method: string) => `${method} /relay HTTP/1.1\r\nHost: x\r\nIcy-MetaData: 1\r\n\r\n`;

/** A GET that the server has. */
async function listen(t: Test, port: number): Promise<Wire> {
  const wire = new Wire(t, port).send(requestOf('GET'));
  await until(() => wire.socket.readyState === 'open' && peerOf(wire.socket).bytesRead > 0, 5000);
  return wire;
}

const headOf = ({ got }: Wire) => got.slice(0, got.indexOf('\r\n\r\n') + 4);

t.test('HEAD is 503 while GET waits for audio, and has the same head as soon as GET plays', async (t) => {
  const { upstream, port } = await relay(t, 30);
  const get = await listen(t, port);
  const [refused] = await new Wire(t, port).send(requestOf('HEAD')).take(1, 5000, 1);
  t.equal(refused!.status, 503);
  t.ok(refused!.headers.get('retry-after'));
  t.equal(get.got, '', 'GET waits');
  upstream.sockets[0]!.write(streamHead());
  upstream.sockets[0]!.write(audioOf(new Random(), 200));
  await until(() => headOf(get) !== '', 10_000);
  const head = new Wire(t, port).send(requestOf('HEAD'));
  await untilPromised(() => head.ended, ENDS_MS);
  t.match(head.got, /^HTTP\/1\.0 200 OK\r\n/);
  t.match(head.got, /\r\nicy-metaint: \d+\r\n/);
  t.equal(head.got, headOf(get));
});

t.test('where no audio comes in time GET is refused', async (t) => {
  const { port } = await relay(t, 1);
  const answer = await ask(t, port, 'GET /relay HTTP/1.1');
  t.equal(answer.status, 503);
  t.ok(answer.headers.get('retry-after'));
});

t.test('HEAD is 503 as GET is while the server stops, with audio too', async (t) => {
  const { upstream, app, port } = await relay(t, 30);
  upstream.sockets[0]!.write(streamHead());
  upstream.sockets[0]!.write(audioOf(new Random(), 200));
  await until(async () => (await ask(t, port, 'HEAD /relay HTTP/1.1')).status === 200, 10_000);
  // A push under way keeps the connection while the server stops; HEAD follows on it.
  const json = 'Content-Type: application/json\r\nContent-Length: 2\r\n';
  const wire = new Wire(t, port).send(`POST /metapush/relay/wrong HTTP/1.1\r\nHost: x\r\n${json}\r\n`);
  await arrived(wire.socket);
  const stopped = app.stop();
  wire.send(`{}${requestOf('HEAD')}`);
  await wire.untilClosed();
  const statuses = [...wire.got.matchAll(/HTTP\/1\.[01] (\d+)/g)].map(([, status]) => status);
  t.same(statuses, ['403', '503'], wire.got);
  await stopped;
});

/** A mount on which playing fails, and the stream that admits its listeners: one at a time from one address. */
function faulty(access: Mount['access']) {
  const FAULT = new Error('secret');
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const endings: number[] = [];
  const sessions = new Sessions(clock, new ListenerFeed(new Feed()), { keepMs: 1000, max: 10 });
  const audience = new Audience(clock, sessions);
  const hook = {
    ask: async () => ({ verdict: 'allowed', limitMs: Number.POSITIVE_INFINITY, client: '1' }),
    gone: (_caller: unknown, _client: string, lastedMs: number) => endings.push(lastedMs),
  } as unknown as ListenerHook;
  const admission = new Admission(audience, clock, () => hook, {
    listeners: 10,
    listenersPerAddress: 1,
    keys: [],
    retrySeconds: 1,
  });
  const stream = new Stream(audience, sessions, new ListenerStats(clock, {} as never), admission, clock, {
    burstMs: 0,
    startTimeoutMs: 60_000,
    showsOnReading: {},
    endsOnFormatChange: {},
    log: openLog('silent', 0).log,
    onError: (error) => errors.push(error),
  });
  const audio = {
    key: 'demo',
    listeners: 0,
    hasSegments: true,
    metaint: null,
    tape: { tail: 0, head: 1 },
    want: () => undefined,
  };
  const mount = {
    access,
    path: '/demo',
    maxListeners: 10,
    maxListenMs: Number.POSITIVE_INFINITY,
    overflowUrl: undefined,
    audio,
    hasAudio: true,
    sends: null,
    hopeful: true,
    takesEncoder: false,
    onDemand: false,
    get facts(): never {
      throw FAULT;
    },
  };
  const refused: number[] = [];
  /** A GET; its status is noted. */
  const listen = (address: string) => {
    const request: Partial<StreamRequest> = {
      method: 'GET',
      url: '/demo',
      addressHeaders: {},
      address,
      gone: false,
      header: () => undefined,
      wait: () => undefined,
      refuse: ({ status }: Refusal) => refused.push(status),
    };
    stream.handle(request as StreamRequest, mount as unknown as Mount);
  };
  const left = () => [audience.count, audio.listeners];
  return { FAULT, clock, errors, endings, mount, refused, listen, left };
}

t.test('a listener on whom playing fails gives its place back', async (t) => {
  const { FAULT, errors, refused, listen, left } = faulty('open');
  listen('192.0.2.1');
  listen('192.0.2.1');
  t.same(refused, [500, 500], 'never the 503 of an address that has its listener');
  t.same(left(), [0, 0]);
  t.strictSame(errors, [FAULT, FAULT]);
});

t.test('so does one about whom the hook was asked, and the hook learns of its end', async (t) => {
  const { FAULT, errors, endings, refused, listen, left } = faulty('hook');
  listen('192.0.2.1');
  await until(() => refused.length === 1, 5000);
  t.same([refused, left(), endings], [[500], [0, 0], [0]]);
  t.strictSame(errors, [FAULT]);
});

t.test('of those that wait one fault is not the end of the tick for the others', async (t) => {
  const { FAULT, clock, errors, mount, refused, listen, left } = faulty('open');
  mount.hasAudio = false;
  listen('192.0.2.1');
  listen('192.0.2.2');
  clock.advance(1000);
  t.same([refused, left()], [[], [2, 2]], 'they wait');
  mount.hasAudio = true;
  clock.advance(40);
  t.same(
    [refused, left()],
    [
      [500, 500],
      [0, 0],
    ],
  );
  t.strictSame(errors, [FAULT, FAULT]);
});
