/**
 * HLS with real programs: ffmpeg and ffprobe decode every frame of MP3 (constant and variable bitrate, 8 kb/s), AAC (packed and in fMP4), Opus and FLAC without a
 * word, and hls.js in Chromium shows each title when its playlist's time says so, also one that was corrected. Players: hls-players.test.ts.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readPlaylist } from '../kit/hls-channel.js';
import { FILES, type HlsKind, openHlsPage, SEGMENT_SECONDS, startHls } from '../kit/hls-programs.js';
import { HlsRecorder } from '../kit/hls-recorder.js';
import { readFragment } from '../kit/mp4.js';
import { pause } from '../kit/pause.js';
import { type PlayerKind, PlayerProgram } from '../kit/player-program.js';
import { missing } from '../kit/program.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They sleep most of their time.
t.jobs = 4;

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
    const kinds = Object.keys(FILES) as HlsKind[];
    const { base, push } = await startHls(t, ...kinds);
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
  const { push, url } = await startHls(t, 'mp3');
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
// biome-ignore-start lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
t.test(
  'hls.js in Chromium shows each title by its date',
  { skip: missing('chromium'), timeout: 180_000 },
  async (t) => {
    const { push, url } = await startHls(t, 'mp3');
    const page = await openHlsPage(t);
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
  const { base, push } = await startHls(t, 'aac');
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
