/**
 * A stream that goes on in another format: in another codec all listeners are ended, in another sample rate or number of channels those whose players cannot
 * go on; each with a whole frame, and none is sent anything of the other format. Also with workers, and on two machines.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Framer } from '../../src/audio/frames/framer.js';
import { adtsFrame, adtsHeader } from '../kit/adts.js';
import { Feeder } from '../kit/feeder.js';
import { leftover } from '../kit/frame-recorder.js';
import { keepLines } from '../kit/log-lines.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { atOnce, DEMO_AUDIO, knownEverywhere, metricsOf, startServer, type TestServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = atOnce(4);
t.setTimeout(240_000);

const CHROMIUM =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
const MPV = 'libmpv';

const DEMO_FILE = `{ type: file, path: ${DEMO_AUDIO} }`;

/** Silent frames; of MPEG 1 at 128 kb/s. */
function frames(header: Uint8Array | readonly number[], bytes: number): readonly Buffer[] {
  return [Buffer.concat([Buffer.from(header), Buffer.alloc(bytes - header.length)])];
}

const STEREO_44 = frames([0xff, 0xfb, 0x90, 0x00], 417);
const STEREO_48 = frames([0xff, 0xfb, 0x94, 0x00], 384);
const MONO_44 = frames([0xff, 0xfb, 0x90, 0xc0], 417);
const LAYER_TWO = frames([0xff, 0xfd, 0x80, 0x00], 417);
const AAC = [adtsFrame(new Random(), 365, {}).frame];

/** Its header has half the rate that is heard; with parametric stereo also one channel. */
const AAC_PLUS = frames(adtsHeader({ rateIndex: 7, channels: 2, lengthBytes: 200 }), 200);
const AAC_PLUS_PS = frames(adtsHeader({ rateIndex: 7, channels: 1, lengthBytes: 150 }), 150);

interface Begin {
  readonly first?: readonly Buffer[];
  readonly files?: string;
}

async function start(t: Test, channel: string, more = '', { first = STEREO_44, files = DEMO_FILE }: Begin = {}) {
  const { log, lines } = keepLines();
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { burstSeconds: 1, ${more} }
stations: { s: { channels: { live: { ${channel} sources: [{ type: encoder, password: demo-source }, ${files}] } } } }
`,
    undefined,
    log,
  );
  const changes = () =>
    lines.filter(({ message }) => message === 'another format').map(({ from, to }) => `${from} → ${to}`);
  const feeder = new Feeder(t, server.port, '/live', { frames: first }).stream(t, 4);
  t.equal(await feeder.answered(), 200);
  const listen = async (agent: string, icy = false) => {
    const player = new Player(server.port, '/live', { agent, icy, keep: true });
    t.teardown(() => player.close());
    await player.until(({ audioBytes }) => audioBytes > 10_000);
    return player;
  };
  return { server, feeder, listen, changes };
}

/** Codec, hertz and channels of all frames that a player got, each once. */
function formatsOf({ audio }: Player): string[] {
  const formats = new Set<string>();
  const framer: Framer = new Framer({
    onFrame: () => void formats.add(`${framer.codec} ${framer.sampleRate}/${framer.channels}`),
  });
  framer.push(audio);
  return [...formats];
}

async function ends(t: Test, players: readonly Player[], formats: readonly string[]): Promise<void> {
  await until(
    () => players.every(({ closed }) => closed),
    10_000,
    () => `${players.map(({ closed }) => closed)}`,
  );
  for (const player of players) {
    t.same(formatsOf(player), formats);
    t.equal(leftover(player.audio), 0, 'a whole frame is the last');
  }
}

/** The file has played until the encoder came. */
async function hasRate({ base }: TestServer, sampleRate: number): Promise<void> {
  const says = async () => (await fetch(`${base}/live`, { method: 'HEAD' })).headers.get('ice-audio-info');
  await until(async () => (await says())?.includes(`samplerate=${sampleRate}`) === true, 10_000);
  await knownEverywhere();
}

async function typeAtPage({ base }: TestServer): Promise<string> {
  const answer = await fetch(`${base}/web/channels.json`);
  return ((await answer.json()) as { type: string }[])[0]!.type;
}

t.test('another codec on one connection: all are ended, and come again for the right type', async (t) => {
  const { server, feeder, listen, changes } = await start(t, '');
  const players = [await listen(MPV), await listen(MPV, true), await listen(CHROMIUM)];
  t.equal(players[0]!.headers.get('content-type'), 'audio/mpeg');
  feeder.frames = AAC;
  await ends(t, players, ['mp3 44100/2']);
  const next = await listen(MPV, true);
  t.equal(next.headers.get('content-type'), 'audio/aac');
  t.same(formatsOf(next), ['aac 44100/2']);
  await until(() => changes().length === 1, 5000);
  t.same(changes(), ['MP3, 44.1 kHz, stereo → AAC, 44.1 kHz, stereo']);
  t.match((await metricsOf(server)).join('\n'), /airsplice_format_changes_total\{channel="live"\} 1\n/);
});

t.test('layer II behind layer III, and back: as another codec, under the same type', async (t) => {
  const { server, feeder, listen, changes } = await start(t, '');
  const players = [await listen(MPV), await listen(MPV, true), await listen(CHROMIUM)];
  feeder.frames = LAYER_TWO;
  await ends(t, players, ['mp3 44100/2']);
  const next = [await listen(MPV, true), await listen(CHROMIUM)];
  for (const each of next) {
    t.equal(each.headers.get('content-type'), 'audio/mpeg');
    t.same(formatsOf(each), ['mp2 44100/2']);
  }
  // Of audio/mpeg every browser says that it plays it.
  await until(async () => (await typeAtPage(server)) === 'audio/mp2', 5000);
  feeder.frames = STEREO_44;
  await ends(t, next, ['mp2 44100/2']);
  await until(() => changes().length === 2, 5000);
  t.same(changes(), ['MP3, 44.1 kHz, stereo → MP2, 44.1 kHz, stereo', 'MP2, 44.1 kHz, stereo → MP3, 44.1 kHz, stereo']);
  t.match((await metricsOf(server)).join('\n'), /airsplice_format_changes_total\{channel="live"\} 2\n/);
});

for (const [name, frames, format] of [
  ['another sample rate', STEREO_48, 'mp3 48000/2'],
  ['mono', MONO_44, 'mp3 44100/1'],
] as const) {
  t.test(`${name}: those are ended whose players cannot go on`, async (t) => {
    const { server, feeder, listen, changes } = await start(t, '');
    const ended = [await listen(CHROMIUM), await listen(CHROMIUM, true)];
    const staying = [await listen(MPV), await listen(MPV, true)];
    feeder.frames = frames;
    await ends(t, ended, ['mp3 44100/2']);
    const next = [await listen(CHROMIUM, true), await listen(CHROMIUM)];
    for (const each of next) t.same(formatsOf(each), [format], 'who comes again begins behind it');
    for (const each of staying) {
      await each.until((player) => formatsOf(player).length === 2);
      t.same(formatsOf(each), ['mp3 44100/2', format]);
      t.notOk(each.closed);
    }
    await until(() => changes().length === 1, 5000);
    t.match((await metricsOf(server)).join('\n'), /airsplice_format_changes_total\{channel="live"\} 1\n/);
    // The encoder goes, the file is of the first format.
    feeder.socket.destroy();
    await ends(t, next, [format]);
    for (const each of staying) t.notOk(each.closed);
  });
}

for (const [name, first, format] of [
  ['AAC+', AAC_PLUS, 'aac 22050/2'],
  ['AAC+ with parametric stereo', AAC_PLUS_PS, 'aac 22050/1'],
] as const) {
  t.test(`${name}, a fallback of AAC without it, and back`, async (t) => {
    const path = join(tempFolder(t), 'lc.aac');
    writeFileSync(path, Buffer.concat(Array.from({ length: 400 }, () => AAC[0]!)));
    const { server, feeder, listen, changes } = await start(t, '', '', {
      first,
      files: `{ type: file, path: ${path} }`,
    });
    await hasRate(server, 22_050);
    const ended = [await listen(CHROMIUM), await listen(CHROMIUM, true)];
    const staying = [await listen(MPV), await listen(MPV, true)];
    feeder.socket.destroy();
    await ends(t, ended, [format]);
    const next = [await listen(CHROMIUM), await listen(CHROMIUM, true)];
    new Feeder(t, server.port, '/live', { frames: first }).stream(t, 4);
    await ends(t, next, ['aac 44100/2']);
    t.same(formatsOf(await listen(CHROMIUM)), [format]);
    for (const each of staying) t.notOk(each.closed);
    const heard = `AAC, 22.05 kHz, ${format.endsWith('1') ? 'mono' : 'stereo'}`;
    // One line a second at most.
    for (const change of [`${heard} → AAC, 44.1 kHz, stereo`, `AAC, 44.1 kHz, stereo → ${heard}`])
      await until(
        () => changes().includes(change),
        5000,
        () => `${changes()}, not ${change}`,
      );
    t.match((await metricsOf(server)).join('\n'), /airsplice_format_changes_total\{channel="live"\} [23]\n/);
  });
}

t.test('of several fallback files the one in the format on air: nobody notices', async (t) => {
  const folder = tempFolder(t);
  const file = (name: string, [frame]: readonly Buffer[]) => {
    const path = join(folder, name);
    writeFileSync(path, Buffer.concat(Array.from({ length: 400 }, () => frame!)));
    return `{ type: file, path: ${path} }`;
  };
  const files = [
    file('a.mp3', STEREO_48),
    file('b.aac', AAC),
    file('b.mp2', LAYER_TWO),
    file('c.mp3', MONO_44),
    file('d.mp3', STEREO_44),
  ];
  const { server, feeder, listen, changes } = await start(t, '', '', { files: files.join(', ') });
  await hasRate(server, 44_100);
  const players = [await listen(CHROMIUM), await listen(MPV, true)];
  feeder.socket.destroy();
  const before = players.map(({ audioBytes }) => audioBytes);
  for (const [i, player] of players.entries())
    await player.until(({ audioBytes }) => audioBytes > before[i]! + 64_000, 15_000);
  for (const player of players) t.same(formatsOf(player), ['mp3 44100/2']);
  const again = new Feeder(t, server.port, '/live', { frames: AAC }).stream(t, 4);
  await ends(t, players, ['mp3 44100/2']);
  const next = await listen(CHROMIUM);
  again.socket.destroy();
  const from = next.audioBytes;
  await next.until(({ audioBytes }) => audioBytes > from + 64_000, 15_000);
  t.same(formatsOf(next), ['aac 44100/2']);
  // Before the encoder came the first file had played.
  t.match(changes().at(-1), /^MP3, .* → AAC, /);
});

t.test('there and back within a moment: nothing of what was between', async (t) => {
  const { feeder, listen } = await start(t, '');
  const players = [await listen(CHROMIUM), await listen(CHROMIUM, true)];
  feeder.frames = STEREO_48;
  feeder.send(4);
  feeder.frames = STEREO_44;
  feeder.send(4);
  await ends(t, players, ['mp3 44100/2']);
});

t.test('behind a delay line: where listeners come to that place, and not before', async (t) => {
  const { feeder, listen } = await start(t, 'delaySeconds: 3,');
  const player = await listen(CHROMIUM);
  const before = player.audioBytes;
  feeder.frames = STEREO_48;
  await ends(t, [player], ['mp3 44100/2']);
  // 16 KB a second; up to a second of it is lost with the segment in which the format changes.
  t.ok(player.audioBytes - before > 16_000, `${player.audioBytes - before} bytes later`);
});

t.test('by the table of players, which is an option', async (t) => {
  const { feeder, listen } = await start(t, '', 'endsOnFormatChange: { Chrome/: [], libmpv: [ogg, mp3] }');
  const [chromium, mpv] = [await listen(CHROMIUM), await listen(MPV)];
  feeder.frames = STEREO_48;
  await ends(t, [mpv], ['mp3 44100/2']);
  await chromium.until((player) => formatsOf(player).length === 2);
  t.notOk(chromium.closed);
});
