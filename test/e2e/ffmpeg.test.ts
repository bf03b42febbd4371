/**
 * The real ffmpeg as encoder and as an independent reader of ICY, against the whole server: titles reach players, watchers and
 * pollers when they should; an encoder that is killed or frozen is replaced within two seconds, and no listener notices more than
 * the sound. ffmpeg sends 48 kHz, the fallback file has 44.1 kHz: so a Player knows what it hears.
 */

import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import type { Log } from '../../src/base/log.js';
import { FrameRecorder, leftover } from '../kit/frame-recorder.js';
import { isNextBlock } from '../kit/icy.js';
import { LoopDelay } from '../kit/loop-delay.js';
import { pause, quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { missing, Program, probe } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const FFMPEG_HERTZ = 48_000;
const FILE_HERTZ = 44_100;
const MP3 = ['-ac', '2', '-b:a', '128k', '-f', 'mp3', '-content_type', 'audio/mpeg'];
const AAC = ['-ac', '2', '-c:a', 'aac', '-b:a', '96k', '-f', 'adts', '-content_type', 'audio/aac'];

function startFfmpeg(t: Test, port: number, ...options: string[]): Program {
  const sine = ['-re', '-f', 'lavfi', '-i', `sine=frequency=500:sample_rate=${FFMPEG_HERTZ}`];
  const url = `icecast://source:demo-source@127.0.0.1:${port}/studio.mp3`;
  return new Program(t, 'ffmpeg', ['-v', 'error', '-nostdin', ...sine, ...options, url]);
}

interface Message {
  readonly atMs: number;
  readonly record: Record<string, unknown>;
}

function watch(t: Test, url: string): Message[] {
  const messages: Message[] = [];
  const ws = new WebSocket(url);
  ws.on('message', (data) => messages.push({ atMs: performance.now(), record: JSON.parse(String(data)) }));
  t.teardown(() => ws.terminate());
  return messages;
}

t.test('ffmpeg', { skip: missing('ffmpeg', 'ffprobe') }, async (t) => {
  const port = await freePort();
  const relay = `
      relay:
        mounts: [/relay.mp3]
        sources: [{ type: pull, url: 'http://127.0.0.1:${port}/demo.mp3', onDemand: true }]`;
  const changes: { heard: string | null; atMs: number }[] = [];
  const note = (fields: Record<string, unknown>, message: string) => {
    if (message === 'source changed' && fields['channel'] === 'studio') {
      changes.push({ heard: fields['heard'] as string | null, atMs: performance.now() });
    }
  };
  const quiet = () => undefined;
  const log = { debug: quiet, info: note, warn: quiet, error: quiet } as unknown as Log;
  const { base, ws } = await startServer(t, demoYaml(relay, port), undefined, log);
  const heard = () => changes.at(-1)?.heard;
  const poll = async (path: string) => {
    const response = await fetch(base + path);
    return response.status === 200 ? ((await response.json()) as Record<string, unknown>) : { status: response.status };
  };
  const push = async (channel: string, query: string) => {
    const response = await fetch(`${base}/metapush/${channel}/${channel}-token?${query}`);
    t.equal(response.status, 200);
    return performance.now();
  };

  let ffmpeg = startFfmpeg(t, port, ...MP3);
  await until(
    () => heard() === 'encoder',
    20_000,
    () => ffmpeg.said,
  );
  const onAirMs = performance.now();

  await t.test('a relay of our own demo, on demand, brings its titles along', async (t) => {
    await push('demo', 'artist=Clara&song=Nocturne');
    t.strictSame(await poll('/metadata/channel/relay.json'), { status: 204 });
    const player = new Player(port, '/relay.mp3');
    t.teardown(() => player.close());
    await player.until(() => player.titles.length > 0);
    t.equal(player.titles[0]!.title, 'Clara - Nocturne');
    t.match(await poll('/metadata/channel/relay.json'), { rawdata: 'Clara - Nocturne', source: 'upstream' });
    await push('demo', 'song=Next%20one');
    await player.until(() => player.titles.at(-1)!.title === 'Next one');
    t.match(await poll('/metadata/channel/relay.json'), { artist: '', song: 'Next one', source: 'upstream' });
  });
  // A whole burst of ffmpeg's sound, so that players that come now hear nothing of the file before it.
  await pause(onAirMs + 6500 - performance.now());

  await t.test('a push: the channel at once; the listener when it is heard; ffprobe reads it', async (t) => {
    const onChannel = watch(t, `${ws}/metadata/channel/studio`);
    const onAudio = watch(t, `${ws}/metadata/listener/ear-1`);
    const onWire = watch(t, `${ws}/metadata/listener/ear-1?sync=wire`);
    const lateness = new LoopDelay(t);
    const player = new Player(port, '/studio.mp3?metaid=ear-1');
    t.teardown(() => player.close());
    await player.until(() => player.audioBytes > 0);
    await pause(1300);
    await push('studio', 'artist=Anna&song=Lied&duration=60');
    t.match(await poll('/metadata/channel/studio.json'), { rawdata: 'Anna - Lied', source: 'metapush' });
    await until(() => onChannel.length > 0, 5000);
    t.match(onChannel[0]!.record, { type: 'now', artist: 'Anna', song: 'Lied', session: '', position: '' });
    t.strictSame(await poll('/metadata/listener/ear-1.json'), { status: 204 }, 'heard nothing yet');

    await until(() => player.titles.length > 0, 5000);
    await until(() => onWire.length > 0, 5000);
    const seen = player.titles[0]!;
    const written = onWire[0]!;
    t.equal(seen.title, 'Anna - Lied');
    // They come over two sockets; it is heard some seconds after both.
    const early = `written ${written.atMs - seen.atMs} ms after its block was read`;
    t.ok(Math.abs(written.atMs - seen.atMs) < 1000 + lateness.totalMs, early);
    t.match(await poll('/metadata/listener/ear-1.json?sync=wire'), { rawdata: 'Anna - Lied', mount: '/studio.mp3' });
    const position = Number(written.record['position']);
    isNextBlock(t, position, seen.atByte, player.metaint);
    const dueMs = player.firstByteMs + position;
    t.ok(dueMs > seen.atMs + 2000, 'a burst lies between writing and hearing');
    t.ok(onChannel[0]!.atMs < dueMs - 2000, 'the channel has it long before it is heard');
    t.strictSame(onAudio, []);
    await quietFor(dueMs - performance.now() - 1500);
    t.strictSame(await poll('/metadata/listener/ear-1.json'), { status: 204 });
    await until(() => onAudio.length > 0, 5000);
    const lateMs = onAudio[0]!.atMs - dueMs;
    t.comment(`heard ${lateMs.toFixed(1)} ms off start + position`);
    t.ok(Math.abs(lateMs) < 150 + lateness.totalMs, `${lateMs} ms off, ${lateness.totalMs} of them our own`);
    t.strictSame(onAudio[0]!.record, written.record);
    t.match(await poll('/metadata/listener/ear-1.json'), { rawdata: 'Anna - Lied', position: String(position) });
    const probing = probe(`${base}/studio.mp3`);
    await quietFor(1200);
    t.strictSame([onChannel.length, onAudio.length, onWire.length, player.titles.length], [1, 1, 1, 1], 'once each');
    t.strictSame(await probing, { codec: 'mp3', bitrate: '128000', title: 'Anna - Lied' });
  });

  const players = Array.from({ length: 20 }, () => new Player(port, '/studio.mp3', { keep: true }));
  const ears = players.map((player) => new FrameRecorder(t, player));
  t.teardown(() => {
    for (const player of players) player.close();
  });
  const ear = ears[0]!;
  await until(() => ears.every((one) => one.hertz === FFMPEG_HERTZ), 20_000);
  const from = changes.length;
  const [whole, each] = [new LoopDelay(t), new LoopDelay(t)];

  /** Waits until `kind` is heard and every Player has its sound; returns how long both took, our own standstills not counted. */
  const turnsTo = async (kind: string, hertz: number, what: string) => {
    each.reset();
    const startMs = performance.now();
    await until(
      () => heard() === kind && ears.every((one) => one.hertz === hertz),
      20_000,
      () => `${what}: ${heard()}`,
    );
    const turnedMs = changes.at(-1)!.atMs - startMs - each.totalMs;
    const socketMs = Math.max(...ears.map((one) => one.sinceMs)) - startMs;
    t.comment(
      `${what}: ${kind} heard after ${turnedMs.toFixed(0)} ms, at the last Player's socket after ${socketMs.toFixed(0)} ms`,
    );
    return turnedMs;
  };

  ffmpeg.child.kill('SIGKILL');
  t.ok((await turnsTo('file', FILE_HERTZ, 'killed')) < 1200, 'sooner than a stall is noticed');
  ffmpeg = startFfmpeg(t, port, '-legacy_icecast', '1', ...MP3);
  await turnsTo('encoder', FFMPEG_HERTZ, 'restarted, by SOURCE');
  await pause(1500);
  ffmpeg.child.kill('SIGSTOP');
  t.ok((await turnsTo('file', FILE_HERTZ, 'frozen')) < 2000);
  await push('studio', 'artist=Berta&song=Walzer');
  await pause(1500);
  ffmpeg.child.kill('SIGCONT');
  await turnsTo('encoder', FFMPEG_HERTZ, 'thawed');
  await until(() => players.every((player) => player.titles.at(-1)?.title === 'Berta - Walzer'), 10_000);
  const turns = changes
    .slice(from)
    .map((change) => change.heard)
    .filter((kind) => kind !== null);
  // A standstill of our own may pass for a stall of ffmpeg's.
  if (whole.worstMs < 1000) t.strictSame(turns, ['file', 'encoder', 'file', 'encoder'], 'no flapping');
  for (const [i, player] of players.entries()) {
    t.equal(player.closed, false);
    t.strictSame(
      player.titles.map((seen) => seen.title),
      ['Anna - Lied', 'Berta - Walzer'],
      'its phase is right all along',
    );
    t.ok(ears[i]!.breaks <= turns.length, `${ears[i]!.breaks} breaks: one for each switch`);
  }
  t.comment(
    `least audio in hand of a player in real time: ${Math.min(...ears.map((one) => one.minHandMs)).toFixed(0)} ms`,
  );
  t.ok(
    ears.every((one) => one.minHandMs > 0),
    'nobody would have run dry',
  );

  await t.test('AAC is heard too', async (t) => {
    ffmpeg.child.kill('SIGKILL');
    await until(() => heard() === 'file', 10_000);
    ffmpeg = startFfmpeg(t, port, ...AAC);
    await until(
      () => heard() === 'encoder',
      20_000,
      () => ffmpeg.said,
    );
    const startMs = performance.now();
    await until(() => performance.now() - startMs > 6500 && ear.hertz === FFMPEG_HERTZ, 20_000);
    const player = new Player(port, '/studio.mp3');
    await player.until(() => player.titles.length > 0);
    t.equal(player.titles[0]!.title, 'Berta - Walzer');
    t.equal(player.headers.get('content-type'), 'audio/aac');
    player.close();
    t.equal((await probe(`${base}/studio.mp3`)).codec, 'aac');
    await until(() => players.every((one) => one.closed), 5000);
    t.ok(
      players.every(({ audio }) => leftover(audio) === 0),
      'those of MP3 were ended, each with a whole frame',
    );
    ffmpeg.child.kill('SIGKILL');
  });
});
