/** What survives `kill -9`: numbers, the list, its segments; and where the tape does, the audio goes on without a seam. */

import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { HlsFiles } from '../../src/hls/hls-files.js';
import { type ReadPlaylist, readPacked, readPlaylist } from '../kit/hls-channel.js';
import { HlsLink } from '../kit/hls-link.js';
import { numbersIn } from '../kit/numbered.js';
import { tempFolder } from '../kit/temp-folder.js';

const KEY = 'demo';

class Kept {
  readonly folder: string;
  readonly faults: string[] = [];
  files: HlsFiles;
  readonly link: HlsLink;

  constructor(t: Test) {
    this.folder = join(tempFolder(t), 'hls');
    this.files = this.#open();
    this.link = new HlsLink(1, {
      read: (channel: string) => this.files.read(channel),
      keep: (channel, window) => this.files.keep(channel, window),
      leave: (channel) => this.files.leave(channel),
      tidy: (has) => this.files.tidy(has),
      settled: () => this.files.settled(),
    });
  }

  get index(): string {
    return join(this.folder, KEY, 'window.json');
  }

  get playlist(): ReadPlaylist {
    return readPlaylist(this.link.window.playlist);
  }

  /** So much audio, asked for all the time. */
  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.link.pass(1);
      await this.link.hub.of(this.link)!.restored();
    }
    await this.files.settled();
  }

  /** The process ends as it stands, and another one begins. */
  async restart(): Promise<void> {
    await this.files.settled();
    void this.link.hub.close();
    this.files = this.#open();
    this.link.hub = this.link.makeHub();
  }

  #open(): HlsFiles {
    return new HlsFiles(this.folder, {
      clock: { wallMs: () => this.link.channel.clock.wallMs() },
      onDamaged: (channel, error) => this.faults.push(`${channel}: ${(error as Error).message}`),
      onUnwritten: (channel, error) => this.faults.push(`${channel}: ${(error as NodeJS.ErrnoException).code}`),
    });
  }
}

t.test('the same tape: it goes on without a seam', async (t) => {
  const kept = new Kept(t);
  const { link } = kept;
  await kept.pass(30);
  link.channel.title('Before');
  await kept.pass(6);
  const before = kept.playlist;
  await kept.restart();
  link.channel.play(5);
  link.channel.title('Between');
  await kept.pass(10);
  t.notSame(kept.playlist.segments, before.segments);
  const { segments, titles, mediaSequence, discontinuitySequence } = kept.playlist;
  t.strictSame(
    segments[0],
    before.segments.find(({ name }) => name === segments[0]!.name),
    'what was listed is listed',
  );
  t.equal(discontinuitySequence, before.discontinuitySequence);
  t.notOk(segments.some(({ isDiscontinuity }) => isDiscontinuity));
  const all = link.window.segmentsFrom(0);
  t.strictSame(
    all.map(({ number }) => number),
    all.map((_, i) => all[0]!.number + i),
  );
  t.ok(mediaSequence > before.mediaSequence);
  const frames = all.flatMap(({ bytes }) => numbersIn(readPacked(bytes).audio));
  t.strictSame(
    frames,
    frames.map((_, i) => frames[0]! + i),
    'each frame once',
  );
  for (const [i, { startMs, micros, bytes }] of all.entries()) {
    const next = all[i + 1];
    if (next === undefined) continue;
    t.ok(Math.abs(next.startMs - startMs - micros / 1000) < 5, 'dates go on');
    const ticks = Number(readPacked(next.bytes).tag['PRIV']) - Number(readPacked(bytes).tag['PRIV']);
    t.ok(Math.abs(ticks - micros * 0.09) < 1.1, 'so do timestamps');
  }
  t.strictSame(
    titles.map(({ title }) => title),
    ['Before', 'Between'],
  );
  t.equal(new Set(titles.map(({ id }) => id)).size, titles.length);
  t.strictSame(kept.faults, []);
});

t.test('another tape: the list goes on behind EXT-X-DISCONTINUITY, with numbers above', async (t) => {
  const kept = new Kept(t);
  await kept.pass(30);
  const before = kept.playlist;
  await kept.restart();
  kept.link.audio.leave();
  kept.link.channel.clock.advance(3000);
  await kept.pass(12);
  const { segments } = kept.playlist;
  const isNew = ({ name }: { name: string }) => !before.segments.some((each) => each.name === name);
  const first = segments.findIndex(isNew);
  t.ok(first > 0, 'some of before are listed');
  t.strictSame(
    segments.map(({ isDiscontinuity }) => isDiscontinuity),
    segments.map((_, i) => i === first),
  );
  t.ok(segments.every(({ dateMs }, i) => i === 0 || dateMs > segments[i - 1]!.dateMs));
  t.equal(Number(segments[first]!.name.split('-')[0]), Number(before.segments.at(-1)!.name.split('-')[0]) + 1);
});

t.test(
  'a segment is served from its file before anybody asks for a playlist; a channel without files has none',
  async (t) => {
    const kept = new Kept(t);
    await kept.pass(30);
    const { name, bytes } = kept.link.window.last!;
    await kept.restart();
    const { link } = kept;
    const found = await link.hub.file(link, name);
    t.ok(found?.bytes.equals(bytes));
    t.equal(link.hub.file(link, name.replace('-', '-0').slice(0, -5)), undefined);
    t.notOk(link.window.isEmpty);
    const none = new Kept(t);
    t.equal(await none.link.hub.file(none.link, name), undefined);
    t.ok(none.link.hub.of(none.link)!.isAtRest);
    t.strictSame(none.faults, []);
  },
);

t.test('a worker goes on with the next hub as if nothing had happened', async (t) => {
  const kept = new Kept(t);
  const { link } = kept;
  await kept.pass(30);
  const { worker } = link;
  await kept.restart();
  worker.pipe.hub.destroy();
  link.connect(worker);
  link.flow();
  await link.hub.of(link)!.restored();
  link.flow();
  t.ok(worker.pipe.hub.written < 2 * 70_000, `${worker.pipe.hub.written} bytes`);
  await kept.pass(10);
  link.flow();
  t.equal(worker.window.playlist, link.window.playlist);
  t.notOk(readPlaylist(worker.window.playlist).segments.some(({ isDiscontinuity }) => isDiscontinuity));
});

t.test('at rest only the numbers are kept, and they survive', async (t) => {
  const kept = new Kept(t);
  const { link } = kept;
  await kept.pass(30);
  link.pass(610, { isAsked: false });
  await kept.files.settled();
  const last = link.window.lastNumber!;
  t.strictSame(readdirSync(join(kept.folder, KEY)), ['window.json']);
  await kept.restart();
  // As where the clock was set back: the numbers that it gives are lower.
  writeFileSync(
    kept.index,
    readFileSync(kept.index, 'utf8').replace(`"lastNumber":${last}`, `"lastNumber":${last + 1e5}`),
  );
  await kept.pass(10);
  t.ok(kept.playlist.mediaSequence > last + 1e5);
});

t.test('files are those of the window, and no others', async (t) => {
  const kept = new Kept(t);
  await kept.pass(100);
  const names = () => readdirSync(join(kept.folder, KEY)).sort();
  const expected = () => [...kept.link.window.segmentsFrom(0).map(({ name }) => name), 'window.json'].sort();
  t.strictSame(names(), expected());
  await kept.restart();
  const left = [`1-${'0'.repeat(16)}.mp3`, `2-${'0'.repeat(16)}.mp3.part`, 'window.json.part'];
  for (const name of left) writeFileSync(join(kept.folder, KEY, name), 'x');
  await kept.pass(10);
  t.strictSame(names(), expected(), 'what a process that was killed left is gone');
  await kept.files.tidy(() => false);
  t.notOk(existsSync(join(kept.folder, KEY)), 'what a channel left that is no more, too');
});

t.test('what is damaged: the channel begins anew, and says so', async (t) => {
  const kept = new Kept(t);
  await kept.pass(120);
  const { name, number: last } = kept.link.window.last!;
  await kept.restart();
  const text = readFileSync(kept.index, 'utf8');
  for (let length = 0; length < text.length; length += 97) {
    writeFileSync(kept.index, text.slice(0, length));
    t.equal(await kept.files.read(KEY), null);
  }
  t.equal(kept.faults.length, Math.ceil(text.length / 97), 'wherever it is cut');
  const lies = ['"from":"x"', '"from":-1', '"from":1e300'];
  for (const lie of lies) {
    writeFileSync(kept.index, text.replace(/"from":\d+/, lie));
    t.equal(await kept.files.read(KEY), null, lie);
  }
  writeFileSync(kept.index, text);
  t.ok(await kept.files.read(KEY));
  const segment = join(kept.folder, KEY, name);
  const bytes = readFileSync(segment);
  kept.faults.length = 0;
  truncateSync(segment, 1000);
  t.equal(await kept.files.read(KEY), null);
  writeFileSync(segment, Buffer.alloc(bytes.length));
  t.equal(await kept.files.read(KEY), null);
  t.match(kept.faults, [/is not what was written/, /is not what was written/]);
  kept.link.hub = kept.link.makeHub();
  await kept.pass(10);
  t.ok(kept.playlist.mediaSequence > last, 'numbers begin with the time, above all earlier ones');
});

t.test('a list that is too old is over, and what is older still is dropped', async (t) => {
  for (const [awayMs, isListed, isKept] of [
    [5000, true, true],
    [30_000, false, true],
    [100_000, false, false],
  ] as const) {
    const kept = new Kept(t);
    const { link } = kept;
    await kept.pass(30);
    const { name } = link.window.last!;
    await kept.restart();
    link.audio.leave();
    link.channel.clock.advance(awayMs);
    link.hub.ask(link);
    await link.hub.of(link)!.restored();
    t.strictSame([!link.window.isEmpty, link.window.segment(name) !== undefined], [isListed, isKept], `${awayMs} ms`);
  }
});

t.test('another length of segments was configured meanwhile: another list, numbers go on', async (t) => {
  const kept = new Kept(t);
  await kept.pass(30);
  const { lastNumber } = kept.link.window;
  const { discontinuitySequence } = kept.playlist;
  await kept.restart();
  kept.link.hls = { segmentSeconds: 2, window: 6, keep: 12, form: 'auto' };
  kept.link.hub.ask(kept.link);
  await kept.link.hub.of(kept.link)!.restored();
  await kept.pass(10);
  t.equal(kept.playlist.targetSeconds, 2);
  t.ok(kept.playlist.mediaSequence > lastNumber!);
  t.equal(kept.playlist.discontinuitySequence, discontinuitySequence + 1);
});

t.test('a disk that cannot be written: all is served on from memory', async (t) => {
  const kept = new Kept(t);
  writeFileSync(kept.folder, 'a file');
  await kept.pass(30);
  t.equal(kept.playlist.segments.length, 6);
  t.ok(kept.faults.some((fault) => /^demo: (ENOTDIR|EEXIST)$/.test(fault)));
});
