import { copyFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { NeedsRestart } from '../../src/app/reload.js';
import { planText } from '../../src/config/plan.js';
import { Front } from '../../src/net/front/front.js';
import { Feeder, framesIn } from '../kit/feeder.js';
import { alive } from '../kit/heap.js';
import { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { DEMO_AUDIO, startServer, type TestServer, WORKERS } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { ask, Watching } from '../kit/wire.js';

interface Written {
  readonly addresses?: string;
  readonly top?: string;
  readonly studio?: string;
  readonly sources?: string;
  readonly more?: string;
}

/** A station with an encoder's channel, `studio`, and a file's, `music`. */
const CONSENT = 'demoSecretsInPublic: "yes, anybody may push and stream to this server"';

function yaml({ addresses, top = '', studio = '', sources, more = '' }: Written = {}): string {
  return `
addresses: ${addresses ?? '[{ host: 127.0.0.1, port: 0 }]'}
${CONSENT}
${top}
stations:
  house:
    channels:
      studio:
        ${studio || 'name: Studio'}
        bitrateKbps: 128
        pushTokens: [studio-token]
        sources: ${sources ?? `[{ type: encoder, password: demo-source }]`}
      music: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
${more}
`;
}

/** A listener; before the encoder is known wherever it may come, it would be sent away. */
async function playing(server: TestServer, path: string): Promise<Player> {
  const isThere = async () => (await fetch(`${server.base}${path}`, { method: 'HEAD' })).status === 200;
  await until(isThere, 10_000);
  return new Player(server.port, path, { keep: true });
}

/** Whoever is connected while others change: an encoder, its listener, a watcher of it, and a listener of the file. */
class Bystanders {
  readonly encoder: Feeder;
  listener!: Player;
  readonly other: Player;
  readonly watcher: Watching;
  readonly #server: TestServer;

  constructor(t: Test, server: TestServer) {
    this.#server = server;
    this.encoder = new Feeder(t, server.port, '/studio').stream(t);
    this.other = new Player(server.port, '/music', { keep: true });
    this.watcher = new Watching(t, `${server.ws}/metadata/channel/studio`);
    t.teardown(() => {
      this.listener.close();
      this.other.close();
    });
  }

  async here(): Promise<this> {
    this.listener = await playing(this.#server, '/studio');
    await this.listener.until((player) => player.audioBytes > 20_000);
    await this.other.until((player) => player.audioBytes > 20_000);
    await this.watcher.opened();
    return this;
  }

  /** Everybody still has what they had, and no byte was lost. */
  async areWell(t: Test): Promise<void> {
    for (const player of [this.listener, this.other]) {
      const before = player.audioBytes;
      await player.until(({ audioBytes }) => audioBytes > before + 40_000);
      t.notOk(player.closed, 'the listener plays on');
      t.ok(framesIn(player.audio).skippedBytes < 500, 'whole frames, but for the first');
    }
    t.notOk(this.encoder.closed, 'the encoder was not cut');
    t.equal(this.watcher.code, 0, 'the watcher was not closed');
  }
}

const status = async (t: Test, server: TestServer, request: string, port = server.port) =>
  (await ask(t, port, `${request} HTTP/1.1`)).status;

t.test('a name, a token, a password, limits and policies: nobody is cut', async (t) => {
  const server = await startServer(t, yaml());
  const all = await new Bystanders(t, server).here();
  const next = `name: Night
        icy: { apostrophe: typographic }
        maxListeners: 3
        delaySeconds: 0
        mounts: [/night.mp3]`;
  const sources = '[{ type: encoder, password: studio-token, takeover: always }]';
  const top = 'limits: { pushesPerMinute: 61, watchers: 100 }\nstreams: { server: other, burstSeconds: 2 }\n';
  const plan = await server.reload(yaml({ studio: next, top, sources }).replace('[studio-token]', '[relay-token]'));
  t.match(planText(plan), /^~ stations\.house\.channels\.studio\.name: "Studio" → "Night" \(at once\)$/m);
  t.notMatch(planText(plan), /[0-9a-f]{64}|token|demo-source/, 'no secret is shown');

  t.equal(await status(t, server, 'GET /metapush/studio/studio-token?song=a'), 403, 'the old token');
  const pushed = await ask(t, server.port, "GET /metapush/studio/relay-token?song=It's HTTP/1.1");
  t.equal(pushed.status, 200, 'the new one');
  await all.listener.until(({ titles }) => titles.some(({ title }) => title === 'It’s'));
  const polled = await ask(t, server.port, 'GET /metadata/channel/studio.json HTTP/1.1');
  t.equal(polled.json().channel, 'Night');
  const later = new Player(server.port, '/night.mp3');
  await later.until(({ audioBytes }) => audioBytes > 0);
  t.equal(later.headers.get('icy-name'), 'Night');
  t.equal(later.headers.get('server'), 'other');
  await all.areWell(t);
  const third = new Player(server.port, '/studio');
  await third.until(({ audioBytes }) => audioBytes > 0);
  // Counted over all processes, a moment later.
  const isFull = async () => {
    const more = new Player(server.port, '/studio');
    await more.until(({ status }) => status !== 0);
    more.close();
    return more.status === 503;
  };
  await until(isFull, 10_000, () => 'one more than maxListeners');
  later.close();
  third.close();

  t.equal(await new Feeder(t, server.port, '/studio').answered(), 401, 'the old password');
  t.equal(await new Feeder(t, server.port, '/studio', { password: 'studio-token' }).answered(), 200);
  await all.encoder.over();
});

t.test(
  'a channel comes, another goes: its listeners and watchers are disconnected cleanly, all others stay',
  async (t) => {
    const server = await startServer(
      t,
      yaml({ more: `      gone: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }` }),
    );
    const all = await new Bystanders(t, server).here();
    t.equal(await status(t, server, 'GET /metadata/channel/gone.json'), 204);
    const listener = new Player(server.port, '/gone', { keep: true });
    const watcher = await new Watching(t, `${server.ws}/metadata/channel/gone`).opened();
    const station = await new Watching(t, `${server.ws}/metadata/station/house`).opened();
    await listener.until(({ audioBytes }) => audioBytes > 20_000);
    t.equal(await status(t, server, 'GET /come'), 404);

    const come = `      come: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
    const plan = await server.reload(yaml({ more: come }));
    t.same(
      plan.changes.map(({ path, kind }) => [path, kind]),
      [
        ['stations.house.channels.gone', 'removed'],
        ['stations.house.channels.come', 'added'],
      ],
    );
    await listener.until(({ closed }) => closed);
    t.equal(framesIn(listener.audio).skippedBytes < 500, true, 'it ends with a whole frame');
    await until(() => watcher.code === 1001, 5000);
    for (const path of ['/gone', '/gone.m3u', '/metadata/channel/gone.json'])
      t.equal(await status(t, server, `GET ${path}`), 404);
    t.equal(await status(t, server, 'GET /metapush/gone/demo-token?song=a'), 403);

    const newcomer = new Player(server.port, '/come');
    await newcomer.until(({ audioBytes }) => audioBytes > 0);
    newcomer.close();
    t.equal(await status(t, server, 'GET /metapush/come/demo-token?song=first'), 200);
    t.equal(await status(t, server, 'GET /come.m3u'), 200);
    await station.has(1);
    t.equal(station.records[0].channelkey, 'come', 'who watches the station hears of it');
    const stations = (await ask(t, server.port, 'GET /metadata/stations.json HTTP/1.1')).json();
    t.same(
      stations[0].channels.map((channel: { readonly channelkey: string }) => channel.channelkey),
      ['studio', 'music', 'come'],
    );
    await all.areWell(t);

    await server.reload(yaml({ more: come.replace('come:', 'gone:') }));
    t.equal(await status(t, server, 'GET /gone.m3u'), 200, 'and back');
    await server.reload(yaml({ more: come }));
    const again = await ask(t, server.port, 'GET /metadata/channel/come.json HTTP/1.1');
    t.equal(again.json().song, 'first', 'what was on air is kept meanwhile');
    await all.areWell(t);
  },
);

t.test('a station goes and comes back: what is polled of it is as it is now', async (t) => {
  const late = (name: string) =>
    `  late: { channels: { one: { name: ${name}, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] } } }`;
  const server = await startServer(t, yaml({ more: late('First') }));
  await status(t, server, 'GET /metapush/one/demo-token?song=a');
  const shown = async () => (await ask(t, server.port, 'GET /metadata/station/late.json HTTP/1.1')).json()[0].channel;
  t.equal(await shown(), 'First');
  await server.reload(yaml());
  await server.reload(yaml({ more: late('Second') }));
  t.equal(await shown(), 'Second');
});

t.test('sources come, go and change places', async (t) => {
  const folder = tempFolder(t);
  const second = join(folder, 'second.mp3');
  copyFileSync(DEMO_AUDIO, second);
  const server = await startServer(t, yaml());
  const all = await new Bystanders(t, server).here();
  const encoder = '{ type: encoder, password: demo-source }';
  const file = `{ type: file, path: ${second} }`;
  await server.reload(yaml({ sources: `[${encoder}, ${file}]` }));
  await all.areWell(t);
  all.encoder.socket.destroy();
  const before = all.listener.audioBytes;
  await all.listener.until(({ audioBytes }) => audioBytes > before + 100_000, 20_000);
  t.notOk(all.listener.closed, 'the new file is what it falls back to');

  const upstream = (path: string) =>
    `{ type: pull, url: 'http://127.0.0.1:${server.port}${path}', allowPrivate: true }`;
  const onAir = async (kind: string) => {
    const wanted = `airsplice_source_heard{channel="studio",kind="${kind}"`;
    let last = '';
    const text = async () => {
      const { body } = await ask(t, server.port, 'GET /metrics HTTP/1.1');
      last = body
        .split('\n')
        .filter((line) => line.includes('"studio"') && line.startsWith('airsplice_source'))
        .join('\n');
      return body;
    };
    await until(
      async () => (await text()).split('\n').some((line) => line.startsWith(wanted) && line.endsWith(' 1')),
      20_000,
      () => `${kind} is not on air: ${last}`,
      100,
    );
  };
  await server.reload(yaml({ sources: `[${upstream('/music')}, ${file}]` }));
  await onAir('pull');
  const changed = await server.reload(yaml({ sources: `[${upstream('/music?other')}, ${file}]` }));
  t.match(planText(changed), /\+ stations\.house\.channels\.studio\.sources\[0\]: none → pull/);
  await onAir('pull');
  await server.reload(yaml({ sources: `[${file}]` }));
  await onAir('file');
  t.equal(await new Feeder(t, server.port, '/studio').answered(), 404, 'it takes no encoder any more');
  await server.reload(yaml({ sources: `[${encoder}, ${file}]` }));
  new Feeder(t, server.port, '/studio').stream(t);
  await onAir('encoder');
  t.notOk(all.listener.closed);
  const { audio } = all.listener;
  const { frames, skippedBytes } = framesIn(audio);
  t.ok(skippedBytes < 500 && frames.length > 400, `${frames.length} whole frames, ${skippedBytes} bytes of none`);
});

t.test('a mount goes: who plays it goes on, newcomers find nothing', async (t) => {
  const server = await startServer(t, yaml({ studio: 'mounts: [/a.mp3, /b.mp3]' }));
  new Feeder(t, server.port, '/studio').stream(t);
  const player = await playing(server, '/a.mp3');
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 0);
  await server.reload(yaml({ studio: 'mounts: [/b.mp3, /c.mp3]' }));
  t.equal(await status(t, server, 'GET /a.mp3'), 404);
  t.equal(await status(t, server, 'HEAD /c.mp3'), 200);
  const before = player.audioBytes;
  await player.until(({ audioBytes }) => audioBytes > before + 30_000);
});

/** With workers ports and problems are looked at from outside: e2e/reload-workers. */
const inside = { skip: WORKERS > 0 ? 'one process' : false };

t.test('addresses come and go, and have other roles', inside, async (t) => {
  const [first, second] = [await freePort(), await freePort()];
  const at = (...all: string[]) => `[${all.join(', ')}]`;
  const address = (port: number, more = '') => `{ host: 127.0.0.1, port: ${port}, shoutcastPort: false${more} }`;
  const server = await startServer(t, yaml({ addresses: at(address(first)) }));
  const all = await new Bystanders(t, server).here();
  await server.reload(yaml({ addresses: at(address(first), address(second, ', roles: [stream, ops]')) }));
  t.same(server.app.ports, [first, second]);
  t.equal(await status(t, server, 'GET /metrics', second), 200);
  t.equal(await status(t, server, 'GET /metapush/studio/studio-token', second), 404, 'no pushes there');
  const there = new Player(second, '/music');
  await there.until(({ audioBytes }) => audioBytes > 0);

  await server.reload(yaml({ addresses: at(address(first), address(second, ', roles: [push]')) }));
  t.equal(await status(t, server, 'GET /metapush/studio/studio-token?song=a', second), 200);
  t.equal(await status(t, server, 'GET /music', second), 404);
  await server.reload(yaml({ addresses: at(address(first)) }));
  await t.rejects(status(t, server, 'GET /metrics', second), 'nobody listens there');
  const before = there.audioBytes;
  await there.until(({ audioBytes }) => audioBytes > before + 30_000);
  t.notOk(there.closed, 'who came by an address that has gone plays on');
  there.close();

  const taken = net.createServer().listen(second, '127.0.0.1');
  await new Promise((done) => taken.once('listening', done));
  const refused = yaml({ addresses: at(address(first), address(second)), studio: 'name: Never' });
  await t.rejects(server.reload(refused), /EADDRINUSE/);
  t.not((await ask(t, server.port, 'GET /metadata/stations.json HTTP/1.1')).json()[0].channels[0].name, 'Never');
  taken.close();
  await all.areWell(t);

  await server.reload(yaml({ addresses: at(address(first).replace('127.0.0.1', '0.0.0.0')) }));
  t.equal(await status(t, server, 'GET /metrics', first), 200, 'the same port for all networks');
  const other = at(address(first).replace('127.0.0.1', '0.0.0.0').replace(': false', `: ${second}`));
  await server.reload(yaml({ addresses: other }));
  t.same(server.app.shoutcastPorts, [second]);
  await all.areWell(t);
});

t.test('nothing is kept of addresses that have gone, or of their options of before', inside, async (t) => {
  const [first, second] = [await freePort(), await freePort()];
  const roles = ['stream', 'push', 'poll'];
  const server = await startServer(t, yaml());
  const turn = async (i: number) => {
    const one = `{ host: 127.0.0.1, port: ${first}, shoutcastPort: false, roles: [${roles[i % 3]}, ops] }`;
    const other = `{ host: 127.0.0.1, port: ${second}, shoutcastPort: false }`;
    await server.reload(yaml({ addresses: `[${i % 2 === 0 ? one : `${one}, ${other}`}]` }));
    t.equal(await status(t, server, 'GET /metrics', first), 200);
  };
  const held = () => [http.Server, Front].map(alive);
  for (let i = 0; i < 4; i++) await turn(i);
  const before = held();
  for (let i = 4; i < 16; i++) await turn(i);
  // Of an address that goes its server is closed with the next reload.
  const after = held();
  t.ok(
    after.every((count, i) => count <= before[i]! + 2),
    `HTTP servers and fronts: ${after}, before ${before}`,
  );
});

t.test('what needs a restart is refused whole, and named', inside, async (t) => {
  const server = await startServer(t, yaml());
  const top = 'log: { bufferBytes: 2048 }\nsessions: { max: 5 }';
  const error = await server.reload(yaml({ top, studio: 'name: Never' })).catch((thrown) => thrown);
  t.ok(error instanceof NeedsRestart);
  t.match(error.message, /^! log\.bufferBytes: 1048576 → 2048 \(needs a restart\)$/m);
  t.match(error.message, /^! sessions\.max/m);
  t.not((await ask(t, server.port, 'GET /metadata/stations.json HTTP/1.1')).json()[0].channels[0].name, 'Never');
  const metrics = (await ask(t, server.port, 'GET /metrics HTTP/1.1')).body;
  t.match(metrics, /^airsplice_config_reloads_total\{result="applied"\} 0$/m);
});

t.test('an address at the port where another one had SHOUTcast', inside, async (t) => {
  const first = await freePort();
  const address = (port: number) => `{ host: 127.0.0.1, port: ${port} }`;
  const server = await startServer(t, yaml({ addresses: `[${address(first)}]` }));
  t.same(server.app.shoutcastPorts, [first + 1]);
  const all = await new Bystanders(t, server).here();
  await server.reload(
    yaml({ addresses: `[${address(first)}, { host: 127.0.0.1, port: ${first + 1}, roles: [ops] }]` }),
  );
  t.same(server.app.ports, [first, first + 1]);
  t.same(server.app.shoutcastPorts, [undefined, undefined]);
  t.equal(await status(t, server, 'GET /metrics', first + 1), 200);
  await server.reload(yaml({ addresses: `[${address(first)}]` }));
  t.same(server.app.shoutcastPorts, [first + 1], 'and back');
  await all.areWell(t);
});
