/**
 * The media clock of a browser and `position`: Chromium joins streams of Ogg in the middle of their links, hears tones that change with
 * the titles, and its `currentTime` at each change is the position that the session was given with `sync=wire`. What the measurement itself
 * errs by is measured on a WAV with the same tones.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import { ChannelAudio } from '../../src/audio/channel-audio.js';
import { framerFor } from '../../src/audio/frames/format.js';
import type { OggLink } from '../../src/audio/ogg/ogg-link.js';
import { SystemClock } from '../../src/base/clock.js';
import { Audience } from '../../src/listener/cursor/audience.js';
import type { HeardTitle, Session } from '../../src/listener/sessions/session.js';
import { Sessions } from '../../src/listener/sessions/sessions.js';
import { frameOf } from '../kit/frame-of.js';
import { pause } from '../kit/pause.js';
import { missing } from '../kit/program.js';
import { viewOf } from '../kit/record.js';
import { tempFolder } from '../kit/temp-folder.js';
import { listen, makeTones, TONES, type ToneAt } from '../kit/tones.js';

const CODECS = { opus: ['-c:a', 'libopus', '-b:a', '96k'], vorbis: ['-c:a', 'libvorbis', '-b:a', '96k'] };
type Codec = keyof typeof CODECS;
const TONE_SECONDS = 4;
/** On the tape before anyone joins: a burst of 3 s begins in the middle of a link. */
const FILL_MS = 6500;
const BURST_MS = 3000;
/** Of each codec; they begin a while after one another. */
const JOINS = 3;
const JOIN_GAP_MS = 700;
const LISTEN_SECONDS = 10;
/** What a tool may err by that is to judge 20 ms. */
const MAX_OWN_MS = 10;
const MAX_MEDIAN_MS = 20;
const MAX_P95_MS = 60;

/** A channel that is fed tones in real time, each with a title of its number. */
class ToneChannel {
  readonly audio: ChannelAudio;
  readonly #packets: { readonly bytes: Buffer; readonly ms: number; readonly link: OggLink }[] = [];
  #next = 0;
  #fedMs = 0;
  #tone = -1;

  constructor(key: string, stream: Buffer) {
    this.audio = new ChannelAudio({ now: () => performance.now(), key, lagMs: 60_000 });
    framerFor({
      onFrame: ({ bytes, durationMs: ms, link }) =>
        void this.#packets.push({ bytes: Buffer.from(bytes), ms, link: link! }),
    }).push(stream);
  }

  feed(toMs: number): void {
    while (this.#fedMs < toMs) {
      const { bytes, ms, link } = this.#packets[this.#next++]!;
      const tone = Math.floor((this.#fedMs + ms / 2) / 1000 / TONE_SECONDS);
      if (tone !== this.#tone) this.audio.title(viewOf(String(tone % TONES), { id: String(tone), version: tone + 1 }));
      this.#tone = tone;
      this.audio.write(frameOf(bytes, ms, 96, this.#next === 1, link));
      this.#fedMs += ms;
    }
  }
}

/** Serves `/`, `/tones.wav` and the streams at `/{codec}?metaid=`; positions by metaid and title. */
async function serve(t: Test): Promise<{ base: string; positions: Map<string, Map<string, number>> }> {
  const folder = tempFolder(t);
  const wav = makeTones(join(folder, 'tones.wav'), TONE_SECONDS, 12);
  const names = Object.keys(CODECS) as Codec[];
  const channels = names.map((codec) => {
    const path = join(folder, `${codec}.ogg`);
    return new ToneChannel(codec, makeTones(path, TONE_SECONDS, 90, ...CODECS[codec]));
  });
  const positions = new Map<string, Map<string, number>>();
  const onWritten = ({ metaid }: Session, { view, positionMs }: HeardTitle) => {
    if (!positions.has(metaid)) positions.set(metaid, new Map());
    positions.get(metaid)!.set(view.record.song, positionMs);
  };
  const clock = new SystemClock();
  const output = { onBegan: () => undefined, onHeard: () => undefined, onWritten };
  const sessions = new Sessions(clock, output, { keepMs: 1000, max: 100 });
  const audience = new Audience(clock, sessions);
  const startMs = performance.now();
  const feed = () => {
    for (const channel of channels) channel.feed(FILL_MS + performance.now() - startMs);
  };
  feed();
  const timer = setInterval(feed, 50);

  const onRequest = ({ url, socket }: IncomingMessage, response: ServerResponse) => {
    const [path, metaid] = url!.split('?metaid=');
    const channel = channels.find(({ audio }) => path === `/${audio.key}`)?.audio;
    if (channel === undefined || metaid === undefined) {
      const isWav = path === '/tones.wav';
      response.writeHead(200, { 'Content-Type': isWav ? 'audio/wav' : 'text/html' });
      response.end(isWav ? wav : '<!doctype html>');
      return;
    }
    response.detachSocket(socket);
    audience.enter(channel);
    audience.join(socket, channel, Buffer.from('HTTP/1.0 200 OK\r\nContent-Type: audio/ogg\r\n\r\n'), {
      icy: false,
      burstMs: BURST_MS,
      session: sessions.open({ metaid, channel: channel.key, mount: path! }),
      limitMs: Number.POSITIVE_INFINITY,
      onEnd: () => undefined,
    });
  };
  const server = createServer(onRequest);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    clearInterval(timer);
    audience.endAll('shutdown');
    clock.stop();
    server.closeAllConnections();
    server.close();
  });
  return { base: `http://127.0.0.1:${(server.address() as { port: number }).port}`, positions };
}

const describe = (errors: readonly number[]) => errors.map(Math.round).join(', ');
const at = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;

// Seven elements play for ten seconds each, a little after one another.
t.setTimeout(90_000);

t.test('position is the place on the media clock of Chromium', { skip: missing('chromium', 'ffmpeg') }, async (t) => {
  const { base, positions } = await serve(t);
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'],
  });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await page.goto(base);
  const own = listen(page, `${base}/tones.wav`, LISTEN_SECONDS);
  const joins: { codec: string; metaid: string; changes: Promise<ToneAt[]> }[] = [];
  for (let i = 0; i < JOINS; i++) {
    for (const codec of Object.keys(CODECS)) {
      await pause(JOIN_GAP_MS);
      const metaid = `${codec}-${i}`;
      joins.push({ codec, metaid, changes: listen(page, `${base}/${codec}?metaid=${metaid}`, LISTEN_SECONDS) });
    }
  }
  const ownErrors = (await own).filter(({ isSure }) => isSure).map(({ tone, ms }) => ms - tone * TONE_SECONDS * 1000);
  t.ok(ownErrors.length > 0 && ownErrors.every((ms) => Math.abs(ms) <= MAX_OWN_MS), `a WAV: ${describe(ownErrors)}`);
  let inside = 0;
  for (const codec of Object.keys(CODECS)) {
    const errors: number[] = [];
    for (const { metaid, changes } of joins.filter((join) => join.codec === codec)) {
      const given = positions.get(metaid)!;
      // The second title.
      if ([...given.values()][1]! < TONE_SECONDS * 1000 - 500) inside++;
      for (const { tone, ms, isSure } of await changes) if (isSure) errors.push(given.get(String(tone))! - ms);
    }
    const sorted = errors.map(Math.abs).sort((a, b) => a - b);
    t.ok(errors.length >= JOINS, `${codec}: ${errors.length} changes`);
    t.ok(at(sorted, 0.5) <= MAX_MEDIAN_MS && at(sorted, 0.95) <= MAX_P95_MS, `${codec}: ${describe(errors)}`);
  }
  // Of Opus: tones are few bytes in Vorbis, and its burst of 32 KiB begins with the tape.
  t.ok(inside > 0, `${inside} joins inside a link`);
});
