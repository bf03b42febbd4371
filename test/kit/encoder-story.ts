/**
 * The story of every encoder program with a real server: each refusal, including that of a mount in use; connecting, seconds of whole
 * audio, a title with letters beyond ASCII, a restart of the server, the program killed and stopped.
 */

import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { framerFor } from '../../src/audio/frames/format.js';
import { type EncoderKind, type Refusal, type Target, WATCH_MS } from './encoder-kind.js';
import { proxyAddingHead, refusingServer } from './encoder-proxy.js';
import { feed } from './icecast.js';
import { keepLines, type LogLine, sourceChanges } from './log-lines.js';
import { Player } from './player.js';
import { freePorts } from './process.js';
import { missing, type Program } from './program.js';
import { DEMO_AUDIO, startServer, type TestServer } from './server.js';
import { tempFolder } from './temp-folder.js';
import { until } from './until.js';

const PASSWORD = 'demo-source';
const MOUNT = '/air';
const HERTZ = 44_100;
const SOUND_SECONDS = 600;
const TITLE = { artist: 'Björk', song: 'Jóga' };
const LISTEN_MS = 10_000;
/** Audio that may be missing from real time: a program, its encoder and an unfinished page hold it back. */
const MAX_SHORT_MS = 6000;
const START_MS = 40_000;
/** Names in our log for streams with bytes that are not audio (health.ts). */
const UNSOUND: readonly unknown[] = ['no-frames', 'damaged', 'broken-body'];

/** Runs these programs through the story, one after the other. */
export function encoderStories(kinds: readonly EncoderKind[]): void {
  t.setTimeout(600_000);
  for (const kind of kinds) {
    t.test(kind.name, { skip: missing(...kind.needs, 'ffmpeg') }, async (t) => {
      t.jobs = 5;
      const sound = makeSound(t);
      for (const refusal of Object.keys(kind.refused).map(Number) as Refusal[]) {
        t.test(`refused with ${refusal}`, (t) => refused(t, kind, sound, refusal));
      }
      t.test('heard', (t) => heard(t, kind, sound));
    });
  }
}

function makeSound(t: Test): string {
  const path = join(tempFolder(t), 'sound.wav');
  const sine = `sine=frequency=500:sample_rate=${HERTZ}:duration=${SOUND_SECONDS}`;
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', sine, '-ac', '2', path]);
  return path;
}

const yaml = (port: number, limits = '') => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
sources: { stallMs: 8000 }
${limits}
stations:
  demo:
    channels:
      air: { sources: [{ type: encoder, password: ${PASSWORD} }, { type: file, path: ${DEMO_AUDIO} }] }
`;

/** Lines that a proxy adds to a program's head, for refusals that it does not cause by itself. */
const ADDED_HEADS: Partial<Record<Refusal, string>> = {
  400: 'Content-Length: none',
  501: 'Transfer-Encoding: gzip',
};

async function refused(t: Test, kind: EncoderKind, sound: string, refusal: Refusal): Promise<void> {
  const { tries, says, ends } = kind.refused[refusal]!;
  const port = await freePorts(2);
  const { log, lines } = keepLines();
  const limits = refusal === 429 ? 'limits: { wrongSecretsPerMinute: 1, secretQueue: 0 }' : '';
  const { base } = await startServer(t, yaml(port, limits), undefined, log);
  if (refusal === 429) await fetch(`${base}/metapush/air/wrong?song=x`);
  if (refusal === 409) await feed(t, port, MOUNT);
  const line = ADDED_HEADS[refusal];
  const other = refusal === 503 ? await refusingServer(t, '503 Service Unavailable') : undefined;
  const to: Target = {
    sound,
    port: other?.port ?? (line === undefined ? port : await proxyAddingHead(t, port, line)),
    mount: refusal === 404 ? '/nowhere' : MOUNT,
    password: refusal === 401 || refusal === 429 ? 'wrong' : PASSWORD,
  };
  // libshout first asks without its password, and gets 401: that does not count as a try.
  const probes = () => lines.filter(({ message }) => message === 'encoder without credentials').length;
  const tried = other?.count ?? (async () => (await countOf(base, refusal)) - (refusal === 401 ? probes() : 0));
  const program = await kind.start(t, to);
  await until(
    async () => (await tried()) > 0,
    START_MS,
    () => `no try: ${program.said} ${JSON.stringify(lines)}`,
  );
  const startMs = performance.now();
  await until(() => performance.now() - startMs > WATCH_MS, 2 * WATCH_MS);
  const count = await tried();
  const givesUp = program.ended !== undefined || ((await kind.rests?.(program)) ?? false);
  t.comment(`${kind.name}, ${refusal}: ${count} tries in ${WATCH_MS / 1000} s, gives up: ${givesUp}`);
  t.ok(count >= tries[0] && count <= tries[1], `${count} tries, of ${tries[0]} to ${tries[1]}`);
  t.equal(givesUp, ends, ends ? 'gives up' : 'goes on');
  const words = async () => `${program.said} ${(await kind.words?.(program)) ?? ''}`;
  if (says !== undefined) {
    // On a busy machine, programs are late.
    await until(async () => says.test(await words()), START_MS).catch(() => undefined);
    t.match(await words(), says, 'its user is told');
  }
  if (refusal !== 409) t.notOk(sourceChanges(lines).includes('encoder'), 'never heard');
}

/** Number of encoders answered with this status, from the metrics: the log has at most one line a second. */
async function countOf(base: string, status: number): Promise<number> {
  const metrics = await (await fetch(`${base}/metrics`)).text();
  const found = new RegExp(`airsplice_encoder_connections_total\\{status="${status}"\\} (\\d+)`).exec(metrics);
  return Number(found?.[1] ?? 0);
}

async function heard(t: Test, kind: EncoderKind, sound: string): Promise<void> {
  const port = await freePorts(2);
  const to: Target = { port, mount: MOUNT, password: PASSWORD, sound };
  const folder = tempFolder(t);
  const { log, lines } = keepLines();
  let server = await startServer(t, yaml(port), folder, log);
  const stop = kind.stop ?? ((program: Program) => program.stop());
  const isHeard = () => sourceChanges(lines).at(-1) === 'encoder';
  let program = await kind.start(t, to);
  await program.until(isHeard, START_MS, 'it is not heard');

  await isWhole(t, kind, program, server);
  if (kind.title !== undefined) {
    const icy = new Player(port, MOUNT);
    t.teardown(() => icy.close());
    await kind.title(t, program, TITLE.artist, TITLE.song);
    await readsTitle(program, server, kind.titleRead ?? TITLE);
    const { artist, song } = kind.titleRead ?? TITLE;
    if (kind.codec === 'mp3' || kind.codec === 'aac') {
      const line = kind.titleLine ?? (artist === '' ? song : `${artist} - ${song}`);
      await icy.until((one) => one.titles.some(({ title }) => title === line), 30_000);
    }
  }

  await server.app.stop();
  server = await startServer(t, yaml(port), folder, log);
  const before = sourceChanges(lines).length;
  const comesBack = typeof kind.onLoss === 'object';
  if (!comesBack) {
    if (kind.onLoss === 'stays away') await stop(program);
    await until(
      () => program.ended !== undefined,
      30_000,
      () => `it did not end: ${program.said}`,
    );
    program = await kind.start(t, to);
  }
  const backMs = comesBack ? kind.onLoss.backWithinMs : START_MS;
  const isBack = () => sourceChanges(lines).slice(before).at(-1) === 'encoder';
  await program.until(isBack, backMs, 'it does not come back to a restarted server');

  program.child.kill('SIGKILL');
  await until(
    () => sourceChanges(lines).at(-1) === 'file',
    15_000,
    () => 'no encoder takes the place of a killed one',
  );
  program = await kind.start(t, to);
  await program.until(isHeard, START_MS, 'it is not heard again');
  await stop(program);
  await until(
    () => sourceChanges(lines).at(-1) === 'file',
    15_000,
    () => 'no encoder takes the place of one that left',
  );
  const isExcused = ({ event }: LogLine) => event === 'no-frames' && kind.resumesHeadless === true;
  const bad = lines.filter((line) => line.level === 'error' || (UNSOUND.includes(line['event']) && !isExcused(line)));
  t.same(bad, [], 'its stream is sound');
}

/** A listener gets all that the program sends, and ffmpeg decodes it without complaints. */
async function isWhole(t: Test, { name, codec }: EncoderKind, program: Program, { port }: TestServer): Promise<void> {
  const player = new Player(port, MOUNT, { icy: false, keep: true });
  t.teardown(() => player.close());
  await program.until(() => player.audioBytes > 0, 20_000, 'no audio');
  const startMs = performance.now();
  await until(() => performance.now() - startMs > LISTEN_MS, 2 * LISTEN_MS);
  const passedMs = performance.now() - startMs;
  const { audio } = player;
  player.close();
  let audioMs = 0;
  const framer = framerFor({ onFrame: ({ durationMs }) => void (audioMs += durationMs) });
  framer.push(audio);
  t.comment(`${name}: ${Math.round(audioMs)} ms of ${framer.codec} in ${Math.round(passedMs)} ms`);
  t.equal(framer.counters.skippedBytes, 0, 'nothing but frames');
  t.ok(audioMs > passedMs - MAX_SHORT_MS, `${Math.round(audioMs)} ms of audio in ${Math.round(passedMs)} ms`);
  const path = join(tempFolder(t), 'heard');
  writeFileSync(path, audio);
  const probed = ['-v', 'error', '-show_entries', 'stream=codec_name', '-of', 'csv=p=0', path];
  t.equal((await promisify(execFile)('ffprobe', probed)).stdout.trim().split('\n')[0], codec);
  // From a pipe, as for a player: in a file, ffmpeg 5.1 looks for the length, and fails with its own chains of Opus.
  const decoded = promisify(execFile)('ffmpeg', ['-v', 'error', '-i', 'pipe:', '-f', 'null', '-']);
  decoded.child.stdin!.on('error', () => undefined).end(audio);
  const { stderr } = await decoded;
  // The last frame is cut off where the player stopped.
  const complaints = stderr
    .split('\n')
    .filter((line) => line !== '' && !/truncat|incomplete frame|Invalid data|Packet corrupt|End of file/i.test(line));
  t.same(complaints, [], 'ffmpeg has nothing to say');
}

async function readsTitle(program: Program, { base }: TestServer, wanted: object): Promise<void> {
  let last: unknown;
  const isThere = async () => {
    const answer = await fetch(`${base}/metadata/channel/air.json`);
    last = answer.status === 200 ? await answer.json() : answer.status;
    return Object.entries(wanted).every(([name, value]) => (last as Record<string, unknown>)[name] === value);
  };
  await program.until(isThere, 30_000, 'its title is not in force').catch((error) => {
    throw new Error(`${error.message} ${JSON.stringify(last)}`);
  });
}
