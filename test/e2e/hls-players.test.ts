/**
 * Players play HLS: mpv, VLC and GStreamer MP3 and fMP4, Liquidsoap as an input, hls.js in Firefox, and in Chromium all that is fMP4, with titles at their
 * samples.
 */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { AdminClient } from '../kit/admin-client.js';
import { FIREFOX, Firefox } from '../kit/firefox.js';
import { readPlaylist } from '../kit/hls-channel.js';
import { type HlsKind, hlsPage, openHlsPage, startHls } from '../kit/hls-programs.js';
import { runLiquidsoap } from '../kit/liquidsoap.js';
import { pause } from '../kit/pause.js';
import { type PlayerKind, PlayerProgram } from '../kit/player-program.js';
import { missing } from '../kit/program.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until, untilPromised } from '../kit/until.js';

// They sleep most of their time.
t.jobs = 3;

const FRAGMENTS: readonly HlsKind[] = ['fmp4', 'opus', 'flac'];
const PLAYERS: readonly PlayerKind[] = [
  {
    program: 'mpv',
    args: (url) => [
      ...['--no-config', '--no-video', '--no-input-terminal', '--ao=null', '--msg-level=all=warn,statusline=status'],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: mpv fills it in
      ...['--term-status-msg=at ${=time-pos}\n', url],
    ],
    // Nor does VLC show titles of HLS.
    shows: () => '',
    complaint: /error|fail|invalid/i,
    position: /at ([\d.]+)/,
    excused: /underrun/,
  },
  {
    program: 'cvlc',
    args: (url) => ['-vv', '--no-color', '--no-dbus', '-I', 'dummy', '--aout=adummy', url],
    shows: () => '',
    complaint: /(?:stream|access|demux|packetizer|decoder|input|audio output)\w* error:|discarding|lost sync/i,
    excused: /ES_OUT_SET_\(GROUP_\)PCR|adaptive demux error|Failed to create/,
    asNobody: true,
  },
];

for (const [kind, channel] of PLAYERS.flatMap((kind) =>
  (['mp3', 'opus'] as const).map((each) => [kind, each] as const),
)) {
  t.test(`${kind.program} plays ${channel}`, { skip: missing(kind.program), timeout: 120_000 }, async (t) => {
    const { push, url } = await startHls(t, channel);
    await push(channel, 'Walzer');
    await until(async () => (await fetch(url(channel))).status === 200, 30_000);
    const player = new PlayerProgram(t, kind, url(channel));
    if (kind.position !== undefined)
      await until(
        () => player.position > 0,
        40_000,
        () => player.said.slice(-800),
      );
    await pause(15_000);
    t.equal(player.ended, undefined, 'it plays on');
    t.same(player.complaints, []);
    if (kind.position !== undefined) t.ok(player.position > 10, `${player.position}`);
    player.end();
  });
}

const GSTREAMER: PlayerKind = {
  program: 'gst-launch-1.0',
  args: (url) => ['-v', 'playbin3', `uri=${url}`, 'audio-sink=fakesink sync=true silent=false'],
  shows: () => '',
  complaint: /^(?:ERROR|WARNING)/m,
  position: /\(fakesink0:sink\).* pts: (\d+):(\d+):([\d.]+)/,
};

for (const channel of ['mp3', 'opus'] as const)
  t.test(`GStreamer plays ${channel}`, { skip: missing(GSTREAMER.program), timeout: 120_000 }, async (t) => {
    const { base, url } = await startHls(t, channel);
    const list = async () => readPlaylist(await (await fetch(`${base}/${channel}/hls/live.m3u8`)).text());
    // Where less is listed than it wants to buffer hlsdemux2 of 1.22 stands still.
    await until(async () => (await fetch(url(channel))).status === 200 && (await list()).segments.length === 6, 40_000);
    const player = new PlayerProgram(t, GSTREAMER, url(channel));
    await until(
      () => player.position > 0,
      40_000,
      () => player.said.slice(-800),
    );
    const before = player.position;
    await pause(12_000);
    t.equal(player.ended, undefined, 'it plays on');
    t.same(player.complaints, []);
    t.ok(player.position - before > 8, `${player.position - before} s in 12 s`);
    player.end();
  });

t.test('Liquidsoap takes it as an input', { skip: missing('liquidsoap'), timeout: 120_000 }, async (t) => {
  const { url } = await startHls(t, 'mp3');
  await until(async () => (await fetch(url('mp3'))).status === 200, 30_000);
  const file = join(tempFolder(t), 'heard.wav');
  const program = runLiquidsoap(t, [], [`output.file(fallible=true, %wav, "${file}", input.hls("${url('mp3')}"))`]);
  const seconds = () => (existsSync(file) ? statSync(file).size / (44_100 * 4) : 0);
  await until(
    () => seconds() > 12,
    60_000,
    () => program.said.slice(-800),
  );
  const samples = readFileSync(file);
  let loud = 0;
  for (let at = 44; at + 1 < samples.length; at += 4) if (Math.abs(samples.readInt16LE(at)) > 300) loud++;
  t.ok(loud > samples.length / 4 / 3, `${loud} of ${samples.length / 4} samples are heard`);
  await program.stop();
});

const DECODER: PlayerKind = {
  program: 'ffmpeg',
  args: (from) => ['-re', '-i', from, '-f', 'null', '-'],
  shows: () => '',
  complaint: /^$/,
};

t.test('private listeners: each program is one, for as long as it plays', { timeout: 180_000 }, async (t) => {
  const { base, url } = await startHls(t, 'mp3');
  const kinds = [DECODER, ...PLAYERS].filter(({ program }) => missing(program) === false);
  await until(async () => (await fetch(url('mp3'))).status === 200, 30_000);
  const players = kinds.map((kind) => new PlayerProgram(t, kind, `${url('mp3')}?metaid=of-${kind.program}`));
  const admin = new AdminClient({ base });
  const ids = async (): Promise<string[]> => {
    const { body } = await admin.get('listeners');
    return body.listeners.map(({ id }: { id: string }) => id).sort();
  };
  await until(async () => (await ids()).length === kinds.length, 40_000);
  const first = await ids();
  // Longer than one may ask for nothing.
  await pause(15_000);
  t.strictSame(await ids(), first, `${kinds.map(({ program }) => program)}`);
  for (const player of players) {
    t.equal(player.ended, undefined, `${player.kind.program} plays on`);
    player.end();
  }
  await untilPromised(async () => (await ids()).length === 0, 15_000);
});

// biome-ignore-start lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
t.test(
  'hls.js in Chromium plays fMP4, with titles at their samples',
  { skip: missing('chromium'), timeout: 180_000 },
  async (t) => {
    const { push, url } = await startHls(t, ...FRAGMENTS);
    const page = await openHlsPage(t);
    for (const kind of FRAGMENTS) {
      await push(kind, 'Eins');
      await page.evaluate((source) => {
        const { Hls, document } = globalThis as any;
        const audio = document.createElement('audio');
        const seen = { errors: [] as string[], stalls: 0, position: 0, cues: [] as string[] };
        const hls = new Hls({ liveSyncDurationCount: 2 });
        Object.assign(globalThis, { seen, hls });
        hls.on(Hls.Events.ERROR, (_: unknown, { fatal, details }: any) => {
          if (fatal) seen.errors.push(details);
          else if (details === 'bufferStalledError') seen.stalls++;
        });
        setInterval(() => {
          seen.position = audio.currentTime - (audio.played.length > 0 ? audio.played.start(0) : audio.currentTime);
          const track = [...audio.textTracks].find(({ label }: any) => label === 'id3');
          if (track === undefined) return;
          track.mode = 'hidden';
          seen.cues = [...(track.cues ?? [])].map(({ value }: any) => `${value.key}=${value.data}`);
        }, 100);
        hls.loadSource(source);
        hls.attachMedia(audio);
        audio.play();
      }, url(kind));
      const seen = () => page.evaluate(() => (globalThis as any).seen);
      await until(async () => (await seen()).position > 1, 60_000);
      await push(kind, 'Zwei');
      await until(async () => (await seen()).position > 8, 60_000);
      await until(async () => (await seen()).cues.includes('TIT2=Zwei'), 30_000);
      const { errors, stalls, cues } = await seen();
      t.strictSame(errors, [], kind);
      t.comment(`${kind}: ${stalls} stalls, ${[...new Set(cues)].join(' ')}`);
      await page.evaluate(() => (globalThis as any).hls.destroy());
    }
  },
);

t.test(
  "Chromium's own player plays AAC, packed and as fMP4: sound only",
  { skip: missing('chromium'), timeout: 180_000 },
  async (t) => {
    // It takes packed MP3 for AAC, and a list of less than three segments for none.
    const kinds = ['aac', 'fmp4'] as const;
    const { base, url } = await startHls(t, ...kinds);
    const page = await openHlsPage(t);
    for (const kind of kinds) {
      const list = async () => (await fetch(`${base}/${kind}/hls/live.m3u8`)).text();
      await until(async () => ((await list()).match(/#EXTINF/g)?.length ?? 0) > 3, 40_000);
      await page.evaluate((source) => {
        const { document } = globalThis as any;
        const audio = document.createElement('audio');
        Object.assign(globalThis, { audio });
        audio.src = source;
        audio.play();
      }, url(kind));
      const look = () =>
        page.evaluate(() => {
          const { currentTime, played, error } = (globalThis as any).audio;
          return { seconds: currentTime - (played.length > 0 ? played.start(0) : currentTime), error: error?.message };
        });
      await until(async () => (await look()).seconds > 8 || (await look()).error !== undefined, 40_000);
      t.equal((await look()).error, undefined, kind);
      await page.evaluate(() => (globalThis as any).audio.removeAttribute('src'));
    }
  },
);

t.test(
  'hls.js in Firefox plays MP3 and fMP4, and has their titles',
  { skip: missing(FIREFOX), timeout: 180_000 },
  async (t) => {
    const kinds = ['mp3', 'fmp4'] as const;
    const { push, url } = await startHls(t, ...kinds);
    const firefox = await Firefox.start(t);
    await firefox.goto(await hlsPage(t));
    for (const kind of kinds) {
      await push(kind, 'Eins');
      await firefox.evaluate((source) => {
        const { Hls, document } = globalThis as any;
        const audio = document.createElement('audio');
        const hls = new Hls({ liveSyncDurationCount: 2 });
        const seen = { audio, hls, titles: [] as string[], errors: [] as string[] };
        Object.assign(globalThis, { seen });
        hls.on(Hls.Events.LEVEL_UPDATED, (_: unknown, { details }: any) => {
          for (const { attr } of Object.values<any>(details.dateRanges)) seen.titles.push(attr['X-TITLE']);
        });
        hls.on(Hls.Events.ERROR, (_: unknown, { fatal, details }: any) => {
          if (fatal) seen.errors.push(details);
        });
        audio.muted = true;
        hls.loadSource(source);
        hls.attachMedia(audio);
        audio.play();
      }, url(kind));
      const look = () =>
        firefox.evaluate(() => {
          const { audio, hls, titles, errors } = (globalThis as any).seen;
          const began = audio.played.length > 0 ? audio.played.start(0) : audio.currentTime;
          return { seconds: audio.currentTime - began, hasDate: hls.playingDate !== null, titles, errors };
        }, null);
      await until(async () => (await look()).seconds > 1, 60_000);
      await push(kind, 'Zwei');
      await until(async () => (await look()).seconds > 8, 60_000);
      await until(async () => (await look()).titles.includes('Zwei'), 30_000);
      const { errors, hasDate } = await look();
      t.strictSame([errors, hasDate], [[], true], kind);
      await firefox.evaluate(() => (globalThis as any).seen.hls.destroy(), null);
    }
  },
);
// biome-ignore-end lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
