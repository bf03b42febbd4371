/**
 * Each alert made for real: encoders that end, send silence or the wrong bitrate, no titles, a store that moves away, a slow and a full disk, an almost
 * expired certificate, listeners up to the limit, a worker and a hub that are killed. A real receiver gets one alert of each, and one when it is over.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Feeder, framesIn } from '../kit/feeder.js';
import { Machine } from '../kit/machine.js';
import { Player } from '../kit/player.js';
import { freePorts, ServerProcess } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { Receiver } from '../kit/receiver.js';
import { atOnce, DEMO_AUDIO, demoYaml, startServer, WORKERS } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

t.jobs = atOnce(4);

const ENCODER = '{ type: encoder, password: demo-source }';
/** Long for a machine that is busy. */
const LONG_MS = 60_000;

/** What makes a condition an alert half a second after it has begun. */
function alertsYaml(receiver: Receiver, more = ''): string {
  return `alerts: { webhooks: [{ url: '${receiver.url}' }], name: here, afterSeconds: 0.5, againSeconds: 0${more} }`;
}

function yaml(receiver: Receiver, channels: string, more = '', rest = ''): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
${alertsYaml(receiver, more)}
${rest}
stations:
  house:
    channels:
${channels}
`;
}

/** Waits until this has come of an event, in this order, and nothing else. */
async function hasSent(t: Test, receiver: Receiver, event: string, ...wanted: string[]): Promise<void> {
  await until(
    () => receiver.of(event).length >= wanted.length,
    LONG_MS,
    () => `${event}: ${JSON.stringify(receiver.alerts)}`,
  );
  t.strictSame(receiver.of(event), wanted, event);
}

t.test('an encoder is lost and comes back: with a file behind it, and with nothing', async (t) => {
  const receiver = await Receiver.open(t);
  const channels = `
      backed: { sources: [${ENCODER}, { type: file, path: ${DEMO_AUDIO} }] }
      bare: { sources: [${ENCODER}] }
      sunday: { partTime: true, sources: [${ENCODER}] }`;
  const { port } = await startServer(t, yaml(receiver, channels));
  const [backed, bare] = [new Feeder(t, port, '/backed').stream(t), new Feeder(t, port, '/bare').stream(t)];
  t.equal(await bare.answered(), 200);
  // Before they came they were missed, perhaps.
  await until(() => ['source-lost', 'no-audio'].every((event) => receiver.of(event).length % 2 === 0), LONG_MS);
  backed.socket.destroy();
  bare.socket.destroy();
  const last = (event: string) => receiver.of(event).slice(-2).sort();
  await until(() => last('source-lost').join() === 'firing backed,firing bare', LONG_MS);
  await until(() => receiver.of('no-audio').at(-1) === 'firing bare', LONG_MS);
  const lost = receiver.alerts.findLast(({ event, subject }) => event === 'source-lost' && subject === 'backed');
  t.match(lost, { channel: 'backed', onAir: 'file', lost: 'encoder', station: 'house', severity: 'warning' });
  new Feeder(t, port, '/backed').stream(t);
  new Feeder(t, port, '/bare').stream(t);
  await until(() => last('source-lost').join() === 'resolved backed,resolved bare', LONG_MS);
  await until(() => receiver.of('no-audio').at(-1) === 'resolved bare', LONG_MS);
  t.notOk(
    receiver.alerts.some(({ subject }) => subject === 'sunday'),
    'which is not missed',
  );
});

t.test('digital silence, and sound again', { skip: missing('ffmpeg') }, async (t) => {
  const receiver = await Receiver.open(t);
  const channels = `
      live: { sources: [${ENCODER}] }`;
  const { port } = await startServer(t, yaml(receiver, channels, '', 'sources: { silentSeconds: 1 }'));
  const path = join(tempFolder(t), 'silence.mp3');
  const input = ['-f', 'lavfi', '-i', 'anullsrc=r=44100:cl=stereo', '-t', '4', '-b:a', '128k'];
  execFileSync('ffmpeg', ['-v', 'error', '-y', ...input, path]);
  const feeder = new Feeder(t, port, '/live');
  const { frames } = feeder;
  feeder.frames = framesIn(readFileSync(path)).frames;
  feeder.stream(t);
  await hasSent(t, receiver, 'silence', 'firing live');
  feeder.frames = frames;
  await hasSent(t, receiver, 'silence', 'firing live', 'resolved live');
});

t.test('a bitrate that is not the configured one', async (t) => {
  const receiver = await Receiver.open(t);
  const channels = `
      live: { bitrateKbps: 256, sources: [${ENCODER}] }`;
  const { port } = await startServer(t, yaml(receiver, channels));
  new Feeder(t, port, '/live').stream(t);
  await hasSent(t, receiver, 'bitrate-off', 'firing live');
  t.match(
    receiver.alerts.find(({ event }) => event === 'bitrate-off'),
    { measuredKbps: 128 },
  );
});

t.test('a certificate that is about to expire, and its successor', { skip: missing('openssl') }, async (t) => {
  const receiver = await Receiver.open(t);
  const folder = tempFolder(t);
  const certify = (days: number) => {
    const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
    const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', String(days)];
    execFileSync('openssl', ['req', ...options, ...files], { stdio: 'ignore' });
  };
  certify(2);
  const rest = `addresses:
  - { host: 127.0.0.1, port: 0 }
  - { host: 127.0.0.1, port: 0, tls: { certFile: ${join(folder, 'cert.pem')}, keyFile: ${join(folder, 'key.pem')} } }`;
  const channels = `
      file: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
  await startServer(t, yaml(receiver, channels, '', rest).replace('addresses: [{ host: 127.0.0.1, port: 0 }]\n', ''));
  await until(() => receiver.of('certificate').length === 1, LONG_MS);
  const certificate = receiver.alerts.find(({ event }) => event === 'certificate');
  t.match(certificate, { severity: 'critical', daysLeft: 1 });
  certify(90);
  await until(() => receiver.of('certificate').length === 2, LONG_MS);
  t.match(receiver.of('certificate')[1], /^resolved 127/);
});

t.test('limits that are near: listeners and watchers, whichever process they are at', async (t) => {
  const receiver = await Receiver.open(t);
  const channels = `
      file: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
  const { port, ws } = await startServer(t, yaml(receiver, channels, '', 'limits: { listeners: 4, watchers: 2 }'));
  const players = [1, 2, 3].map(() => new Player(port, '/file'));
  for (const player of players) await player.until(({ audioBytes }) => audioBytes > 0);
  const first = await new Watching(t, `${ws}/metadata/channel/file`).opened();
  t.strictSame(receiver.of('limit-near'), [], '75 % and 50 %');
  const fourth = new Player(port, '/file');
  await hasSent(t, receiver, 'limit-near', 'firing listeners');
  t.match(receiver.alerts[0], { count: 4, most: 4, severity: 'critical' });
  for (const player of [...players, fourth]) player.close();
  await hasSent(t, receiver, 'limit-near', 'firing listeners', 'resolved listeners');
  t.equal(first.ws.readyState, 1);
  await new Watching(t, `${ws}/metadata/channel/file`).opened();
  await hasSent(t, receiver, 'limit-near', 'firing listeners', 'resolved listeners', 'firing watchers');
});

t.test("a channel's own limit, beside a channel that has none", async (t) => {
  const receiver = await Receiver.open(t);
  const channels = `
      listeners: { maxListeners: 2, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      open: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
  const { port } = await startServer(t, yaml(receiver, channels));
  const [first, ...others] = ['/listeners', '/open', '/open'].map((path) => new Player(port, path));
  for (const player of [first!, ...others]) await player.until(({ audioBytes }) => audioBytes > 0);
  t.strictSame(receiver.of('limit-near'), [], '50 %');
  const second = new Player(port, '/listeners');
  t.teardown(() => {
    for (const player of [second, ...others]) player.close();
  });
  await hasSent(t, receiver, 'limit-near', 'firing maxListeners of listeners');
  t.match(receiver.alerts[0], { channel: 'listeners', limit: 'maxListeners', count: 2, most: 2, severity: 'critical' });
  first!.close();
  await hasSent(t, receiver, 'limit-near', 'firing maxListeners of listeners', 'resolved maxListeners of listeners');
});

t.test('the store moves away and comes back; a webhook that fails gets all of it later', async (t) => {
  const receiver = await Receiver.open(t);
  let isUp = false;
  receiver.answer = (response) => void response.writeHead(isUp ? 200 : 500).end();
  const channels = `
      file: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
  const more = ', retrySeconds: { min: 0.2, max: 0.5 }';
  const { base, folder } = await startServer(t, yaml(receiver, channels, more));
  const store = join(folder, 'data');
  renameSync(store, `${store}.away`);
  await until(() => receiver.received.length > 1, LONG_MS);
  t.equal((await fetch(`${base}/readyz`)).status, 503);
  renameSync(`${store}.away`, store);
  await until(async () => (await fetch(`${base}/readyz`)).status === 200, LONG_MS);
  isUp = true;
  await until(() => receiver.of('store-fault').at(-1) === 'resolved ', LONG_MS);
  t.strictSame([...new Set(receiver.of('store-fault'))], ['firing ', 'resolved ']);
  const metrics = await (await fetch(`${base}/metrics`)).text();
  t.match(metrics, /^airsplice_alert_deliveries_total\{webhook="1",outcome="delivered"\} 2$/m);
  t.match(metrics, /^airsplice_alert_deliveries_total\{webhook="1",outcome="failed"\} [1-9]/m);
  t.match(metrics, /^airsplice_alerts_waiting\{webhook="1"\} 0$/m);
});

t.test('no titles for a minute, and a title again', { timeout: 200_000 }, async (t) => {
  const receiver = await Receiver.open(t);
  const channels = `
      file: { pushTokens: [demo-token], noTitlesMinutes: 1, sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      never: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
  const { base } = await startServer(t, yaml(receiver, channels));
  await until(() => receiver.of('no-titles').length === 1, 120_000);
  const push = await fetch(`${base}/metapush/file/demo-token?song=x&duration=30`);
  t.equal(push.status, 200);
  await hasSent(t, receiver, 'no-titles', 'firing file', 'resolved file');
});

t.test('a slow disk: a title waits', async (t) => {
  const receiver = await Receiver.open(t);
  const channels = `
      file: { pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;
  // Slower than nothing is slow enough for a test.
  const { base } = await startServer(t, yaml(receiver, channels, ', slowSaveMs: 1'));
  for (let i = 0; receiver.of('disk-slow').length === 0 && i < 500; i++) {
    await (await fetch(`${base}/metapush/file/demo-token?song=${i}`)).text();
  }
  await hasSent(t, receiver, 'disk-slow', 'firing ');
});

const isRoot = process.getuid?.() === 0;
t.test('a disk that is almost full', { skip: isRoot ? missing('unshare') : 'only root can mount' }, async (t) => {
  const receiver = await Receiver.open(t);
  const folder = tempFolder(t);
  const port = await freePorts(2);
  const config = join(folder, 'config.yaml');
  const data = join(folder, 'data');
  execFileSync('mkdir', [data]);
  writeFileSync(
    config,
    `data: { folder: ${data} }\n${alertsYaml(receiver, ', freeMegabytes: 50')}\n${demoYaml('', port)}`,
  );
  const launcher = ['unshare', '-m', 'sh', '-c', `mount -t tmpfs -o size=40m tmpfs ${data} && exec "$0" "$@"`];
  const server = new ServerProcess(t, port, [config], {}, launcher);
  await server.ready();
  await hasSent(t, receiver, 'disk-full', 'firing ');
});

t.test('processes that die', { timeout: 240_000, skip: WORKERS > 0 ? 'it starts its own' : false }, async (t) => {
  const receiver = await Receiver.open(t);
  const machine = await Machine.start(t, (port) => `${alertsYaml(receiver)}\n${demoYaml('', port)}`);
  process.kill(machine.pidsOf('worker')[0]!, 'SIGKILL');
  await hasSent(t, receiver, 'process-died', 'firing worker');
  process.kill(machine.pidsOf('hub')[0]!, 'SIGKILL');
  await hasSent(t, receiver, 'process-died', 'firing worker', 'firing hub');
  await hasSent(t, receiver, 'process-died', 'firing worker', 'firing hub', 'resolved hub');
});
