/**
 * Servers to which airsplice connects, and which misbehave: they say nothing, send a byte now and then, send without end, or stay after their answer. For each kind of
 * request the connection ends within its time, and takes a bounded number of bytes.
 */

import { createSecretKey } from 'node:crypto';
import net, { type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Webhook } from '../../src/alerts/webhook.js';
import { SystemClock } from '../../src/base/clock.js';
import { Redis } from '../../src/cluster/log/redis.js';
import { ListenerHook } from '../../src/http/hook/hook.js';
import { until, untilPromised } from '../kit/until.js';
import { setUp } from '../kit/upstream.js';

t.jobs = 4;

const LIMIT_MS = 1000;
const LATE_MS = 2000;
/** What a peer that sends without end may get rid of: what is read here, and what fits into the system's buffers. */
const MAX_BYTES = 16 * 1024 * 1024;

class Peer {
  readonly sockets: Socket[] = [];
  bytes = 0;
  url = '';

  constructor(act: (peer: Peer, socket: Socket) => void) {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
      this.sockets.push(socket.on('error', () => undefined));
      act(this, socket);
    });
    this.#server = server;
  }
  readonly #server: net.Server;

  async open(t: Test): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/live`;
    t.teardown(() => {
      this.#server.close();
      for (const socket of this.sockets) socket.destroy();
    });
    return this;
  }

  get areGone(): boolean {
    return this.sockets.length > 0 && this.sockets.every(({ destroyed }) => destroyed);
  }
}

/** Again and again, until it is closed. */
function drip(socket: Socket, text: string, first = ''): void {
  if (first !== '') socket.write(first);
  const timer = setInterval(() => void (socket.writable && socket.write(text)), 30);
  socket.resume().on('close', () => clearInterval(timer));
}

function pour(peer: Peer, socket: Socket, first: string): void {
  const filler = Buffer.alloc(64 * 1024, 'x');
  const go = () => {
    while (socket.writable && socket.write(filler)) peer.bytes += filler.length;
  };
  socket.resume().on('drain', () => {
    peer.bytes += filler.length;
    go();
  });
  socket.write(first);
  go();
}

const OK = 'HTTP/1.1 200 OK\r\nicecast-auth-user: 1\r\nContent-Type: audio/mpeg\r\n';
const BEHAVIOURS: Readonly<Record<string, (peer: Peer, socket: Socket) => void>> = {
  'says nothing': (_, socket) => void socket.resume(),
  'says its head byte by byte': (_, socket) => drip(socket, 'x', 'HTTP/1.1 200 OK\r\nX: '),
  'says a head without end': (peer, socket) => pour(peer, socket, 'HTTP/1.1 200 OK\r\nX: '),
  'says one interim answer after the other': (_, socket) => drip(socket, 'HTTP/1.1 102 Processing\r\n\r\n'),
  'says its body byte by byte': (_, socket) => drip(socket, 'x', `${OK}Content-Length: 100000\r\n\r\n`),
  'says a body without end': (peer, socket) => pour(peer, socket, `${OK}\r\n`),
  'says numbers without end': (_, socket) => drip(socket, ':1\r\n', '*1000000000\r\n'),
  'says all, and stays': (_, socket) => drip(socket, 'x', `${OK}Content-Length: 2\r\n\r\nok`),
};

/** Each kind of request that airsplice makes. */
const ASKERS: Readonly<Record<string, (t: Test, url: string, clock: SystemClock) => void>> = {
  'a pulled stream': (t, url, clock) => {
    const times = { connectTimeoutMs: LIMIT_MS, stallMs: LIMIT_MS, retryMinMs: 60_000, retryMaxMs: 60_000 };
    setUp(t, { url }, { allowPrivate: true, ...times }, clock).source.start();
  },
  'the listener hook': (_, url, clock) => {
    const hook = new ListenerHook(clock, {
      url,
      timeoutMs: LIMIT_MS,
      parallel: 4,
      waiting: 100,
      cacheMs: 0,
      cacheEntries: 3,
      cacheBy: 'address',
      whenDown: 'deny',
      breakAfter: 3,
      breakMs: 1000,
      onVerdict: () => undefined,
      onTroubleChanged: () => undefined,
    });
    void hook.ask({ mount: '/demo', user: '', password: '', address: '192.0.2.1', agent: 'test' });
  },
  Redis: (t, url) => {
    const options = { url: `redis://${new URL(url).host}`, sentinels: [], master: '', answerMs: LIMIT_MS };
    void t.rejects(Redis.connect(options, {}), { name: 'RedisLost' });
  },
  'a webhook': (t, url, clock) => {
    const config = { url, format: 'json', secret: createSecretKey(Buffer.alloc(32)) } as const;
    const options = {
      timeoutSeconds: LIMIT_MS / 1000,
      retrySeconds: { min: 60, max: 60 },
      giveUpSeconds: 5,
      waiting: 9,
    };
    const output = { onTrouble: () => undefined, onRecovered: () => undefined };
    const webhook = new Webhook(
      config,
      () => 'radio1',
      () => options,
      clock,
      output,
    );
    t.teardown(() => webhook.close());
    webhook.send({
      id: 'x',
      event: 'no-audio',
      subject: 'a',
      channel: 'a',
      severity: 'critical',
      state: 'firing',
      summary: 'no audio',
      fields: {},
      flaps: 0,
      sinceMs: 0,
      atMs: 0,
    });
  },
};

for (const [asker, ask] of Object.entries(ASKERS)) {
  t.test(`${asker}: every peer is left within its time`, async (t) => {
    const clock = new SystemClock();
    t.teardown(() => clock.stop());
    await Promise.all(
      Object.entries(BEHAVIOURS).map(async ([behaviour, act]) => {
        const peer = await new Peer(act).open(t);
        ask(t, peer.url, clock);
        await until(() => peer.sockets.length > 0, 5000);
        await untilPromised(
          () => {
            // Only a write shows that both halves are closed there.
            for (const socket of peer.sockets) if (socket.readableEnded && socket.writable) socket.write('x');
            return peer.areGone;
          },
          LIMIT_MS + LATE_MS,
          () => `a peer that ${behaviour}`,
        );
        t.ok(peer.bytes < MAX_BYTES, `${behaviour}: ${peer.bytes} bytes`);
      }),
    );
  });
}
