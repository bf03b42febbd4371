/**
 * A listener with ICY, a reader of its feed, a player of HLS and the feed of a private one on one channel, beside each other: pushes that are on time,
 * late, held, corrected, behind a delay line or with an offset, by a seed. All have the titles in one order and at one place. Frames say their number.
 */

import t, { type Test } from 'tap';
import { Feeder } from '../kit/feeder.js';
import { type ReadPlaylist, readPacked, readPlaylist } from '../kit/hls-channel.js';
import { NUMBERED_MS, numberedFrame, numbersIn } from '../kit/numbered.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { Random } from '../kit/random.js';
import { startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

const SECONDS = 25;
/** How long a push is held at most. */
const MAX_AHEAD_MS = 1500;
const FRAMES = Array.from({ length: 4000 }, (_, i) => numberedFrame(i));
const FRAME_BYTES = FRAMES[0]!.length;
const CHANNELS = { plain: '', delayed: 'delaySeconds: 4, ', offset: 'titleOffsetMs: 700, ' } as const;
type Key = keyof typeof CHANNELS;
const sources = 'sources: [{ type: encoder, password: demo-source }]';
const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
${Object.entries(CHANNELS)
  .map(([key, options]) => `      ${key}: { ${options}bitrateKbps: 128, pushTokens: [studio-token], ${sources} }`)
  .join('\n')}
streams: { hls: { enabled: true, segmentSeconds: 2, window: 60, keep: 70 }, burstSeconds: 2 }
limits: { pushesPerMinute: 1000 }
`;

/** Pushes until the time is over. @returns the songs whose place lay in what had come in */
async function pushes(base: string, key: Key, random: Random): Promise<Set<string>> {
  const late = new Set<string>();
  const endMs = performance.now() + SECONDS * 1000;
  let version = 0;
  for (let n = 0; performance.now() < endMs; ) {
    const isCorrection = n > 0 && random.chance(0.25);
    const id = `p${isCorrection ? n : ++n}`;
    const song = `${id}v${isCorrection ? ++version : (version = 0)}`;
    const timed = !isCorrection && random.chance(0.4);
    const offsetMs = timed ? random.int(-3000, MAX_AHEAD_MS) : 0;
    if (isCorrection || offsetMs < 0) late.add(song);
    const time = timed ? `&time=${(Date.now() + offsetMs) / 1000}` : '';
    await fetch(`${base}/metapush/${key}/studio-token?artist=A&song=${song}&id=${id}${time}`);
    await pause(random.int(20, 2500));
  }
  // What is held comes before the last title, too.
  await pause(MAX_AHEAD_MS + 100);
  return late;
}

interface Placed {
  readonly song: string;
  /** The number of the frame at which it begins. */
  readonly frame: number;
}

/** The titles of HLS. */
async function placesIn(base: string, key: Key, { segments, titles }: ReadPlaylist): Promise<Placed[]> {
  const placed: Placed[] = [];
  for (const { startMs, title } of titles) {
    const segment = segments.findLast(({ dateMs }) => dateMs <= startMs + 1) ?? segments[0]!;
    const bytes = Buffer.from(await (await fetch(`${base}/${key}/hls/${segment.name}`)).arrayBuffer());
    const [first] = numbersIn(readPacked(bytes).audio);
    placed.push({ song: title, frame: first! + (startMs - segment.dateMs) / NUMBERED_MS });
  }
  return placed;
}

/** Of several at one place, such as a title and its correction, the last. */
function lastOfEach(placed: readonly Placed[]): Placed[] {
  return placed.filter(({ frame }, i) => placed[i + 1] === undefined || placed[i + 1]!.frame - frame > 0.5);
}

/**
 * Without those that lasted less than a second, a segment of the tape: a title that comes late replaces them there if its moment lies among theirs.
 */
function lasting<T>(titles: readonly T[], msOf: (title: T) => number): T[] {
  return titles.filter((title, i) => titles[i + 1] === undefined || msOf(titles[i + 1]!) - msOf(title) > 1000);
}

/** A private listener of HLS, which asks for its playlist as players do, and what its feed says. */
class PrivateListener {
  readonly written: Watching;
  readonly heard: Watching;
  readonly #base: string;
  readonly #key: Key;
  isOver = false;

  constructor(t: Test, { base, ws }: { readonly base: string; readonly ws: string }, key: Key) {
    this.#base = base;
    this.#key = key;
    const feed = `${ws}/metadata/listener/hls-of-${key}`;
    this.written = new Watching(t, `${feed}?sync=wire`);
    this.heard = new Watching(t, `${feed}?sync=audio`);
    t.teardown(() => {
      this.isOver = true;
    });
  }

  async listen(random: Random): Promise<void> {
    await Promise.all([this.written.opened(), this.heard.opened()]);
    const url = `${this.#base}/${this.#key}/hls.m3u8?metaid=hls-of-${this.#key}`;
    const [, path] = /^(hls\/live.*)$/m.exec(await (await fetch(url)).text())!;
    while (!this.isOver) {
      const answer = await fetch(new URL(path!, url));
      if (answer.status !== 200) throw new Error(`${this.#key}: ${answer.status} ${await answer.text()}`);
      await answer.text();
      await pause(random.int(500, 2500));
    }
  }

  async report(heardAtMs: number): Promise<number> {
    const url = `${this.#base}/metadata/listener/hls-of-${this.#key}/heard`;
    const body = JSON.stringify({ heardAt: new Date(heardAtMs).toISOString() });
    return (await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).status;
  }
}

/** Of what it was sent each title that stands, with its date. @param last of which both know where it is */
function datesIn(records: Watching['records'], last: { readonly song: string; readonly startMs: number }): Placed[] {
  const { position } = records.findLast(({ song }) => song === last.song)!;
  const zeroMs = last.startMs - position;
  const places = records.map((record) => ({
    song: record.song,
    frame: (zeroMs + Number(record.position)) / NUMBERED_MS,
  }));
  return lastOfEach(places).filter(({ frame }) => frame * NUMBERED_MS > zeroMs + 1);
}

t.test('ICY, feed and HLS never contradict each other', { timeout: 180_000 }, async (t) => {
  const random = new Random();
  t.comment(`seed ${random.seed}`);
  const { port, base, ws } = await startServer(t, YAML);
  const play = async (key: Key) => {
    const feeder = new Feeder(t, port, `/${key}`, { frames: FRAMES });
    await feeder.answered();
    feeder.stream(t, 1);
    const playlist = async () => readPlaylist(await (await fetch(`${base}/${key}/hls/live.m3u8`)).text());
    await until(async () => (await fetch(`${base}/${key}/hls/live.m3u8`)).status === 200, 30_000);
    const player = new Player(port, `/${key}?metaid=of-${key}`, { keep: true });
    t.teardown(() => player.close());
    await player.until((p) => p.audioBytes > 0, 20_000);
    const feed = await new Watching(t, `${ws}/metadata/listener/of-${key}?sync=wire`).opened();
    const own = new PrivateListener(t, { base, ws }, key);
    const listening = own.listen(new Random(random.seed));
    listening.catch((error) => own.isOver || t.fail(String(error)));
    const late = await pushes(base, key, random);
    await fetch(`${base}/metapush/${key}/studio-token?artist=A&song=lastv0&id=last`);
    const isThere = (title: string) => title.includes('lastv0');
    await until(() => isThere(player.titles.at(-1)?.title ?? ''), 30_000);
    await until(() => isThere(feed.records.at(-1)?.song ?? ''), 30_000);
    await until(async () => isThere((await playlist()).titles.at(-1)?.title ?? ''), 30_000);

    await until(() => isThere(own.written.records.at(-1)?.song ?? ''), 30_000);

    const list = await playlist();
    const last = list.titles.at(-1)!;
    const allDated = datesIn(own.written.records, { song: last.title, startMs: last.startMs });
    const [firstDated] = allDated;
    const dated = lasting(allDated, ({ frame }) => frame * NUMBERED_MS);
    const allListed = list.titles.filter(({ startMs }) => startMs / NUMBERED_MS > firstDated!.frame - 0.5);
    const listedTitles = lasting(allListed, ({ startMs }) => startMs);
    t.strictSame(
      dated.map(({ song }) => song),
      listedTitles.map(({ title }) => title),
      `${key}: the feed of the private listener has the titles of its playlist`,
    );
    for (const [i, { song, frame }] of dated.entries()) {
      const offMs = frame * NUMBERED_MS - listedTitles[i]!.startMs;
      t.ok(Math.abs(offMs) < 3, `${key} ${song}: ${offMs} ms from its date in the playlist`);
    }
    t.ok(dated.length > 4, `${key}: ${dated.length} dated titles`);
    // What it hears is what its playlist has at the date that it reports.
    await until(async () => (await own.report(last.startMs + 20)) === 204, 10_000);
    await until(() => isThere(own.heard.records.at(-1)?.song ?? ''), 5000);
    const songs = (watching: Watching) => watching.records.map(({ song }) => song);
    t.strictSame(songs(own.heard), songs(own.written).slice(0, own.heard.records.length), `${key}: heard as written`);

    const hls = await placesIn(base, key, list);
    const tagBytes = player.audio.indexOf(FRAMES[0]!.subarray(0, 4));
    const [first] = numbersIn(player.audio);
    const said = feed.records.map(({ position, song }) => ({ song, frame: first! + position / NUMBERED_MS }));
    // In force where the listener began is what came last before that.
    const inFeed = lastOfEach(said).filter(({ frame }) => frame > first! + 1);
    const inHls = hls.filter(({ frame }) => frame > first! + 1);
    t.strictSame(
      inFeed.map(({ song }) => song),
      inHls.map(({ song }) => song),
      `${key}: the feed has the titles of HLS, in their order`,
    );
    for (const [i, { song, frame }] of inFeed.entries()) {
      const place = inHls[i]!.frame;
      t.ok(Math.abs(place - frame) < 1, `${key} ${song}: frame ${place} in HLS, ${frame} in the feed`);
    }

    // ICY: the block next to it, and of a title that comes late the first that was not sent.
    const nearFrames = player.metaint / FRAME_BYTES / 2 + 1;
    for (const { title, atByte } of player.titles.slice(1)) {
      const song = title.replace('A - ', '');
      const frame = first! + (atByte - tagBytes) / FRAME_BYTES;
      const place = said.find((each) => each.song === song)!.frame;
      t.ok(frame > place - nearFrames, `${key} ${song}: frame ${place} in the feed, ${frame} in ICY`);
      const behind = hls.filter((each) => each.frame > place + 0.5 && each.frame <= frame - nearFrames);
      const onTime = behind.filter((each) => !late.has(each.song)).map((each) => each.song);
      t.strictSame(onTime, [], `${key}: ICY says ${song} at frame ${frame}, where HLS is further`);
    }
    t.ok(inHls.length > 5, `${key}: ${inHls.length} titles`);
    own.isOver = true;
  };
  await Promise.all((Object.keys(CHANNELS) as Key[]).map(play));
});
