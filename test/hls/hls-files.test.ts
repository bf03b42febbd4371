/** What survives `kill -9`: numbers, the list, its segments; and where the tape does, the audio goes on without a seam. */

import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readPacked, readPlaylist } from '../kit/hls-channel.js';
import { HLS_OPTIONS } from '../kit/hls-link.js';
import { KEPT_KEY as KEY, KeptHls as Kept } from '../kit/kept-hls.js';
import { numbersIn } from '../kit/numbered.js';
import { smallDisk } from '../kit/small-disk.js';
import { until } from '../kit/until.js';

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
  kept.files.leave(KEY);
  await kept.files.tidy(() => false);
  t.notOk(existsSync(join(kept.folder, KEY)), 'what a channel left that is no more, too');
});

t.test('what is damaged: the channel begins anew, and says so', async (t) => {
  const kept = new Kept(t);
  await kept.pass(120);
  const { name, number: last } = kept.link.window.last!;
  await kept.restart();
  const text = readFileSync(kept.index, 'utf8');
  let refused = 0;
  for (let length = 0; length < text.length; length++) {
    writeFileSync(kept.index, text.slice(0, length));
    if ((await kept.files.read(KEY)) === null) refused++;
  }
  t.equal(refused, text.length);
  t.equal(kept.faults.length, text.length, 'wherever it is cut');
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
  kept.link.hls = { ...HLS_OPTIONS, segmentSeconds: 2 };
  kept.link.hub.ask(kept.link);
  await kept.link.hub.of(kept.link)!.restored();
  await kept.pass(10);
  t.equal(kept.playlist.targetSeconds, 2);
  t.ok(kept.playlist.mediaSequence > lastNumber!);
  t.equal(kept.playlist.discontinuitySequence, discontinuitySequence + 1);
});

t.test('a disk that cannot be written: all is served on from memory, and it is counted', async (t) => {
  const kept = new Kept(t);
  writeFileSync(kept.folder, 'a file');
  await kept.pass(30);
  t.equal(kept.playlist.segments.length, 6);
  t.match(kept.files.faults.get(KEY), /^(ENOTDIR|EEXIST)$/);
  t.ok(kept.link.hub.unwritten > 0);
});

t.test('a full disk: what was there stays whole, and all is written again when there is room', async (t) => {
  const kept = new Kept(t);
  // Room for six segments.
  const disk = smallDisk(t, kept.folder, '400k');
  if (disk === null) return t.plan(0, 'a file system cannot be mounted here');
  await kept.pass(20);
  t.strictSame(kept.faults, []);
  disk.fill(8192);
  await kept.pass(40);
  t.equal(kept.playlist.segments.length, 6, 'served on');
  t.strictSame([...kept.link.hub.faults], [[KEY, 'ENOSPC']]);
  t.ok(kept.link.hub.unwritten > 0);
  const left = await kept.files.read(KEY);
  t.equal(left!.lastNumber, kept.link.window.lastNumber, 'numbers go on, whatever was written');
  t.strictSame(kept.faults, []);
  disk.free();
  kept.link.hls = { ...HLS_OPTIONS, window: 3, keep: 6 };
  kept.link.hub.refresh([kept.link]);
  await kept.pass(10);
  const now = await kept.files.read(KEY);
  t.equal(now!.segments.at(-1)!.name, kept.link.window.last!.name);
  t.equal(kept.files.faults.size, 1, 'a minute ago it was full');
  await kept.pass(60);
  t.equal(kept.files.faults.size, 0);
  const names = (await kept.files.read(KEY))!.segments.map(({ name }) => name);
  t.strictSame(readdirSync(join(kept.folder, KEY)).sort(), [...names, 'window.json'].sort(), 'no rest of a file');
});

t.test('a file whose last segment ends on another tape: behind EXT-X-DISCONTINUITY, each frame once', async (t) => {
  const kept = new Kept(t);
  const { link } = kept;
  await kept.pass(30);
  const before = kept.playlist;
  await kept.restart();
  const text = readFileSync(kept.index, 'utf8');
  const other = text.replaceAll(/"tape":"[^"]*"/g, '"tape":"of another hub.7"');
  t.not(other, text);
  writeFileSync(kept.index, other);
  // As where the tape itself was lost: what it holds now came since then.
  link.audio.leave();
  await kept.pass(12);
  const { segments } = kept.playlist;
  const first = segments.findIndex(({ name }) => !before.segments.some((each) => each.name === name));
  t.strictSame(
    segments.map(({ isDiscontinuity }) => isDiscontinuity),
    segments.map((_, i) => i === first),
  );
  const all = link.window.segmentsFrom(0);
  t.strictSame(
    all.map(({ number }) => number),
    all.map((_, i) => all[0]!.number + i),
  );
  const frames = all.flatMap(({ bytes }) => numbersIn(readPacked(bytes).audio));
  t.equal(new Set(frames).size, frames.length, 'each frame once');
  t.ok(all.every(({ startMs }, i) => i === 0 || startMs > all[i - 1]!.startMs));
  t.strictSame(kept.faults, []);
});

t.test('the same tape by another name: what it holds is cut again, behind EXT-X-DISCONTINUITY', async (t) => {
  const kept = new Kept(t);
  await kept.pass(30);
  const { lastNumber } = kept.link.window;
  const { endMs } = kept.link.window;
  await kept.restart();
  writeFileSync(kept.index, readFileSync(kept.index, 'utf8').replaceAll(/"tape":"[^"]*"/g, '"tape":"x"'));
  await kept.pass(1);
  const next = kept.link.window.segmentsFrom(lastNumber! + 1);
  t.equal(next[0]!.number, lastNumber! + 1);
  t.ok(next[0]!.isDiscontinuity);
  t.ok(next[0]!.startMs >= endMs, 'dates do not go back');
});

t.test(
  'a channel that is switched off leaves no segment, whether it was asked for since the start or not',
  async (t) => {
    const kept = new Kept(t);
    const { link } = kept;
    await kept.pass(30);
    const { lastNumber } = link.window;
    link.hls = null;
    link.hub.refresh([link]);
    await kept.files.settled();
    t.strictSame(readdirSync(join(kept.folder, KEY)), ['window.json'], 'the numbers stay, and no segment');
    link.hls = HLS_OPTIONS;
    link.hub.refresh([link]);
    await kept.pass(30);
    t.ok(kept.playlist.mediaSequence > lastNumber!);
    await kept.restart();
    link.hls = null;
    link.hub.refresh([link]);
    await until(() => !existsSync(join(kept.folder, KEY)), 10_000);
    t.strictSame(kept.faults, []);
  },
);

t.test('a folder that is removed by hand: it is made again, with all that is listed', async (t) => {
  const kept = new Kept(t);
  kept.link.hls = { ...HLS_OPTIONS, rewindHours: 1 };
  kept.link.channel.title('Before');
  await kept.pass(60);
  const folder = join(kept.folder, KEY);
  for (const [gone, what] of [
    [() => folder, 'all of it'],
    [() => join(folder, 'rewind'), 'the log of its rewind'],
    [() => join(folder, kept.link.window.segmentsFrom(0)[0]!.name), 'a segment'],
  ] as const) {
    rmSync(gone(), { recursive: true });
    for (let i = 0; i < 4; i++) await kept.pass(4);
    const read = await kept.files.read(KEY);
    t.equal(read?.segments.at(-1)?.name, kept.link.window.last!.name, what);
    const rewind = readPlaylist((await kept.open().playlist(KEY))!);
    t.equal(rewind.segments.at(-1)!.name, kept.link.window.last!.name, `${what}: the rewind goes on`);
    t.equal(rewind.titles.at(-1)?.title, 'Before', `${what}: with the title in force`);
    await kept.pass(61);
    t.strictSame([...kept.link.hub.faults], [], what);
  }
});
