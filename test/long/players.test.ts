/**
 * Real players on each codec, an encoder's channel with a file behind it: GStreamer, Audacious and MPD connect, keep time, show the titles, have no
 * complaint, play on when the encoder is killed, and go as they always do when the server goes. The neighbour of e2e/players.test.ts.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { audacious } from '../kit/audacious.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { mpdPlayer } from '../kit/mpd-player.js';
import { playbin } from '../kit/playbin.js';
import { Player } from '../kit/player.js';
import { type PlayerKind, PlayerProgram, type Shown } from '../kit/player-program.js';
import { freePorts } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const KINDS: readonly { readonly kind: PlayerKind; readonly needs: readonly string[] }[] = [
  { kind: playbin, needs: ['gst-launch-1.0'] },
  { kind: audacious, needs: ['audacious', 'audtool', 'dbus-run-session', 'bash'] },
  { kind: mpdPlayer, needs: ['mpd', 'mpc', 'bash'] },
];

interface Codec {
  /** Of the mount: by it Audacious tells codecs of Ogg apart. */
  readonly ending: string;
  readonly options: readonly string[];
  readonly type: string;
}

const CODECS: Readonly<Record<string, Codec>> = {
  mp3: { ending: 'mp3', options: ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3'], type: 'audio/mpeg' },
  aac: { ending: 'aac', options: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'], type: 'audio/aac' },
  vorbis: { ending: 'ogg', options: ['-c:a', 'libvorbis', '-b:a', '96k', '-f', 'ogg'], type: 'audio/ogg' },
  opus: {
    ending: 'opus',
    options: ['-c:a', 'libopus', '-ar', '48000', '-b:a', '64k', '-f', 'ogg'],
    type: 'audio/ogg',
  },
  flac: { ending: 'flac', options: ['-c:a', 'flac', '-f', 'ogg'], type: 'audio/ogg' },
};

const FIRST = { artist: 'Anna Ähre', song: 'Lied' };
const SECOND = { artist: '', song: 'Björk – Jóga' };
const HERTZ = '44100';
/** A title is late by the burst, and by what a player reads ahead; and fifteen players start at once. */
const PATIENCE_MS = 60_000;
const BURST_MS = 5000;
/** For so long they are compared with the clock ... */
const WATCH_MS = 8000;
/** ... and differ at most by so much: they report whole seconds, twice a second. */
const MAX_OFF_MS = 2000;
/** GStreamer stops to fill its buffers again some seconds after it has begun, so a while may be tried again. */
const WHILES = 3;

t.setTimeout(170_000);
t.jobs = Object.keys(CODECS).length + 1;

for (const name of Object.keys(CODECS)) t.test(name, { skip: missing('ffmpeg') }, (t) => story(t, name));
t.test('Opus, then a file of MP3', { skip: missing('ffmpeg') }, (t) => formatChanges(t));

/** A channel and its encoder, heard. */
async function onAir(t: Test, name: string, fileCodec = name) {
  const { ending, options, type } = CODECS[name]!;
  const folder = tempFolder(t);
  const file = join(folder, fileCodec === 'flac' ? 'file.oga' : `file.${CODECS[fileCodec]!.ending}`);
  const made = ['-t', '60', '-i', DEMO_AUDIO, '-ar', HERTZ, ...CODECS[fileCodec]!.options, file];
  execFileSync('ffmpeg', ['-v', 'error', '-nostdin', ...made]);
  const port = await freePorts(2);
  const { log, lines } = keepLines();
  const yaml = `
addresses: [{ host: 127.0.0.1, port: ${port} }]
sources: { stallMs: 8000 }
stations:
  demo:
    channels:
      air:
        mounts: [/air.${ending}]
        pushTokens: [demo-token]
        sources: [{ type: encoder, password: demo-source }, { type: file, path: ${file} }]
`;
  const start = () => startServer(t, yaml, folder, log);
  const encode = async () => {
    const input = ['-re', '-stream_loop', '-1', '-i', DEMO_AUDIO, '-ar', HERTZ];
    const to = ['-content_type', type, `icecast://source:demo-source@127.0.0.1:${port}/air.${ending}`];
    const program = new Program(t, 'ffmpeg', ['-v', 'error', '-nostdin', ...input, ...options, ...to]);
    await program.until(() => heard() === 'encoder', 30_000, 'it is not heard');
    return program;
  };
  const heard = () => sourceChanges(lines).at(-1);
  const server = await start();
  const url = `${server.base}/air.${ending}`;
  return { server, encoder: await encode(), start, encode, heard, url };
}

async function push(t: Test, base: string, { artist, song }: Shown): Promise<void> {
  const query = new URLSearchParams({ artist: artist || 'false', song });
  t.equal((await fetch(`${base}/metapush/air/demo-token?${query}`)).status, 200);
}

function playersOf(t: Test, url: string): PlayerProgram[] {
  return KINDS.flatMap(({ kind, needs }) => {
    const skip = missing(...needs);
    if (skip === false) return [new PlayerProgram(t, kind, url)];
    t.pass(kind.name ?? kind.program, { skip });
    return [];
  });
}

async function story(t: Test, codec: string): Promise<void> {
  const { server, encoder, start, encode, heard, url } = await onAir(t, codec);
  await push(t, server.base, FIRST);
  // Whoever joins from here on hears nothing but this title: its link, in Ogg.
  await audioPasses(t, server.port, new URL(url).pathname, BURST_MS + 3000);
  const players = playersOf(t, url);
  await all(t, players, 'shows the title in force', (one) => one.shows(FIRST, codec) && one.position > 0);
  await keepTime(t, players, 'in real time');

  await push(t, server.base, SECOND);
  const chained = players.filter(({ kind }) => kind.limits?.[codec] !== 'one link');
  const telling = players.filter(({ kind }) => kind.limits?.[codec] === undefined);
  await all(t, telling, 'shows the change', (one) => one.shows(SECOND, codec));
  encoder.child.kill('SIGKILL');
  await until(() => heard() === 'file', 15_000);
  // Until they have played what they had of the encoder.
  await audioPasses(t, server.port, new URL(url).pathname, 2 * BURST_MS);
  await keepTime(t, chained, 'on, through the file');
  for (const { name, ended, complaints } of players) {
    t.equal(ended, undefined, `${name} is there`);
    t.same(complaints, [], `${name} has no complaint`);
  }

  const marks = new Map(players.map((one) => [one, one.said.length]));
  await server.app.stop();
  await all(t, players, 'ends with the server', (one) => one.isOver(marks.get(one)!));
  await start();
  await encode();
  await audioPasses(t, server.port, new URL(url).pathname, 2 * BURST_MS);
  await againPlays(t, players, url);
}

/** They come to the end of the stream, and play the other one when they are asked to. */
async function formatChanges(t: Test): Promise<void> {
  const { server, encoder, heard, url } = await onAir(t, 'opus', 'mp3');
  await audioPasses(t, server.port, new URL(url).pathname, BURST_MS);
  const players = playersOf(t, url);
  await all(t, players, 'plays', (one) => one.position > 0);
  const marks = new Map(players.map((one) => [one, one.said.length]));
  encoder.child.kill('SIGKILL');
  await until(() => heard() === 'file', 15_000);
  await all(t, players, 'comes to an end', (one) => one.isOver(marks.get(one)!));
  for (const { name, complaints } of players) t.same(complaints, [], `${name} has no complaint`);
  await againPlays(t, players, url);
}

/** What has ended is started anew, what has stopped is asked to play. */
async function againPlays(t: Test, players: readonly PlayerProgram[], url: string): Promise<void> {
  const anew = players.map((one) => (one.ended === undefined ? one : new PlayerProgram(t, one.kind, url)));
  const resume = () => {
    for (const one of anew) if (one.kind.again !== undefined) one.command(one.kind.again);
  };
  resume();
  // Some do not hear it while they are still letting go.
  const timer = setInterval(resume, 5000);
  t.teardown(() => clearInterval(timer));
  const marks = new Map(anew.map((one) => [one, one.said.length]));
  await all(t, anew, 'plays again', (one) => one.positionSince(marks.get(one)!) > 2);
  clearInterval(timer);
}

async function all(
  t: Test,
  players: readonly PlayerProgram[],
  what: string,
  ready: (one: PlayerProgram) => boolean,
): Promise<void> {
  const describe = () => players.map((one) => `${one.name}: ${ready(one)} ${one.said.slice(-500)}`).join('\n');
  await until(() => players.every(ready), PATIENCE_MS, describe).catch((error: Error) => t.comment(error.message));
  for (const one of players) t.ok(ready(one), `${one.name} ${what}`);
}

/** Their positions move as the clock does for the whole of a while, in one of WHILES tries. */
async function keepTime(t: Test, players: readonly PlayerProgram[], what: string): Promise<void> {
  let late = players;
  for (let left = WHILES; left > 0 && late.length > 0; left--) {
    const startMs = performance.now();
    const starts = new Map(late.map((one) => [one, one.position]));
    await until(() => performance.now() - startMs > WATCH_MS, 4 * WATCH_MS);
    late = late.filter((one) => {
      const [playedMs, passedMs] = [(one.position - starts.get(one)!) * 1000, performance.now() - startMs];
      t.comment(`${one.name}: ${playedMs.toFixed(0)} of ${passedMs.toFixed(0)} ms`);
      return Math.abs(playedMs - passedMs) > MAX_OFF_MS;
    });
  }
  for (const one of players) t.notOk(late.includes(one), `${one.name} plays ${what}`);
}

/** Waits so long, while a listener gets audio. @param ms in real time, from its first byte on */
async function audioPasses(t: Test, port: number, path: string, ms: number): Promise<void> {
  const player = new Player(port, path);
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 0);
  const startMs = performance.now();
  await until(() => performance.now() - startMs > ms, 4 * ms);
  t.notOk(player.closed, 'audio comes');
  player.close();
}
