/** Start and stop of the whole server: a start that fails leaves nothing running, a stop accepts nothing new and ends in its time. */

import { copyFileSync, mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startApp, startWith } from '../../src/app/app.js';
import { isClosing } from '../../src/app/stop-steps.js';
import { openLog } from '../../src/base/log.js';
import { loadConfig } from '../../src/config/load.js';
import { Router } from '../../src/http/router.js';
import type { Store } from '../../src/store/store.js';
import { PEM } from '../kit/certificate.js';
import { Feeder } from '../kit/feeder.js';
import { keepLines } from '../kit/log-lines.js';
import { timeOf } from '../kit/loop-delay.js';
import { MemoryStore } from '../kit/memory-store.js';
import { pause } from '../kit/pause.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { peerOf, Wire } from '../kit/wire.js';

const STATIONS = `stations:
  house:
    channels:
      live: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source, takeover: never }] }
`;
const ADDRESS = 'addresses: [{ host: 127.0.0.1, port: 0 }]';
const BUTT = { headers: 'Content-Type: audio/mpeg\r\nUser-Agent: butt 0.1.37\r\n' };
const PUSH = 'GET /metapush/live/demo-token?song=Slow HTTP/1.1\r\nHost: x\r\n\r\n';
const { log: SILENT } = openLog('silent', 0);

function configOf(t: Test, yaml: string, folder = tempFolder(t)) {
  const path = join(folder, 'config.yaml');
  writeFileSync(path, `data: { folder: ${join(folder, 'data')} }\n${yaml}`);
  return loadConfig(path, process.env);
}

/** On a disk that hangs until `release`. */
class HangingStore extends MemoryStore {
  release!: () => void;
  readonly #released = new Promise<void>((done) => (this.release = done));

  override async save(...args: Parameters<MemoryStore['save']>): Promise<void> {
    await this.#released;
    await super.save(...args);
  }

  override async close(): Promise<void> {
    await this.#released;
    await super.close();
  }
}

/** A server whose disk hangs, and a push that waits for it. */
async function startHanging(t: Test, graceSeconds: number) {
  const store = new HangingStore();
  const { log, lines } = keepLines();
  const app = await startWith(
    configOf(t, `${ADDRESS}\nshutdown: { graceSeconds: ${graceSeconds} }\n${STATIONS}`),
    store,
    log,
  );
  t.teardown(() => store.release());
  t.teardown(() => app.stop());
  const port = app.ports[0]!;
  const push = await send(t, port, PUSH);
  return { app, port, store, lines, push };
}

/** The server has these bytes. */
async function send(t: Test, port: number, bytes: string): Promise<Wire> {
  const wire = new Wire(t, port).send(bytes);
  await until(() => wire.socket.readyState === 'open' && peerOf(wire.socket).bytesRead > 0, 5000);
  return wire;
}

/** The second of these addresses cannot be had. */
async function takenAddress(t: Test): Promise<string> {
  const other = net.createServer();
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  t.teardown(() => other.close());
  const { port } = other.address() as net.AddressInfo;
  return `addresses: [{ host: 127.0.0.1, port: 0 }, { host: 127.0.0.1, port: ${port}, shoutcastPort: false }]`;
}

function without(all: readonly string[], one: string): string[] {
  const at = all.indexOf(one);
  return at < 0 ? [...all] : all.toSpliced(at, 1);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => done(true)).on('error', () => done(false));
    socket.on('connect', () => socket.destroy());
  });
}

t.test(
  'while titles are being committed at the stop, nothing new is accepted; what was asked is answered',
  async (t) => {
    const { app, port, store, push } = await startHanging(t, 20);
    const feeding = new Feeder(t, port, '/live', BUTT);
    t.equal(await feeding.answered(), 200);
    // It waits until it is clear whether the one before it lives.
    const returning = new Feeder(t, port, '/live', BUTT);
    const wrong = new Feeder(t, port, '/live', { ...BUTT, password: 'wrong' });
    t.equal(await wrong.answered(), 401, 'the one before it has been read');
    const ready = await send(t, port, 'GET /readyz HTTP/1.1\r\n');
    const stopped = app.stop();
    t.notOk(await canConnect(port));
    await returning.over();
    t.equal(returning.answer, '', 'not admitted to be cut again');
    const [answer] = await ready.send('Host: x\r\n\r\n').take(1);
    t.equal(answer!.status, 503);
    t.equal(push.got, '', 'it waits for the disk');
    store.release();
    const [pushed] = await push.take(1);
    t.equal(pushed!.status, 200);
    await stopped;
  },
);

t.test('a stop ends in its time, whatever hangs, and logs what did not end', async (t) => {
  const { app, port, lines, store } = await startHanging(t, 30);
  t.intercept(Router.prototype, 'close', { value: () => new Promise(() => undefined) });
  const idle = await send(t, port, 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
  await idle.take(1);
  let errors: readonly unknown[] = [];
  const tookMs = await timeOf(t, async () => {
    errors = await app.stop(2000);
  });
  t.ok(tookMs < 2000, `before the caller would end the process: ${Math.round(tookMs)} ms`);
  const left = lines.filter(({ pending }) => pending !== undefined);
  const waitedMs = left.reduce((sum, { limitMs }) => sum + Number(limitMs), 0);
  t.ok(waitedMs <= 1750, `it waits for ${waitedMs} ms, and leaves the rest to the caller`);
  t.match(left, [{ pending: ['titles', 'requests', 'connections'] }, { pending: ['store'] }]);
  t.same(errors, []);
  t.ok(isClosing(), "Node's own exit would wait for the disk");
  store.release();
  await until(() => !isClosing(), 5000);
  await idle.untilClosed();
});

t.test('what the stop has not used of its time is for the files', async (t) => {
  const store = new HangingStore();
  const { log, lines } = keepLines();
  const app = await startWith(configOf(t, `${ADDRESS}\nshutdown: { graceSeconds: 20 }\n${STATIONS}`), store, log);
  t.teardown(() => store.release());
  const stopped = app.stop(20_000);
  await until(isClosing, 5000);
  await pause(1000);
  store.release();
  t.same(await stopped, []);
  t.notOk(isClosing());
  t.same(
    lines.filter(({ pending }) => pending !== undefined),
    [],
  );
});

for (const [name, close, line] of [
  ['hangs', () => new Promise<void>(() => undefined), { pending: ['store'] }],
  [
    'fails',
    () => Promise.reject(new Error('disk')),
    { step: 'store', err: { message: 'disk' }, message: 'stopping failed' },
  ],
] as const) {
  t.test(`a start that fails on a disk that ${name} ends all the same, and says why`, async (t) => {
    const { log, lines } = keepLines();
    class UnclosableStore extends MemoryStore {
      override close = close;
    }
    const unreadable = new UnclosableStore();
    unreadable.load = () => {
      throw new Error('cannot be read');
    };
    const start = (yaml: string, store: Store) =>
      startWith(
        configOf(
          t,
          `${yaml}
${STATIONS}`,
        ),
        store,
        log,
      );
    await t.rejects(start(ADDRESS, unreadable), /cannot be read/, 'while it is put together');
    // That a busy machine stood still is said too.
    const said = () => lines.filter((each) => each['part'] === undefined);
    t.match(said(), [line]);
    await t.rejects(start(await takenAddress(t), new UnclosableStore()), /EADDRINUSE/, 'where it would listen');
    t.match(said(), [line, line]);
  });
}

t.test('a start that fails late leaves nothing running', async (t) => {
  const folder = tempFolder(t);
  /** What keeps the process from ending, and which files of the folder are open. */
  const running = (): string[] => {
    const files = process.platform === 'linux' ? readdirSync('/proc/self/fd') : [];
    const open = files.flatMap((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return [];
      }
    });
    return [...process.getActiveResourcesInfo(), ...open.filter((path) => path.startsWith(folder))];
  };
  const fails = async (t: Test, start: () => Promise<unknown>, reason: RegExp) => {
    const before = running();
    await t.rejects(start(), reason);
    const left = () => before.reduce((all, each) => without(all, each), running());
    // What was on its way to the disk, or to us.
    await until(() => left().length === 0, 3000).catch(() => undefined);
    t.same(left(), []);
  };
  const accessLog = `accessLog: { file: ${join(folder, 'access.log')} }`;
  const yaml = `${ADDRESS}\n${accessLog}\n${STATIONS}`;

  await t.test('the access log', async (t) => {
    const config = configOf(t, yaml, folder);
    mkdirSync(join(folder, 'access.log'));
    await fails(t, () => startApp(config, SILENT), /EISDIR/);
    rmSync(join(folder, 'access.log'), { recursive: true });
  });

  await t.test('what is stored', async (t) => {
    const store = new MemoryStore();
    store.load = () => {
      throw new Error('cannot be read');
    };
    await fails(t, () => startWith(configOf(t, yaml, folder), store, SILENT), /cannot be read/);
  });

  await t.test('the routes', async (t) => {
    t.intercept(Router.prototype, 'ready', { value: () => Promise.reject(new Error('no route')) });
    await fails(t, () => startApp(configOf(t, yaml, folder), SILENT), /no route/);
  });

  await t.test('a certificate', async (t) => {
    const tls = ['cert', 'key'].map((part) => {
      copyFileSync(`${PEM}one.${part}.pem`, join(folder, `${part}.pem`));
      return `${part}File: ${join(folder, `${part}.pem`)}`;
    });
    const addresses = `addresses: [{ host: 127.0.0.1, port: 0, tls: { ${tls.join(', ')} } }, { host: 127.0.0.1, port: 0, tls: { ${tls.join(', ')} } }]`;
    const config = configOf(t, yaml.replace(ADDRESS, addresses), folder);
    rmSync(join(folder, 'key.pem'));
    await fails(t, () => startApp(config, SILENT), /ENOENT/);
  });

  await t.test('a port', async (t) => {
    const addresses = await takenAddress(t);
    await fails(t, () => startApp(configOf(t, yaml.replace(ADDRESS, addresses), folder), SILENT), /EADDRINUSE/);
  });
});
