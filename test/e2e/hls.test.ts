/**
 * HLS with real programs: ffmpeg and ffprobe decode every frame of MP3 (constant and variable bitrate), AAC (packed and in fMP4), Opus and FLAC without a
 * word, mpv and VLC play, and hls.js in Chromium plays, and shows each title when its playlist's time says so, also one that was corrected.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { otherOrigin } from '../kit/browser.js';
import { readPlaylist } from '../kit/hls-channel.js';
import { HlsRecorder } from '../kit/hls-recorder.js';
import { readFragment } from '../kit/mp4.js';
import { pause } from '../kit/pause.js';
import { type PlayerKind, PlayerProgram } from '../kit/player-program.js';
import { missing } from '../kit/program.js';
import { DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const SEGMENT_SECONDS = 2;
const AAC = ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'];
/** How ffmpeg makes them, and finds them. No arguments: the demo's file. */
const FILES = {
  mp3: { args: [], codec: 'mp3', rate: 44_100, form: 'auto' },
  vbr: { args: ['-c:a', 'libmp3lame', '-q:a', '5', '-f', 'mp3'], codec: 'mp3', rate: 44_100, form: 'auto' },
  aac: { args: AAC, codec: 'aac', rate: 44_100, form: 'auto' },
  fmp4: { args: AAC, codec: 'aac', rate: 44_100, form: 'fmp4' },
  opus: { args: ['-c:a', 'libopus', '-b:a', '96k', '-f', 'ogg'], codec: 'opus', rate: 48_000, form: 'auto' },
  flac: { args: ['-c:a', 'flac', '-f', 'ogg'], codec: 'flac', rate: 44_100, form: 'auto' },
} as const;
type Kind = keyof typeof FILES;
const FRAGMENTS: readonly Kind[] = ['fmp4', 'opus', 'flac'];

/** Channels with a file in a loop, each in another form. */
async function start(t: Test, segmentSeconds = SEGMENT_SECONDS) {
  const folder = tempFolder(t);
  const channel = (kind: Kind) => {
    const { args, form } = FILES[kind];
    const path = args.length === 0 ? DEMO_AUDIO : join(folder, kind);
    if (path !== DEMO_AUDIO) {
      // Longer than a test: at its end an encoder's last packet is not whole.
      const input = ['-f', 'lavfi', '-i', 'sine=frequency=500:sample_rate=44100:duration=150', '-ac', '2'];
      execFileSync('ffmpeg', ['-v', 'error', '-y', ...input, ...args, path]);
    }
    const source = `sources: [{ type: file, path: ${path} }]`;
    return `      ${kind}: { name: 'The ${kind}', pushTokens: [demo-token], hls: { form: ${form} }, ${source} }`;
  };
  const yaml = `addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
${(Object.keys(FILES) as Kind[]).map(channel).join('\n')}
streams: { hls: { enabled: true, segmentSeconds: ${segmentSeconds} } }
`;
  const server = await startServer(t, yaml);
  const push = async (kind: Kind, song: string, more = '') => {
    const { status } = await fetch(`${server.base}/metapush/${kind}/demo-token?artist=Berta&song=${song}${more}`);
    t.equal(status, 200);
  };
  const url = (kind: Kind) => `${server.base}/${kind}/hls.m3u8`;
  return { ...server, push, url };
}

/**
 * Of MP3 ffmpeg reads a kilobyte at a time, also over the end of a segment, so that up to three frames have the timestamp of the next one: that would be
 * said of its output, whose times are made anew. That it takes no notice of another title it says as a warning.
 */
const DECODING = ['-v', 'error', '-xerror', '-nostdin'];
const RENUMBERED = ['-af', 'asetpts=N/SR/TB'];

/** Samples of each audio channel that ffmpeg decodes, and what it says. */
function decode(input: string): { readonly samples: number; readonly said: string } {
  const args = [...DECODING, '-i', input, ...RENUMBERED, '-f', 's16le', '-ac', '1', '-'];
  const { stdout, stderr } = spawnSync('ffmpeg', args, { maxBuffer: 1 << 28 });
  return { samples: stdout.length / 2, said: stderr.toString() };
}

/** A segment by itself, as ffprobe finds it; of events of MP4 it says nothing. */
function probe(recorder: HlsRecorder, folder: string, name: string, init: string | null) {
  const bytes = recorder.bytes.get(name)!;
  const path = join(folder, `${name}.probed`);
  writeFileSync(path, Buffer.concat([...(init === null ? [] : [recorder.inits.get(init)!]), bytes]));
  const entries = ['-show_entries', 'stream=codec_name:format_tags=title,artist', '-of', 'json'];
  const probed = JSON.parse(execFileSync('ffprobe', ['-v', 'error', ...entries, path]).toString());
  const event = init === null ? undefined : readFragment(bytes).events.at(-1)!.tag;
  const tags = event === undefined ? probed.format.tags : { title: event['TIT2'], artist: event['TPE1'] };
  return { codecName: probed.streams[0].codec_name, tags };
}

t.test(
  'ffmpeg decodes what was listed to the sample, with titles each second',
  { skip: missing('ffmpeg', 'ffprobe'), timeout: 180_000 },
  async (t) => {
    const { base, push } = await start(t);
    const kinds = Object.keys(FILES) as Kind[];
    const recorders = kinds.map((kind) => new HlsRecorder(t, `${base}/${kind}/hls/live.m3u8`));
    for (let i = 0; i < 40; i++) {
      for (const kind of kinds) await push(kind, `Lied+${i}`);
      await pause(600);
    }
    for (const [i, kind] of kinds.entries()) {
      const recorder = recorders[i]!;
      await until(() => recorder.seconds > 20, 30_000);
      const folder = tempFolder(t);
      const { samples, said } = decode(recorder.write(folder, SEGMENT_SECONDS));
      t.equal(said, '', `${kind}: no message`);
      const { rate, codec } = FILES[kind];
      t.ok(Math.abs(samples - recorder.seconds * rate) < 1, `${kind}: ${samples} samples in ${recorder.seconds} s`);
      t.ok(recorder.segments.length > 10);
      for (const [at, { name, seconds, init }] of recorder.segments.entries()) {
        const { codecName, tags } = probe(recorder, folder, name, init);
        t.equal(codecName, codec);
        t.match(tags, { title: /^Lied \d+$/, artist: 'Berta' });
        const isRest = recorder.segments[at + 1]?.isDiscontinuity === true;
        t.ok((seconds > 0.9 || isRest) && Math.round(seconds) <= SEGMENT_SECONDS, `${name}: ${seconds} s`);
      }
    }
  },
);

t.test('ffmpeg plays it live', { skip: missing('ffmpeg'), timeout: 120_000 }, async (t) => {
  const { push, url } = await start(t);
  await push('mp3', 'Lied');
  await until(async () => (await fetch(url('mp3'))).status === 200, 30_000);
  const args = [...DECODING, '-t', '12', '-i', url('mp3'), ...RENUMBERED, '-f', 'null', '-'];
  const { status, stderr } = await new Promise<{ status: number | null; stderr: string }>((done) => {
    const ffmpeg = new PlayerProgram(t, { ...FFMPEG, args: () => args }, '');
    ffmpeg.child.on('close', (code) => done({ status: code, stderr: ffmpeg.said }));
  });
  t.strictSame([status, stderr], [0, '']);
});

const FFMPEG: PlayerKind = { program: 'ffmpeg', args: () => [], shows: () => '', complaint: /./ };
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
    const { push, url } = await start(t);
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

// biome-ignore-start lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know

/** A page in Chromium that has hls.js. */
async function openPage(t: Test) {
  const script = readFileSync(new URL('../../node_modules/hls.js/dist/hls.light.min.js', import.meta.url));
  const origin = await otherOrigin(t, (request, response) => {
    response.writeHead(request.url === '/hls.js' ? 200 : 404, { 'Content-Type': 'text/javascript' });
    response.end(script);
  });
  const args = ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await page.goto(origin);
  await page.addScriptTag({ url: `${origin}/hls.js` });
  return page;
}

t.test(
  'hls.js in Chromium plays fMP4, with titles at their samples',
  { skip: missing('chromium'), timeout: 180_000 },
  async (t) => {
    const { push, url } = await start(t);
    const page = await openPage(t);
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
  'hls.js in Chromium shows each title by its date',
  { skip: missing('chromium'), timeout: 180_000 },
  async (t) => {
    const { push, url } = await start(t);
    const page = await openPage(t);
    await push('mp3', 'Erster');
    await page.evaluate((source) => {
      const { Hls, document } = globalThis as any;
      const audio = document.createElement('audio');
      const seen = { titles: [] as unknown[], errors: [] as string[], stalls: 0, position: 0 };
      Object.assign(globalThis, { seen });
      const hls = new Hls({ liveSyncDurationCount: 2 });
      let ranges: { id: string; atMs: number; title: string }[] = [];
      hls.on(Hls.Events.LEVEL_UPDATED, (_: unknown, { details }: any) => {
        ranges = Object.values(details.dateRanges).map((range: any) => ({
          id: range.id,
          atMs: range.startDate.getTime(),
          title: range.attr['X-TITLE'],
        }));
      });
      hls.on(Hls.Events.ERROR, (_: unknown, { fatal, details }: any) => {
        if (fatal) seen.errors.push(details);
        else if (details === 'bufferStalledError') seen.stalls++;
      });
      let last = '';
      setInterval(() => {
        const nowMs = hls.playingDate?.getTime();
        seen.position = audio.currentTime;
        if (nowMs === undefined) return;
        const inForce = ranges.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => b.atMs - a.atMs)[0];
        if (inForce === undefined || inForce.id === last) return;
        last = inForce.id;
        seen.titles.push({ title: inForce.title, wallMs: Date.now(), lateMs: nowMs - inForce.atMs });
      }, 20);
      hls.loadSource(source);
      hls.attachMedia(audio);
      audio.play();
    }, url('mp3'));
    const seen = () => page.evaluate(() => (globalThis as any).seen);
    await until(async () => (await seen()).position > 1, 60_000);
    const pushed: { readonly song: string; readonly wallMs: number }[] = [];
    for (let i = 0; i < 5; i++) {
      const song = `Lied${i}`;
      pushed.push({ song, wallMs: Date.now() });
      await push('mp3', song);
      await pause(3500);
    }
    await push('mp3', 'Falsch', '&id=letztes');
    await pause(1500);
    await push('mp3', 'Richtig', '&id=letztes');
    await until(async () => (await seen()).titles.at(-1)?.title === 'Richtig', 60_000);
    const { titles, errors, position } = await seen();
    t.strictSame(errors, []);
    t.ok(position > 15, `${position}`);
    const order = titles.map(({ title }: any) => title);
    t.strictSame(order, ['Erster', ...pushed.map(({ song }) => song), 'Richtig'], 'in order, and never the wrong one');
    const behind = pushed.map(({ song, wallMs }) => titles.find(({ title }: any) => title === song).wallMs - wallMs);
    const late = titles.slice(1).map(({ lateMs }: any) => Math.round(lateMs));
    t.comment(
      `shown ${behind.map((ms) => (ms / 1000).toFixed(1)).join(', ')} s after the push, ${late.join(', ')} ms behind its date`,
    );
    t.ok(behind.every((ms) => ms > 1000));
  },
);
// biome-ignore-end lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know

t.test('every playlist of a story can be read, and says the same of each segment', { timeout: 120_000 }, async (t) => {
  const { base, push } = await start(t);
  const recorder = new HlsRecorder(t, `${base}/aac/hls/live.m3u8`);
  for (let i = 0; i < 10; i++) {
    await push('aac', `"L%0A${i}"%23EXTINF`);
    await pause(1100);
  }
  await until(() => recorder.playlists.length > 8, 30_000);
  const said = new Map<string, string>();
  let last = 0;
  for (const text of recorder.playlists) {
    const { mediaSequence, segments } = readPlaylist(text);
    t.ok(mediaSequence >= last);
    last = mediaSequence;
    for (const [i, segment] of segments.entries()) {
      const facts = JSON.stringify([mediaSequence + i, segment]);
      t.equal(said.get(segment.name) ?? facts, facts);
      said.set(segment.name, facts);
    }
  }
});
