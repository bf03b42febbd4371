/**
 * Debian's Icecast 2 as a relay of ours, and ours as a relay of it: each gets the other's audio byte for byte (Ogg: whole), with titles that Latin-1 does
 * not hold, while encoders are killed and come back, either server is restarted, and beside a mount that is not there.
 */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { Framer } from '../../src/audio/frames/framer.js';
import { ICECAST_PASSWORD, Icecast, noIcecast } from '../kit/icecast.js';
import { keepLines, type LogLine, sourceChanges } from '../kit/log-lines.js';
import { Player } from '../kit/player.js';
import { freePort, freePorts } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const MP3 = ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3', '-content_type', 'audio/mpeg'];
const AAC = ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts', '-content_type', 'audio/aac'];
const VORBIS = ['-c:a', 'libvorbis', '-b:a', '96k', '-f', 'ogg', '-content_type', 'audio/ogg'];
const OPUS = ['-c:a', 'libopus', '-ar', '48000', '-b:a', '64k', '-f', 'ogg', '-content_type', 'audio/ogg'];
const FLAC = ['-c:a', 'flac', '-f', 'ogg', '-content_type', 'audio/ogg'];
const CODECS: Readonly<Record<string, readonly string[]>> = {
  mp3: MP3,
  aac: AAC,
  vorbis: VORBIS,
  opus: OPUS,
  flac: FLAC,
};
const isOgg = (codec: string) => CODECS[codec]!.includes('ogg');

const TITLE = 'Björk – Jóga';
/** How often Icecast looks whether a relay has to be started. */
const RELAY_SECONDS = 3;
const LISTEN_MS = 8000;
const PATIENCE_MS = 30_000;

t.setTimeout(170_000);
t.jobs = 2;
const skip = noIcecast || missing('ffmpeg');

/** Music in real time, to ours or to Icecast. */
function encode(t: Test, port: number, codec: string): Program {
  const input = ['-re', '-stream_loop', '-1', '-i', DEMO_AUDIO, '-ar', '44100', ...CODECS[codec]!];
  const url = `icecast://source:${ICECAST_PASSWORD}@127.0.0.1:${port}/${codec}`;
  return new Program(t, 'ffmpeg', ['-v', 'error', '-nostdin', ...input, url]);
}

/** Other bytes than the encoder's. */
async function fileOf(codec: string, path: string): Promise<void> {
  const options = CODECS[codec]!.slice(0, CODECS[codec]!.indexOf('-content_type'));
  await promisify(execFile)('ffmpeg', [
    '-v',
    'error',
    '-t',
    '30',
    '-i',
    DEMO_AUDIO,
    '-af',
    'volume=0.5',
    '-ar',
    '44100',
    ...options,
    path,
  ]);
}

const heardOf = (lines: readonly LogLine[], channel: string) => sourceChanges(lines, channel).at(-1);

async function passes(ms: number): Promise<void> {
  const startMs = performance.now();
  await until(() => performance.now() - startMs > ms, 4 * ms);
}

/** One listener's audio, from some place in it on, is another's: what lies before may be made for who joins. */
function isPartOf(t: Test, part: Buffer, whole: Buffer, what: string): void {
  const from = 20_000;
  const at = whole.indexOf(part.subarray(from, from + 200));
  const length = Math.min(part.length - from, whole.length - at);
  t.ok(at >= 0 && length > 50_000, `${what}: ${length} bytes to compare`);
  t.ok(part.subarray(from, from + length).equals(whole.subarray(at, at + length)), `${what}: byte for byte`);
}

/** ffmpeg finds nothing wrong with it. MP3 and AAC end with the last whole frame. */
async function isWhole(t: Test, audio: Buffer, codec: string): Promise<void> {
  const frames: Buffer[] = [];
  if (!isOgg(codec)) new Framer({ onFrame: ({ bytes: frame }) => void frames.push(Buffer.from(frame)) }).push(audio);
  const path = join(tempFolder(t), 'heard');
  writeFileSync(path, isOgg(codec) ? audio : Buffer.concat(frames));
  // By a pipe: in a file of several links it looks for the end of the first one.
  const command = `ffmpeg -v error -i - -f null - < ${path}`;
  const { stderr } = await promisify(execFile)('sh', ['-c', command]);
  // Where Icecast begins a link of Vorbis of its own, two blocks have one time.
  const complaints = stderr.split('\n').filter((line) => line !== '' && !/non monotonically increasing dts/.test(line));
  t.same(complaints, [], `${codec}: ffmpeg has nothing to say`);
}

t.test('Icecast relays ours', { skip }, async (t) => {
  const port = await freePorts(2);
  const names = Object.keys(CODECS);
  const { log, lines } = keepLines();
  const folder = tempFolder(t);
  for (const name of names) await fileOf(name, join(folder, name));
  const channel = (name: string) => `      ${name}:
        pushTokens: [demo-token]
        sources: [{ type: encoder, password: ${ICECAST_PASSWORD} }, { type: file, path: ${join(folder, name)} }]
`;
  const yaml = `
addresses: [{ host: 127.0.0.1, port: ${port} }]
sources: { stallMs: 8000 }
stations:
  demo:
    channels:
${names.map(channel).join('')}`;
  let server = await startServer(t, yaml, folder, log);
  const encoders = names.map((name) => encode(t, port, name));
  await until(() => names.every((name) => heardOf(lines, name) === 'encoder'), PATIENCE_MS);

  const relay = (mount: string) => `<relay>
    <server>127.0.0.1</server><port>${port}</port><mount>/${mount}</mount><local-mount>/far-${mount}</local-mount>
    <on-demand>0</on-demand><relay-shoutcast-metadata>1</relay-shoutcast-metadata>
  </relay>`;
  const relays = [...names, 'nowhere'].map(relay).join('\n  ');
  const update = `<master-update-interval>${RELAY_SECONDS}</master-update-interval>`;
  // Its listeners get the bytes of a title as they are, its own pages need a charset.
  const charsets = ['mp3', 'aac'].map(
    (name) => `<mount type="normal"><mount-name>/far-${name}</mount-name><charset>UTF-8</charset></mount>`,
  );
  const icecast = new Icecast(t, await freePort(), `${update}${relays}${charsets.join('')}`);
  const near = new Map(names.map((name) => [name, new Player(port, `/${name}`, { icy: false, keep: true })]));
  await icecast.start();
  const isThere = async () => (await Promise.all(names.map((name) => icecast.has(`/far-${name}`)))).every(Boolean);
  await until(isThere, PATIENCE_MS, () => icecast.said);
  t.notOk(await icecast.has('/far-nowhere'), 'a mount that is not there is not relayed');
  const far = new Map(
    names.map((name) => [name, new Player(icecast.port, `/far-${name}`, { icy: false, keep: true })]),
  );
  const icy = new Map(['mp3', 'aac'].map((name) => [name, new Player(icecast.port, `/far-${name}`)]));
  for (const player of [...near.values(), ...far.values(), ...icy.values()]) t.teardown(() => player.close());

  for (const name of names) {
    const query = new URLSearchParams({ artist: 'Björk', song: 'Jóga', separator: ' – ' });
    await fetch(`${server.base}/metapush/${name}/demo-token?${query}`);
  }
  for (const [name, player] of icy) {
    await player.until((one) => one.titles.at(-1)?.title === TITLE, PATIENCE_MS).catch(() => undefined);
    t.equal(player.titles.at(-1)?.title, TITLE, `${name}: the title of its listeners`);
  }
  await passes(LISTEN_MS);
  const facts = await icecast.facts();
  const titles = names.map((name) => facts.find(({ listenurl }) => listenurl.endsWith(`/far-${name}`))?.title);
  t.same(titles, [TITLE, TITLE, 'Jóga', undefined, undefined], 'its statistics show what it reads: no Opus, no FLAC');

  for (const encoder of encoders) encoder.child.kill('SIGKILL');
  await until(() => names.every((name) => heardOf(lines, name) === 'file'), PATIENCE_MS);
  const before = new Map(names.map((name) => [name, far.get(name)!.audioBytes]));
  await passes(LISTEN_MS);
  for (const name of names) {
    const player = far.get(name)!;
    t.notOk(player.closed, `${name}: its listeners stay when the encoder is killed`);
    t.ok(player.audioBytes > before.get(name)! + 20_000, `${name}: and hear the file`);
    if (!isOgg(name)) isPartOf(t, player.audio, near.get(name)!.audio, name);
    await isWhole(t, player.audio, name);
  }

  await server.app.stop();
  const isGone = async () => !(await Promise.all(names.map((name) => icecast.has(`/far-${name}`)))).some(Boolean);
  await until(isGone, PATIENCE_MS);
  server = await startServer(t, yaml, folder, log);
  const restartMs = performance.now();
  await until(isThere, PATIENCE_MS, () => icecast.said);
  t.comment(`relayed again ${Math.round(performance.now() - restartMs)} ms after the restart`);
  await icecast.stop();
  await icecast.start();
  await until(isThere, PATIENCE_MS, () => icecast.said);
  const last = new Player(icecast.port, '/far-mp3');
  t.teardown(() => last.close());
  await last.until((one) => one.titles.at(-1)?.title === TITLE && one.audioBytes > 20_000, PATIENCE_MS);
});

async function hasTitle(
  t: Test,
  record: (name: string) => Promise<Record<string, unknown>>,
  name: string,
  wanted: Readonly<Record<string, string>>,
): Promise<void> {
  const found = async () => {
    const all = await record(name);
    return Object.fromEntries(Object.keys(wanted).map((key) => [key, all[key]]));
  };
  await until(async () => JSON.stringify(await found()) === JSON.stringify(wanted), 10_000).catch(() => undefined);
  t.same(await found(), wanted, `${name}: the title that Icecast got`);
}

t.test('ours pulls from Icecast', { skip }, async (t) => {
  const icecast = new Icecast(t, await freePort());
  await icecast.start();
  const { log, lines } = keepLines();
  const names = ['mp3', 'aac', 'vorbis', 'opus'];
  const folder = tempFolder(t);
  for (const name of names) await fileOf(name, join(folder, name));
  const source = (name: string) =>
    `{ type: pull, url: 'http://127.0.0.1:${icecast.port}/${name}', allowPrivate: true }`;
  const channel = (name: string) =>
    `      near-${name}: { sources: [${source(name)}, { type: file, path: ${join(folder, name === 'nowhere' ? 'mp3' : name)} }] }\n`;
  const port = await freePorts(2);
  const encoders = new Map(names.map((name) => [name, encode(t, icecast.port, name)]));
  const isThere = async () => (await Promise.all(names.map((name) => icecast.has(`/${name}`)))).every(Boolean);
  await until(isThere, PATIENCE_MS);
  const { base } = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: ${port} }]
sources: { stallMs: 8000 }
stations:
  demo:
    channels:
${[...names, 'nowhere'].map(channel).join('')}`,
    folder,
    log,
  );
  const isHeard = (source: string) => () => names.every((name) => heardOf(lines, `near-${name}`) === source);
  await until(isHeard('pull'), PATIENCE_MS, () => JSON.stringify(lines));
  const far = new Map(names.map((name) => [name, new Player(icecast.port, `/${name}`, { icy: false, keep: true })]));
  const near = new Map(names.map((name) => [name, new Player(port, `/near-${name}`, { keep: true })]));
  for (const player of [...near.values(), ...far.values()]) t.teardown(() => player.close());
  await passes(LISTEN_MS);

  const record = async (name: string) => {
    const answer = await fetch(`${base}/metadata/channel/near-${name}.json`);
    return answer.status === 200 ? ((await answer.json()) as Record<string, unknown>) : {};
  };
  // Icecast 2.4 shows titles of Opus and FLAC only as their encoders put them into the stream; those of Vorbis it writes as a TITLE.
  for (const name of ['mp3', 'aac']) {
    await icecast.setTitle(`/${name}`, 'Sigur Rós - Hoppípolla', 'UTF-8');
    await hasTitle(t, record, name, { artist: 'Sigur Rós', song: 'Hoppípolla' });
    await icecast.setTitle(`/${name}`, TITLE, 'UTF-8');
    await hasTitle(t, record, name, { artist: 'Björk', song: 'Jóga', rawdata: TITLE });
  }
  await icecast.setTitle('/vorbis', TITLE, 'UTF-8');
  await hasTitle(t, record, 'vorbis', { rawdata: TITLE });
  await passes(LISTEN_MS);
  for (const name of names) {
    const audio = near.get(name)!.audio;
    if (!isOgg(name)) isPartOf(t, audio, far.get(name)!.audio, name);
    await isWhole(t, audio, name);
  }

  for (const encoder of encoders.values()) encoder.child.kill('SIGKILL');
  await until(isHeard('file'), PATIENCE_MS);
  for (const name of names) encode(t, icecast.port, name);
  await until(isHeard('pull'), PATIENCE_MS, () => JSON.stringify(lines.slice(-20)));
  await icecast.stop();
  await until(isHeard('file'), PATIENCE_MS);
  await icecast.start();
  for (const name of names) encode(t, icecast.port, name);
  const restartMs = performance.now();
  await until(isHeard('pull'), PATIENCE_MS, () => JSON.stringify(lines.slice(-20)));
  t.comment(`pulled again ${Math.round(performance.now() - restartMs)} ms after the restart`);
  for (const [name, player] of near) t.notOk(player.closed, `${name}: nobody was sent away`);
  const failures = lines.filter(({ message, channel }) => message === 'upstream failed' && channel === 'near-nowhere');
  t.same(failures.map(({ reason }) => reason).slice(0, 1), ['the upstream answered 404']);
  t.equal(heardOf(lines, 'near-nowhere'), 'file', 'a mount that is not there: the file');
});
