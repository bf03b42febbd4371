/** Reload with workers: all processes take another configuration in one step, in place (src/processes/README.md, "Reload"). Real processes. */

import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { PEM } from '../kit/certificate.js';
import { airsplice } from '../kit/command-line.js';
import { DEMO_FRAMES, Feeder } from '../kit/feeder.js';
import { Machine, onePerWorker, RESTARTED_MS, strayBytes, WORKERS } from '../kit/machine.js';
import type { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { connectTo } from '../kit/process-sockets.js';
import { processStory } from '../kit/process-story.js';
import { ProgramCopy } from '../kit/program-copy.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';
import { askWorker } from '../kit/worker-answer.js';

// They wait more than they compute.
t.jobs = 2;

interface Written {
  readonly addresses?: readonly string[];
  readonly top?: string;
  readonly studio?: string;
  readonly more?: readonly string[];
}

/** A station with an encoder's channel, `studio`, a file's, `music`, and others that play a file. Old workers would serve for an hour. */
const yaml = (port: number, { addresses = [], top = '', studio = '', more = [] }: Written = {}) => `
addresses: [${[`{ host: 127.0.0.1, port: ${port} }`, ...addresses].join(', ')}]
shutdown: { drainSeconds: 3600 }
demoSecretsInPublic: 'yes, anybody may push and stream to this server'
${top}
stations:
  house:
    channels:
      studio: { bitrateKbps: 128, ${studio || 'pushTokens: [studio-token],'} sources: [{ type: encoder, password: demo-source }] }
      music: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
${more.map((key) => `      ${key}: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }`).join('\n')}
`;
const addressAt = (port: number, host = '127.0.0.1') => `{ host: ${host}, port: ${port}, shoutcastPort: false }`;

/** A machine, and what it is to become. */
class Changing {
  readonly machine: Machine;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  static async start(t: Test, written: Written = {}, program?: ProgramCopy): Promise<Changing> {
    return new Changing(await Machine.start(t, (port) => yaml(port, written), program?.launcher));
  }

  write(written: Written): void {
    const head = readFileSync(this.machine.config, 'utf8').split('\n').slice(0, 2);
    writeFileSync(this.machine.config, [...head, yaml(this.machine.port, written)].join('\n'));
  }

  /** `airsplice reload`. */
  reload(written: Written, ...options: readonly string[]) {
    this.write(written);
    return airsplice(['reload', ...options, this.machine.config]);
  }

  /** The same of each worker that takes connections. */
  async each<T>(of: (pid: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.machine.pidsOf('worker').map(of));
  }

  /** Status of each worker. */
  statuses(path: string, port = this.machine.port): Promise<number[]> {
    return this.each(async (pid) => (await askWorker(pid, port, path)).status);
  }

  pids(): number[] {
    return this.machine.children.map(({ pid }) => pid).sort((a, b) => a - b);
  }
}

const everywhere = <T>(value: T): T[] => Array(WORKERS).fill(value);

/** Each of them hears more, in whole frames. */
async function allContinue(t: Test, players: Iterable<Player>): Promise<void> {
  for (const player of players) {
    const { audioBytes } = player;
    await player.until((p) => p.audioBytes > audioBytes + 48_000, RESTARTED_MS);
    t.notOk(player.closed, 'the listener plays on');
    t.equal(strayBytes(player.audio), 0, 'whole frames');
  }
}

/** An encoder over TLS, whose bytes a worker passes on. */
function encodeOverTls(t: Test, port: number, path: string) {
  const socket = tls.connect({ port, host: '127.0.0.1', ca: readFileSync(`${PEM}one.cert.pem`) });
  const encoder = { answer: '', isClosed: false };
  socket.on('data', (chunk: Buffer) => {
    encoder.answer += chunk.toString('latin1');
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      encoder.isClosed = true;
    });
  const login = Buffer.from('source:demo-source').toString('base64');
  socket.write(`PUT ${path} HTTP/1.1\r\nAuthorization: Basic ${login}\r\nContent-Type: audio/mpeg\r\n\r\n`);
  let at = 0;
  const timer = setInterval(() => {
    socket.write(Buffer.concat(DEMO_FRAMES.slice(at, at + 10)));
    at = at + 10 >= DEMO_FRAMES.length ? 0 : at + 10;
  }, 200);
  t.teardown(() => {
    clearInterval(timer);
    socket.destroy();
  });
  return encoder;
}

t.test(
  'channels, mounts, names, tokens and an address: the same processes, and who is not concerned notices nothing',
  async (t) => {
    const [second, third] = [await freePort(), await freePort()];
    const changing = await Changing.start(t, { addresses: [addressAt(second)], more: ['gone'] });
    const { machine } = changing;
    const encoder = new Feeder(t, machine.port, '/studio').stream(t);
    t.equal(await encoder.answered(), 200);
    const players = [];
    for (const path of ['/studio', '/music']) players.push(...(await onePerWorker(t, machine, path)).values());
    const leaving = [...(await onePerWorker(t, machine, '/gone')).values()];
    const watch = (path: string) => new Watching(t, `ws://127.0.0.1:${machine.port}/metadata/${path}`).opened();
    const watching = await Promise.all(Array.from({ length: 4 }, () => watch('station/house')));
    const ended = await Promise.all(Array.from({ length: 4 }, () => watch('channel/gone')));
    const kept = await connectTo(machine.pidsOf('worker')[0]!, second);
    const before = changing.pids();
    // One whose body comes after the reload.
    const pushing = await connectTo(machine.pidsOf('worker')[1]!, machine.port);
    pushing.write(
      'POST /metapush/music/demo-token HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nsong=',
    );

    const planned = {
      addresses: [addressAt(third)],
      more: ['come'],
      studio: 'name: Night, mounts: [/night], pushTokens: [relay-token],',
    };
    const { code, out, err } = await changing.reload(planned);
    t.equal(code, 0, err);
    t.match(out, /\+ stations\.house\.channels\.come .*/);
    t.strictSame(changing.pids(), before, 'no process was replaced');

    kept.write('GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    pushing.write('late');
    for (const socket of [kept, pushing]) {
      let text = '';
      for await (const chunk of socket) text += String(chunk);
      t.match(text, /^HTTP\/1\.1 200 /, 'a connection that was there is served');
    }

    // What is in force is in force in all of them.
    t.same(await changing.statuses('/come.m3u'), everywhere(200));
    t.same(await changing.statuses('/gone.m3u'), everywhere(404));
    t.same(await changing.statuses('/night.m3u'), everywhere(200));
    t.same(await changing.statuses('/readyz', third), everywhere(200), 'at the new address');
    t.same(await changing.statuses('/metapush/studio/studio-token?song=old'), everywhere(403));
    t.same(await changing.statuses('/metapush/come/demo-token?song=first'), everywhere(200));
    const stations = await changing.each(
      async (pid) => (await askWorker(pid, machine.port, '/metadata/stations.json')).body,
    );
    for (const body of stations)
      t.match(
        JSON.parse(body)[0].channels.map(({ name }: { name: string }) => name),
        ['Night', 'music', 'come'],
      );
    for (const each of watching)
      await until(() => each.records.some(({ channelkey }) => channelkey === 'come'), RESTARTED_MS);
    const newcomers = [...(await onePerWorker(t, machine, '/come')).values()];
    for (const each of newcomers)
      await each.until(({ titles }) => titles.some(({ title }) => title === 'first'), RESTARTED_MS);

    // Who is concerned is let go politely.
    for (const player of leaving) {
      await player.until(({ closed }) => closed, RESTARTED_MS);
      t.equal(strayBytes(player.audio), 0, 'it ends with a whole frame');
    }
    for (const each of ended)
      await until(
        () => each.code === 1001,
        RESTARTED_MS,
        () => `${each.code}`,
      );
    const refused = () =>
      new Promise((resolve) =>
        net
          .connect(second, '127.0.0.1')
          .once('error', resolve)
          .once('connect', () => resolve(null)),
      );
    t.match(await refused(), { code: 'ECONNREFUSED' }, 'the address that went');
    await allContinue(t, players);
    t.notOk(encoder.closed, 'the encoder was not cut');
    for (const each of watching) t.equal(each.code, 0);
    const metrics = await (await fetch(`${machine.server.base}/metrics`)).text();
    t.match(metrics, /^airsplice_config_reloads_total\{result="applied"\} 1$/m);
    t.match(metrics, /^airsplice_config_last_reload_successful 1$/m);

    // It comes back with what was on air, and goes again.
    t.equal((await changing.reload({ ...planned, more: [] })).code, 0);
    t.same(await changing.statuses('/come.m3u'), everywhere(404));
    for (const player of newcomers) await player.until(({ closed }) => closed, RESTARTED_MS);
    t.equal((await changing.reload(planned)).code, 0);
    const polled = await changing.each(
      async (pid) => (await askWorker(pid, machine.port, '/metadata/channel/come.json')).body,
    );
    for (const body of polled) t.equal(JSON.parse(body).song, 'first');
    await onePerWorker(t, machine, '/come');
    t.notMatch(machine.server.err, /internal error|restarting it/);
  },
);

t.test('reloads, before and behind a restart: nobody loses a frame, a title or a push', (t) =>
  processStory(t, new Random(), { listeners: 20, acts: ['reload', 'reload', 'restart', 'reload'] }),
);

t.test('an encoder over TLS, whose bytes a worker passes on', async (t) => {
  const secure = await freePort();
  const pair = `certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem`;
  const before = `{ host: 127.0.0.1, port: ${secure}, tls: { ${pair} } }`;
  const changing = await Changing.start(t, { addresses: [before] });
  const encoder = encodeOverTls(t, secure, '/studio');
  await until(() => encoder.answer.includes('\r\n\r\n'), RESTARTED_MS);
  t.match(encoder.answer, /^HTTP\/1\.0 200 /);
  const players = [...(await onePerWorker(t, changing.machine, '/studio')).values()];
  // Its address has another certificate, its channel another name.
  const after = before.replaceAll('one.', 'two.');
  const { code, err } = await changing.reload({ addresses: [after], studio: 'name: Night,', more: ['come'] });
  t.equal(code, 0, err);
  await allContinue(t, players);
  t.notOk(encoder.isClosed);
  for (const pid of changing.machine.pidsOf('worker')) {
    const socket = tls.connect({ socket: await connectTo(pid, secure), ca: readFileSync(`${PEM}two.cert.pem`) });
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    socket.destroy();
  }
});

t.test('what one process cannot have is had by none; afterwards it can', async (t) => {
  const [second, taken] = [await freePort(), await freePort()];
  const changing = await Changing.start(t, { addresses: [addressAt(second)] });
  const { machine } = changing;
  const players = [...(await onePerWorker(t, machine, '/music')).values()];
  const other = net.createServer();
  await new Promise<void>((resolve) => other.listen(taken, '127.0.0.1', resolve));
  t.teardown(() => other.close());
  const wanted = { addresses: [addressAt(taken), addressAt(second, '0.0.0.0')], more: ['come'] };
  const refused = await changing.reload(wanted);
  t.equal(refused.code, 2);
  t.match(refused.err, new RegExp(`EADDRINUSE.*${taken}`));
  t.same(await changing.statuses('/come.m3u'), everywhere(404));
  t.same(await changing.statuses('/readyz', second), everywhere(200), 'what had made way is there again');
  const metrics = await (await fetch(`${machine.server.base}/metrics`)).text();
  t.match(metrics, /^airsplice_config_reloads_total\{result="refused"\} 1$/m);
  t.match(metrics, /^airsplice_config_last_reload_successful 0$/m);

  await new Promise((resolve) => other.close(resolve));
  const { code, err } = await changing.reload(wanted);
  t.equal(code, 0, err);
  t.same(await changing.statuses('/come.m3u', taken), everywhere(200));
  t.same(await changing.statuses('/come.m3u', second), everywhere(200), 'another host at the same port');
  await allContinue(t, players);

  // One that is started later has the same ports.
  const [killed] = machine.pidsOf('worker');
  const ready = machine.logged('"process ready"');
  process.kill(killed!, 'SIGKILL');
  await until(
    () => machine.logged('"process ready"') > ready,
    RESTARTED_MS,
    () => machine.news,
  );
  for (const port of [machine.port, second, taken]) t.same(await changing.statuses('/come.m3u', port), everywhere(200));
  t.equal(machine.logged('restarting it'), 1, machine.news);
});

t.test('the level of the log is that of all processes', async (t) => {
  const changing = await Changing.start(t);
  const { machine } = changing;
  const tryEach = async () => {
    for (const pid of machine.pidsOf('worker')) {
      const socket = await connectTo(pid, machine.port);
      socket.resume().on('error', () => undefined);
      socket.write('PUT /studio HTTP/1.1\r\nHost: x\r\n\r\n');
      await new Promise((resolve) => socket.once('close', resolve));
    }
  };
  await tryEach();
  t.equal((await changing.reload({ top: 'log: { level: debug }' })).code, 0);
  await tryEach();
  await until(
    () => machine.logged('encoder without credentials') === WORKERS,
    RESTARTED_MS,
    () => machine.news,
  );
  const encoder = new Feeder(t, machine.port, '/studio').stream(t);
  t.equal(await encoder.answered(), 200);
  // The hub's.
  await until(
    () => machine.logged('sources, best first') > 0,
    RESTARTED_MS,
    () => machine.news,
  );
});

t.test('what needs a restart is refused and named; with --restart it is one', async (t) => {
  const changing = await Changing.start(t);
  const { machine } = changing;
  const before = changing.pids();
  const players = [...(await onePerWorker(t, machine, '/music')).values()];
  const top = 'limits: { handshakes: 99 }';
  const refused = await changing.reload({ top, more: ['come'] });
  t.equal(refused.code, 2);
  t.match(refused.err, /! limits\.handshakes: \d+ → 99 \(needs a restart\)\n.* reload --restart CONFIG` /);
  t.same(await changing.statuses('/come.m3u'), everywhere(404), 'nothing was changed');
  t.strictSame(changing.pids(), before);

  const restarted = await changing.reload({ top, more: ['come'] }, '--restart');
  t.equal(restarted.code, 0, restarted.err);
  t.match(restarted.out, /handshakes/);
  t.equal(changing.pids().filter((pid) => before.includes(pid)).length, WORKERS, 'old workers serve whom they have');
  await until(
    async () => (await fetch(`${machine.server.base}/come.m3u`, { headers: { connection: 'close' } })).status === 200,
    RESTARTED_MS,
  );
  // Old ones cannot take what they cannot change: they go on, and hold nobody up.
  const { code, err } = await changing.reload({ top, more: ['come', 'more'] });
  t.equal(code, 0, err);
  await allContinue(t, players);

  const own = await airsplice(['check', machine.config]);
  t.equal(own.code, 0);
  writeFileSync(machine.config, readFileSync(machine.config, 'utf8').replace(/^workers: \d+/, 'workers: 7'));
  const never = await airsplice(['reload', '--restart', machine.config]);
  t.equal(never.code, 2);
  t.match(never.err, /! workers: 2 → 7 \(needs a restart\)\n$/);
});

t.test('workers of before a restart take it too', async (t) => {
  const changing = await Changing.start(t, { more: ['gone'] });
  const { machine } = changing;
  const players = [...(await onePerWorker(t, machine, '/music')).values()];
  const leaving = [...(await onePerWorker(t, machine, '/gone')).values()];
  machine.server.child.kill('SIGUSR2');
  await until(
    () => machine.logged('"restarted"') === 1,
    RESTARTED_MS,
    () => machine.news,
  );
  const { code, err } = await changing.reload({ more: ['come'] });
  t.equal(code, 0, err);
  for (const player of leaving) {
    await player.until(({ closed }) => closed, RESTARTED_MS);
    t.equal(strayBytes(player.audio), 0, 'it ends with a whole frame');
  }
  await allContinue(t, players);
});

t.test('processes that know other steps: a rolling restart with the new text', async (t) => {
  const program = new ProgramCopy(t);
  const changing = await Changing.start(t, {}, program);
  const { machine } = changing;
  const players = [...(await onePerWorker(t, machine, '/music')).values()];
  program.raise('STEPS_VERSION');
  t.match(await program.restart(machine.config), { code: 0 });
  const before = changing.pids();
  const { code, err } = await changing.reload({ more: ['come'] });
  t.equal(code, 0, err);
  t.equal(machine.logged('"restarted"'), 2);
  t.notOk(before.includes(machine.pidsOf('hub')[0]!), 'it is another hub');
  await until(
    async () => (await fetch(`${machine.server.base}/come.m3u`, { headers: { connection: 'close' } })).status === 200,
    RESTARTED_MS,
  );
  await allContinue(t, players);
});
