/**
 * How a source does, by its frames: what is silence is held against what real encoders make of it; troubles and changes are driven
 * frame by frame to the limit and one past it. At last one connection that changes its codec, seen from listeners and from metrics.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { emptyHeader, readHeader } from '../../src/audio/frames/header.js';
import { Health } from '../../src/source/health.js';
import { isSilent } from '../../src/source/silence.js';
import { DEMO_FRAMES, Feeder, framesIn } from '../kit/feeder.js';
import { keepLines, sourceChanges } from '../kit/log-lines.js';
import { Player } from '../kit/player.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 3;

const FFMPEG = spawnSync('ffmpeg', ['-version']).status === 0;
const skip = FFMPEG ? false : 'ffmpeg is missing';
const KBPS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const FRAME_MS = 1152 / 44.1;

function encoded(folder: string, name: string, input: string, ...options: string[]): Buffer[] {
  const path = join(folder, name);
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', input, '-t', '4', ...options, path]);
  return framesIn(readFileSync(path)).frames;
}

function silentOf(frames: readonly Buffer[]): number {
  const header = emptyHeader();
  return frames.filter((frame) => readHeader(frame, 0, header) && isSilent(frame, header)).length;
}

t.test('silence is what encoders make of digital silence; the softest noise is none', { skip }, async (t) => {
  const folder = t.testdir();
  const [stereo, mono] = ['anullsrc=r=44100:cl=stereo', 'anullsrc=r=22050:cl=mono'];
  const silences = {
    'CBR 128': encoded(folder, 'a.mp3', stereo, '-b:a', '128k'),
    'VBR 2': encoded(folder, 'b.mp3', stereo, '-q:a', '2'),
    'MPEG 2 mono': encoded(folder, 'c.mp3', mono, '-b:a', '32k'),
    'MPEG 1 mono': encoded(folder, 'd.mp3', stereo, '-ac', '1', '-b:a', '64k'),
    'MPEG 2 stereo': encoded(folder, 'e.mp3', stereo, '-ar', '24000', '-b:a', '64k'),
    'AAC stereo': encoded(folder, 'f.aac', stereo, '-b:a', '192k'),
    'AAC mono': encoded(folder, 'g.aac', mono, '-b:a', '48k'),
    'AAC 5.1': encoded(folder, 'h.aac', 'anullsrc=r=48000:cl=5.1(side)', '-b:a', '384k'),
  };
  for (const [name, frames] of Object.entries(silences)) {
    // The first frame of ffmpeg's AAC names the encoder.
    t.ok(
      frames.length > 80 && frames.length - silentOf(frames) <= 1,
      `${name}: ${silentOf(frames)} of ${frames.length}`,
    );
  }
  const noise = 'anoisesrc=r=44100:a=1,volume=-90dB,aformat=sample_fmts=fltp:channel_layouts=stereo';
  t.equal(silentOf(encoded(folder, 'n.mp3', noise, '-b:a', '128k').slice(3)), 0);
  t.equal(silentOf(encoded(folder, 'n.aac', noise, '-b:a', '96k').slice(3)), 0);
  const music = DEMO_FRAMES.slice(100, 2000);
  t.ok(silentOf(music) < music.length / 50, `${silentOf(music)} of ${music.length} of the demo`);
});

/** A frame of MPEG 1 layer III with sound in it, or without. */
function frameOf(kbps: number, options: { rate?: 0 | 1; mono?: boolean; sound?: boolean } = {}): Buffer {
  const { rate = 0, mono = false, sound = true } = options;
  const frame = Buffer.alloc(Math.floor((144_000 * kbps) / (rate === 0 ? 44_100 : 48_000)), sound ? 0x55 : 0);
  frame.set([0xff, 0xfb, (KBPS.indexOf(kbps) << 4) | (rate << 2), mono ? 0xc4 : 0x64]);
  return frame;
}

function aacOf(bytes: number): Buffer {
  const frame = Buffer.alloc(bytes, 0x55);
  frame.set([0xff, 0xf1, 0x50, 0x80 | (bytes >> 11), (bytes >> 3) & 0xff, ((bytes & 7) << 5) | 0x1f, 0xfc]);
  return frame;
}

function patient(stallMs = 1500, silentMs = 1000) {
  const reports: string[] = [];
  let nowMs = 1000;
  const health = new Health({ stallMs, silentMs }, (event, fields, isOver) => {
    const values = Object.values(fields).join(' ');
    reports.push(`${isOver ? 'no more ' : ''}${event}${values === '' ? '' : ` ${values}`}`);
  });
  const pass = (frame: Buffer, count: number, ms = FRAME_MS) => {
    for (let i = 0; i < count; i++) health.frame(frame, ms, (nowMs += ms));
  };
  const look = (ms: number, isUp = true, kbps = 0) => health.look((nowMs += ms), isUp, kbps);
  return { reports, health, pass, look };
}

t.test('silent: at the limit, past it; a click is no sound, half a second is', async (t) => {
  const { reports, health, pass } = patient();
  const silence = frameOf(128, { sound: false });
  pass(frameOf(128), 20);
  pass(silence, 38); // 993 ms
  t.same(reports, []);
  pass(silence, 1);
  t.same(reports, ['silent']);
  pass(frameOf(128), 19); // 496 ms
  pass(silence, 5);
  t.ok(health.troubles.silent);
  pass(frameOf(128), 20);
  t.same(reports, ['silent', 'no more silent']);
  t.equal(health.events.silent, 1, 'the end of it is not counted');
  pass(silence, 30);
  pass(frameOf(128), 25);
  pass(silence, 30);
  t.equal(reports.length, 2, 'what was before the sound does not count');
});

t.test(
  'stalled: connected, but no frame; over when a second has come; a source that is not there does not stall',
  async (t) => {
    const { reports, pass, look, health } = patient();
    look(0, false);
    look(60_000, false);
    look(0);
    look(1500);
    t.same(reports, [], 'at the limit');
    look(1);
    look(5000);
    t.same(reports, ['stalled']);
    pass(frameOf(128), 38);
    look(10);
    t.ok(health.troubles.stalled, 'not with the first frames');
    look(2000);
    pass(frameOf(128), 38);
    t.ok(health.troubles.stalled, 'a gap begins it anew');
    pass(frameOf(128), 1);
    t.same(reports, ['stalled', 'no more stalled']);
    look(2000);
    look(0, false);
    t.equal(health.troubles.stalled, false);
    t.equal(reports.at(-1), 'stalled');
  },
);

t.test('bitrate off: two windows of ten seconds, more than a fifth; over within a tenth', async (t) => {
  const { reports, pass, look, health } = patient();
  const seconds = (s: number, kbps: number) => pass(frameOf(kbps), Math.ceil((s * 1000) / FRAME_MS));
  look(0, true, 128);
  seconds(40, 128);
  t.same(reports, []);
  t.ok(Math.abs(health.measuredKbps - 128) < 1, `${health.measuredKbps}`);
  look(0, true, 159);
  seconds(40, 128);
  t.same(reports, [], 'hardly a fifth');
  look(0, true, 161);
  seconds(30.1, 128);
  t.same(reports, ['bitrate-off 128 161']);
  look(0, true, 150);
  seconds(30, 128);
  t.equal(reports.length, 1, '15 % is not yet well');
  look(0, true, 128);
  seconds(20.1, 128);
  t.same(reports.slice(1), ['no more bitrate-off 128 128']);
  pass(frameOf(32, { sound: false }), 1200);
  t.same(reports.slice(2), ['silent', 'bitrate 128 32'], 'silence needs few bytes: it is not off');
});

t.test('a variable bitrate is never off, whatever is stated: MP3 whose frames differ, and Ogg', async (t) => {
  const { reports, pass, look, health } = patient();
  look(0, true, 320);
  for (let i = 0; i < 600; i++) pass(frameOf(i % 3 === 0 ? 160 : 128), 3);
  t.same(reports, []);
  t.ok(health.measuredKbps > 130);
  health.reset();
  look(0, true, 320);
  for (let i = 0; i < 2500; i++) health.frame(Buffer.alloc(200), 20, 0, false);
  t.same(reports, []);
  t.equal(Math.round(health.measuredKbps), 80);
});

t.test('changes in mid-stream are reported once each; a variable bitrate is none', async (t) => {
  const { reports, pass, health } = patient();
  pass(frameOf(64), 100);
  pass(frameOf(128), 76); // 1985 ms
  t.same(reports, []);
  pass(frameOf(128), 200);
  t.same(reports, ['bitrate 64 128']);
  pass(frameOf(128, { rate: 1 }), 200, 24);
  pass(frameOf(128, { rate: 1, mono: true }), 200, 24);
  pass(aacOf(300), 900, 1024 / 44.1);
  t.same(reports.slice(1), [
    'sample-rate 44100 48000',
    'channels 2 1',
    'codec mp3 aac',
    'sample-rate 48000 44100',
    'channels 1 2',
  ]);
  reports.length = 0;
  pass(aacOf(600), 2000, 1024 / 44.1);
  t.match(reports, [/^bitrate 103 207$/]);
  reports.length = 0;
  health.reset();
  pass(frameOf(128), 1);
  t.same(reports, [], 'another stream is no change');
  for (let i = 0; i < 300; i++) {
    pass(frameOf([96, 128, 160, 192, 320][(i * 7) % 5]!), 1 + (i % 5));
    if (i % 100 === 50) pass(frameOf(32, { sound: false }), 200);
    if (i % 100 === 90) pass(frameOf(128), 200);
  }
  t.same(
    reports.filter((event) => !/silent/.test(event)),
    [],
  );
  // Whatever is no MPEG audio, and the shortest buffers, are taken as they are.
  pass(Buffer.alloc(0), 1);
  pass(Buffer.from('OggS'), 1);
  pass(Buffer.from([0xff, 0xfb, 0x90, 0x64, 0, 0, 0]), 1);
});

t.test(
  'a codec that changes in one connection: listeners end and come again for the right type, it is counted',
  { skip },
  async (t) => {
    const aac = encoded(t.testdir(), 'x.aac', 'sine=frequency=440:sample_rate=44100', '-ac', '2', '-b:a', '96k');
    const server = await startServer(
      t,
      `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { aheadSeconds: 60 }
stations: { demo: { channels: { live: { sources: [{ type: encoder, password: demo-source }] } } } }
`,
    );
    const feeder = new Feeder(t, server.port, '/live');
    await feeder.answered();
    feeder.send(200);
    const first = new Player(server.port, '/live', { keep: true });
    await first.until((one) => one.audioBytes > 16_000);
    t.equal(first.headers.get('content-type'), 'audio/mpeg');
    feeder.socket.write(Buffer.concat([...aac, ...aac]));
    const text = async () => (await fetch(`${server.base}/metrics`)).text();
    await until(async () => /source_events_total\{.*event="codec"\} 1\n/.test(await text()), 5000);
    await until(() => first.closed, 10_000);
    const second = new Player(server.port, '/live', { keep: true });
    await second.until((one) => one.audioBytes > 0);
    t.equal(second.headers.get('content-type'), 'audio/aac');
    t.equal(framesIn(second.audio).frames[0]![1]! & 0xf6, 0xf0, 'its first frame is AAC');
    t.match(await text(), /airsplice_source_trouble\{[^}]*trouble="silent"[^}]*\} 0\n/);
    second.close();
  },
);

t.test('from the configuration to log and metrics: silent, off its bitrate, stalled, and well again', async (t) => {
  const reports: string[] = [];
  const note = (fields: Record<string, unknown>, message: string) => {
    if (fields['event'] !== undefined)
      reports.push(`${message}: ${fields['channel']} ${fields['place']} ${fields['event']}`);
  };
  const log = { debug: note, info: note, warn: note, error: note };
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { aheadSeconds: 60, silentSeconds: 1, stallMs: 800 }
stations: { demo: { channels: { live: { bitrateKbps: 192, sources: [{ type: encoder, password: demo-source }] } } } }
`,
    undefined,
    log as never,
  );
  const feeder = new Feeder(t, server.port, '/live');
  await feeder.answered();
  feeder.socket.write(Buffer.concat(Array.from({ length: 45 }, () => frameOf(128, { sound: false }))));
  const trouble = async (name: string) => {
    const text = await (await fetch(`${server.base}/metrics`)).text();
    return Number(new RegExp(`source_trouble\\{[^}]*trouble="${name}"[^}]*\\} (\\d)`).exec(text)?.[1] ?? Number.NaN);
  };
  await until(async () => (await trouble('silent')) === 1, 5000);
  await until(async () => (await trouble('stalled')) === 1, 5000);
  feeder.send(1100);
  await until(async () => (await trouble('silent')) === 0 && (await trouble('bitrate-off')) === 1, 5000);
  const [begins, ends] = ['source event: live 0', 'source recovered: live 0'];
  t.same(reports.slice(0, 5).sort(), [
    `${begins} bitrate-off`,
    `${begins} silent`,
    `${begins} stalled`,
    `${ends} silent`,
    `${ends} stalled`,
  ]);
  feeder.socket.destroy();
  await until(async () => (await trouble('bitrate-off')) === 0, 5000);
});

t.test(
  'a source that stalls again and again: logged, counted, and heard again when it has delivered for a while',
  async (t) => {
    const { log, lines } = keepLines();
    const server = await startServer(
      t,
      `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { stallMs: 500, stallsPerMinute: 2, soundSeconds: 1.5 }
stations:
  demo:
    channels:
      live: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }
`,
      undefined,
      log,
    );
    const heard = () => sourceChanges(lines);
    const metrics = async () => (await fetch(`${server.base}/metrics`)).text();
    const feeder = new Feeder(t, server.port, '/live');
    await feeder.answered();
    for (let i = 0; i < 2; i++) {
      feeder.send(4);
      await until(() => heard().at(-1) === 'encoder', 5000);
      await until(() => heard().at(-1) === 'file', 5000);
    }
    t.match(await metrics(), /source_trouble\{[^}]*kind="encoder"[^}]*trouble="unsteady"\} 1\n/);
    const before = heard().length;
    const startMs = performance.now();
    feeder.stream(t);
    await until(() => heard().at(-1) === 'encoder', 20_000);
    t.ok(performance.now() - startMs > 1400, 'not with its first frames');
    t.equal(heard().length, before + 1);
    const text = await metrics();
    t.match(text, /source_trouble\{[^}]*kind="encoder"[^}]*trouble="unsteady"\} 0\n/);
    t.match(text, /source_events_total\{[^}]*kind="encoder"[^}]*event="unsteady"\} 1\n/);
    t.match(
      lines.filter(({ event }) => event === 'unsteady'),
      [
        {
          message: 'source event',
          channel: 'live',
          source: 'encoder',
          place: 0,
          stallsPerMinute: 2,
          soundSeconds: 1.5,
        },
        { message: 'source recovered', channel: 'live', source: 'encoder', place: 0 },
      ],
    );
  },
);

t.test('an encoder that connects anew again and again beside a file is heard each time', async (t) => {
  const { log, lines } = keepLines();
  const server = await startServer(
    t,
    `
addresses: [{ host: 127.0.0.1, port: 0 }]
sources: { soundSeconds: 1.5 }
stations:
  demo:
    channels:
      live: { sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }
`,
    undefined,
    log,
  );
  const heard = () => sourceChanges(lines);
  await until(() => heard().at(-1) === 'file', 5000);
  const events = async () => (await fetch(`${server.base}/metrics`)).text();
  for (let i = 0; i < 5; i++) {
    const feeder = new Feeder(t, server.port, '/live');
    t.equal(await feeder.answered(), 200);
    feeder.send(20);
    await until(() => heard().at(-1) === 'encoder', 5000);
    feeder.socket.end();
    await feeder.over();
    await until(() => heard().at(-1) === 'file', 5000);
  }
  t.strictSame(
    heard().filter((kind) => kind !== null),
    ['file', ...Array.from({ length: 5 }, () => ['encoder', 'file']).flat()],
  );
  t.match(await events(), /source_events_total\{[^}]*kind="encoder"[^}]*event="unsteady"\} 0\n/);
});
