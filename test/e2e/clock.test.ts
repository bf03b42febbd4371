/**
 * The wall clock jumps by an hour, forth and back and past where it began, while the built server plays (libfaketime; the monotonic clock
 * stays as it is): no stream is cut or falls silent, no title is lost or sent twice, what is held comes, nothing spins.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FAKETIME_LIBRARY, settableClock } from '../kit/faked-clock.js';
import { FrameRecorder } from '../kit/frame-recorder.js';
import { isLong } from '../kit/long.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until, untilPromised } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

const HOUR_S = 3600;
/** Seconds beside the true time, one after the other. */
const JUMPS = isLong ? [HOUR_S, 0, -HOUR_S, 0, HOUR_S, -HOUR_S, 0] : [HOUR_S, 0];
/** Ahead of which a held push is put, and how much later it may come where the clock is set back (titles/scheduler.ts). */
const HELD_S = 3;
const SLACK_S = 1;
/** A busy machine. */
const LATE_S = 6;

/** Of user and system, seconds. */
async function cpuOf(server: ServerProcess): Promise<number> {
  const metrics = await (await fetch(`${server.base}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)![1]);
}

t.test(
  'the clock jumps by an hour',
  { skip: FAKETIME_LIBRARY === undefined && 'no libfaketime here', timeout: 120_000 },
  async (t) => {
    const folder = tempFolder(t);
    const port = await freePort();
    const config = join(folder, 'config.yaml');
    let offsetS = 0;
    const clock = settableClock(t, offsetS);
    const jump = (toS: number) => {
      offsetS = toS;
      clock.set(toS);
    };
    writeFileSync(config, `data: { folder: ${join(folder, 'data')} }\n${demoYaml('', port)}`);
    const server = new ServerProcess(t, port, [config], clock.env);
    await server.ready();
    const serverMs = () => Date.now() + offsetS * 1000;
    const push = async (query: string) => {
      const answer = await fetch(`${server.base}/metapush/demo/demo-token?${query}`);
      t.equal(answer.status, 200, query);
      return (await answer.json()) as { start_timestamp: number };
    };
    const player = new Player(port, '/demo.mp3', { keep: true });
    const ear = new FrameRecorder(t, player);
    t.teardown(() => player.close());
    const watching = new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/demo`);
    await watching.opened();
    const sse: string[] = [];
    const events = await fetch(`${server.base}/metadata/sse/channel/demo`);
    void events
      .body!.pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (text) => void sse.push(text) }))
      .catch(() => undefined);
    await push('song=begin');
    await player.until((p) => p.audioBytes > 16_000);

    const songs = ['begin'];
    for (const [i, toS] of JUMPS.entries()) {
      const heldAt = Math.ceil(serverMs() / 1000) + HELD_S;
      await push(`song=held${i}&id=held${i}&time=${heldAt}`);
      const heldMs = performance.now();
      const isBack = toS < offsetS;
      const bytes = player.audioBytes;
      const cpu = await cpuOf(server);
      jump(toS);
      const { start_timestamp } = await push(`song=after${i}`);
      t.ok(Math.abs(start_timestamp - serverMs() / 1000) < LATE_S, 'the clock has jumped');
      await push(`tracktype=next&song=next${i}`);
      const isHeldTold = () => watching.songs.includes(`now held${i}`);
      await untilPromised(isHeldTold, (HELD_S + SLACK_S + LATE_S) * 1000, () => watching.songs.join());
      const tookS = (performance.now() - heldMs) / 1000;
      if (!isBack) t.ok(tookS < HELD_S + LATE_S, `held: its moment has come, sent after ${tookS} s`);
      t.ok(tookS < HELD_S + SLACK_S + LATE_S, `held: sent after ${tookS} s`);
      // Past whatever is looked at once a second.
      await quietFor(1200);
      await push(`song=again${i}`);
      const passedS = (performance.now() - heldMs) / 1000;
      const cores = ((await cpuOf(server)) - cpu) / passedS;
      t.ok(cores < 0.5, `${cores} cores`);
      const playedS = (player.audioBytes - bytes) / 16_000;
      t.ok(playedS > passedS - 3 && playedS < passedS + 3, `${playedS} s of audio in ${passedS} s`);
      songs.push(`after${i}`, `held${i}`, `again${i}`);
    }
    const now = () => watching.songs.filter((song) => song.startsWith('now ')).map((song) => song.slice(4));
    await until(() => now().at(-1) === songs.at(-1), 5000);
    // Where the clock goes forth, what is held is due before what comes then.
    const sorted = [...songs].sort();
    t.same([...now()].sort(), sorted, 'a WebSocket gets each title once');
    await until(() => sse.join('').includes(`"song":"${songs.at(-1)}"`), 5000);
    for (const song of songs) t.equal(sse.join('').split(`"song":"${song}"`).length, 2, `SSE: ${song} once`);
    const history = (await (await fetch(`${server.base}/metadata/channel/demo/history.json`)).json()) as {
      song: string;
    }[];
    t.same(history.map(({ song }) => song).sort(), sorted, 'all are in the history');
    await player.until((p) => p.titles.at(-1)?.title === songs.at(-1));
    t.equal(player.closed, false);
    t.equal(watching.code, 0);
    ear.listen();
    t.equal(ear.breaks, 0);
    await server.end('SIGTERM');
    t.equal(server.ended, 0, server.err);
  },
);

t.test(
  'the clock is 40 days ahead for one push, and while a server runs',
  { skip: FAKETIME_LIBRARY === undefined && 'no libfaketime here', timeout: 120_000 },
  async (t) => {
    const folder = tempFolder(t);
    const port = await freePort();
    const config = join(folder, 'config.yaml');
    const clock = settableClock(t, 0);
    const set = (days: number) => clock.set(days * 24 * HOUR_S);
    writeFileSync(config, `data: { folder: ${join(folder, 'data')} }\n${demoYaml('', port)}`);
    const start = async () => {
      const server = new ServerProcess(t, port, [config], clock.env);
      await server.ready();
      return server;
    };
    const songs: string[] = [];
    const push = async (server: ServerProcess, song: string) => {
      songs.push(song);
      t.equal((await fetch(`${server.base}/metapush/demo/demo-token?song=${song}`)).status, 200, song);
    };
    const isKept = async (server: ServerProcess, what: string) => {
      const history = (await (await fetch(`${server.base}/metadata/channel/demo/history.json?limit=100`)).json()) as {
        readonly song: string;
        readonly from: string;
        readonly to: string | null;
      }[];
      t.strictSame(history.map(({ song }) => song).reverse(), songs, `${what}: all, in order`);
      return history;
    };
    let server = await start();
    for (const song of ['one', 'two', 'three']) await push(server, song);
    set(40);
    await push(server, 'ahead');
    await isKept(server, 'while it is ahead');
    set(0);
    await push(server, 'right');
    await isKept(server, 'when it is right again');
    await server.end('SIGTERM');
    set(40);
    server = await start();
    // More than are removed with each new entry.
    for (let i = 0; i < 5; i++) await push(server, `later${i}`);
    await isKept(server, 'a server whose clock is ahead');
    await server.end('SIGTERM');
    set(0);
    server = await start();
    for (const song of ['last', 'very-last']) await push(server, song);
    const history = await isKept(server, 'the next one');
    for (const [i, { song, from, to }] of history.entries()) {
      t.ok(Date.parse(from) <= Date.now() + LATE_S * 1000, `${song} is from ${from}`);
      t.equal(to, history[i - 1]?.from ?? null, `${song} was on air until the next`);
    }
    await server.end('SIGTERM');
    t.equal(server.ended, 0, server.err);
  },
);
