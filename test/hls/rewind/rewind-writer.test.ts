/** What of a channel can be played again: all of the last hours, up to so many bytes, over restarts, whatever was lost in between. */

import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { HlsOptions } from '../../../src/config/hls-config.js';
import type { HlsInit } from '../../../src/hls/playlist.js';
import { HlsWindow } from '../../../src/hls/window.js';
import { type ReadPlaylist, readPacked, readPlaylist } from '../../kit/hls-channel.js';
import { HLS_OPTIONS } from '../../kit/hls-link.js';
import { KEPT_KEY as KEY, KeptHls } from '../../kit/kept-hls.js';
import { numbersIn } from '../../kit/numbered.js';
import { smallDisk } from '../../kit/small-disk.js';

const START_MS = Date.UTC(2026, 10, 27, 1);
/** Of a minute behind the list. */
const SPARE_MS = 60_000;

class Rewound extends KeptHls {
  constructor(t: Test, options: Partial<HlsOptions> = {}) {
    super(t);
    this.link.hls = { ...HLS_OPTIONS, rewindHours: 1, ...options };
  }

  /** As a process reads it that has just begun. */
  async rewind(): Promise<ReadPlaylist> {
    return readPlaylist((await this.open().playlist(KEY))!);
  }

  /** Asked for or not. */
  async on(seconds: number, isAsked = false): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.link.pass(1, { isAsked });
      await this.link.hub.of(this.link)?.restored();
      // One write for all would not be what happens in real time.
      if (i % 4 === 3) await this.files.settled();
    }
    await this.files.settled();
  }

  get names(): string[] {
    return readdirSync(join(this.folder, KEY)).filter((name) => /^\d+-/.test(name));
  }

  async framesOf({ segments }: ReadPlaylist): Promise<number[]> {
    const rewinds = this.open();
    const files = await Promise.all(segments.map(({ name }) => rewinds.file(KEY, name)));
    return files.flatMap((file) => numbersIn(readPacked(file!.bytes).audio));
  }
}

/** One list, of one audio. */
function isOne(t: Test, { segments, mediaSequence }: ReadPlaylist): void {
  t.equal(Number(segments[0]!.name.split('-')[0]), mediaSequence);
  for (const [i, { dateMs, seconds, isDiscontinuity }] of segments.slice(0, -1).entries()) {
    const next = segments[i + 1]!;
    if (!next.isDiscontinuity) {
      if (Math.abs(next.dateMs - dateMs - seconds * 1000) > 5) t.fail(`dates do not go on behind ${segments[i]!.name}`);
    }
    if (isDiscontinuity && i > 0) t.fail(`${segments[i]!.name} does not go on`);
  }
}

t.test('all that was cut, asked for or not, each frame once, with titles; corrected ones corrected', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  link.hub.refresh([link]);
  await rewound.on(60);
  link.channel.title('First');
  await rewound.on(120);
  link.channel.title('Wrogn');
  await rewound.on(3);
  link.channel.title('Right', 3000, { id: 'id-Wrogn' });
  await rewound.on(120);
  const rewind = await rewound.rewind();
  isOne(t, rewind);
  t.ok(rewind.segments.length > 300 / 4 - 2, `${rewind.segments.length} segments`);
  t.notOk(rewind.segments.some(({ isDiscontinuity }) => isDiscontinuity));
  t.strictSame(
    rewind.titles.map(({ title }) => title),
    ['First', 'Right'],
  );
  const frames = await rewound.framesOf(rewind);
  t.strictSame(
    frames,
    frames.map((_, i) => frames[0]! + i),
  );
  const live = rewound.playlist;
  t.strictSame(
    rewind.segments.slice(-live.segments.length).map(({ name, seconds }) => [name, seconds]),
    live.segments.map(({ name, seconds }) => [name, seconds]),
    'the files of the live list',
  );
  t.strictSame(rewind.titles.at(-1)!.startMs, live.titles.at(-1)!.startMs);
  t.strictSame(rewound.faults, []);
});

t.test('off: nothing is cut that nobody asks for, and there is none', async (t) => {
  const rewound = new Rewound(t, { rewindHours: 0 });
  rewound.link.hub.refresh([rewound.link]);
  await rewound.on(30);
  t.equal(rewound.link.hub.of(rewound.link), undefined);
  await rewound.pass(30);
  t.equal(await rewound.open().playlist(KEY), null);
  t.notOk(existsSync(join(rewound.folder, KEY, 'rewind')));
});

t.test('it ends at its hours: what is older leaves the list, and its file goes a minute later', async (t) => {
  const rewound = new Rewound(t, { rewindHours: 0.05 });
  const { link } = rewound;
  link.hub.refresh([link]);
  await rewound.on(180);
  const first = (await rewound.rewind()).segments[0]!;
  await rewound.on(80);
  for (let i = 0; i < 5; i++) {
    await rewound.on(7);
    const { segments, mediaSequence } = await rewound.rewind();
    const wallMs = link.channel.clock.wallMs();
    const oldestMs = segments[0]!.dateMs + segments[0]!.seconds * 1000;
    t.ok(oldestMs >= wallMs - 180_000 - 8000 && oldestMs < wallMs - 170_000, `${wallMs - oldestMs} ms ago`);
    t.ok(mediaSequence > Number(first.name.split('-')[0]));
    isOne(t, await rewound.rewind());
    const left = rewound.names.map((name) => Number(name.split('-')[0])).sort()[0]!;
    const behind = mediaSequence - left;
    t.ok(behind >= SPARE_MS / 4100 - 2 && behind <= SPARE_MS / 4000 + 2, `${behind} files behind the list`);
  }
  // Nothing comes any more.
  link.pass(120, { isPlaying: false, isAsked: false });
  await rewound.files.settled();
  const { segments } = await rewound.rewind();
  t.ok(segments[0]!.dateMs > link.channel.clock.wallMs() - 180_000 - 65_000, 'it ages without audio too');
  link.pass(600, { isPlaying: false, isAsked: false });
  await rewound.files.settled();
  t.equal((await rewound.rewind()).segments.length, 1, 'it is never empty');
});

t.test('a wall clock that is hours ahead for a while removes nothing', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  link.hub.refresh([link]);
  await rewound.on(120);
  const before = (await rewound.rewind()).segments.map(({ name }) => name);
  link.channel.clock.stepWall(3 * 3_600_000);
  await rewound.on(20);
  link.channel.clock.stepWall(-3 * 3_600_000);
  await rewound.on(20);
  const after = await rewound.rewind();
  t.strictSame(
    after.segments.slice(0, before.length).map(({ name }) => name),
    before,
  );
  t.ok((await rewound.framesOf(after)).length > 0, 'and can be played');
});

t.test('it ends at its bytes: at the limit, and one past it', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  link.hub.refresh([link]);
  await rewound.on(120);
  const { segments } = await rewound.rewind();
  const sizeOf = (name: string) => statSync(join(rewound.folder, KEY, name)).size;
  const bytes = segments.reduce((sum, { name }) => sum + sizeOf(name), 0);
  for (const [rewindBytes, fewer] of [
    [bytes, 0],
    [bytes - 1, 1],
  ] as const) {
    link.hls = { ...link.hls!, rewindBytes };
    rewound.files.trim();
    await rewound.files.settled();
    const { length } = (await rewound.rewind()).segments;
    t.equal(length, segments.length - fewer, `${rewindBytes} bytes`);
  }
  link.hls = { ...link.hls!, rewindBytes: 1_000_000 };
  for (let i = 0; i < 6; i++) {
    await rewound.on(20);
    const listed = (await rewound.rewind()).segments;
    const sum = listed.reduce((all, { name }) => all + sizeOf(name), 0);
    t.ok(sum <= 1_000_000 && sum > 900_000, `${sum} bytes are listed`);
    const all = rewound.names.reduce((all, name) => all + sizeOf(name), 0);
    t.ok(all < 1_000_000 + 16.5 * SPARE_MS, `${all} bytes are kept`);
  }
});

t.test('over restarts: the same list goes on, and on another tape behind EXT-X-DISCONTINUITY', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  link.hub.refresh([link]);
  await rewound.on(60);
  link.channel.title('Before');
  await rewound.on(60);
  const before = await rewound.rewind();
  await rewound.restart();
  link.hub.refresh([link]);
  await rewound.on(60);
  const after = await rewound.rewind();
  isOne(t, after);
  t.strictSame(after.segments.slice(0, before.segments.length), before.segments);
  t.equal(after.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 0, 'the tape was given back');
  const frames = await rewound.framesOf(after);
  t.strictSame(
    frames,
    frames.map((_, i) => frames[0]! + i),
  );
  await rewound.restart();
  link.audio.leave();
  link.channel.clock.advance(10_000);
  link.hub.refresh([link]);
  await rewound.on(60);
  const last = await rewound.rewind();
  t.equal(last.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  t.equal(last.discontinuitySequence, before.discontinuitySequence);
  t.match(last.titles[0], { title: 'Before', startMs: before.titles[0]!.startMs });
  t.strictSame(rewound.faults, []);
});

t.test('the process ends in the middle of a line, or of a segment: what is whole is listed', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  link.hub.refresh([link]);
  await rewound.on(60);
  const before = await rewound.rewind();
  const folder = join(rewound.folder, KEY);
  const log = () => join(folder, 'rewind', readdirSync(join(folder, 'rewind')).sort().at(-1)!);
  await rewound.restart();
  const torn = '{"segment":{"sequence":1,"na';
  appendFileSync(log(), torn);
  writeFileSync(join(folder, `5-${'0'.repeat(16)}.mp3`), 'a file that nothing names');
  writeFileSync(join(folder, `7-${'0'.repeat(16)}.mp3.part`), 'half a file');
  t.strictSame((await rewound.rewind()).segments, before.segments);
  link.hub.refresh([link]);
  await rewound.on(30);
  const after = await rewound.rewind();
  isOne(t, after);
  t.strictSame(after.segments.slice(0, before.segments.length), before.segments);
  t.ok(after.segments.length > before.segments.length + 5);
  const isTorn = (line: string) => line !== '' && !/^\{[^{]*(\{[^{}]*\})?\}$/.test(line);
  t.strictSame(readFileSync(log(), 'utf8').split('\n').filter(isTorn), [torn], 'it costs itself only');
  t.notOk(
    rewound.names.some((name) => /^[57]-/.test(name)),
    'what nothing names is gone',
  );
});

t.test('what did not come here is EXT-X-DISCONTINUITY; a lost window does not set numbers back', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  link.hub.refresh([link]);
  link.channel.title('In force');
  await rewound.on(60);
  const before = await rewound.rewind();
  await rewound.restart();
  writeFileSync(rewound.index, '{');
  link.audio.leave();
  // The clock was set back.
  link.channel.clock.stepWall(-59_000);
  link.hub.refresh([link]);
  await rewound.on(60);
  const after = await rewound.rewind();
  t.strictSame(after.segments.slice(0, before.segments.length), before.segments);
  t.ok(after.segments.length > before.segments.length + 10);
  t.equal(after.segments.filter(({ isDiscontinuity }) => isDiscontinuity).length, 1);
  t.equal(new Set(after.titles.map(({ id }) => id)).size, after.titles.length, 'an ID has one START-DATE');
  const { window } = link;
  window.raise(window.lastNumber! + 1000);
  await rewound.on(30);
  const { segments, mediaSequence } = await rewound.rewind();
  t.equal(mediaSequence, after.mediaSequence, 'in the list numbers have no gap');
  const gap = segments.findIndex(
    ({ name }, i) => i > 0 && Number.parseInt(name, 10) > Number.parseInt(segments[i - 1]!.name, 10) + 1,
  );
  t.ok(gap > 0 && segments[gap]!.isDiscontinuity);
});

t.test('segments of another length, or form, begin another list; switched off all goes', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  link.hub.refresh([link]);
  await rewound.on(60);
  const before = await rewound.rewind();
  link.hls = { ...link.hls!, segmentSeconds: 2 };
  link.hub.refresh([link]);
  await rewound.on(60);
  const after = await rewound.rewind();
  t.equal(after.targetSeconds, 2);
  t.ok(after.segments.every(({ seconds }) => seconds < 2.5));
  const more = after.mediaSequence - before.mediaSequence - before.segments.length;
  t.ok(more === 0 || more === 1, 'numbers go on');
  link.hls = { ...link.hls!, rewindHours: 0 };
  link.hub.refresh([link]);
  await rewound.on(20, true);
  t.equal(await rewound.open().playlist(KEY), null);
  t.strictSame(
    rewound.names.sort(),
    link.window
      .segmentsFrom(0)
      .map(({ name }) => name)
      .sort(),
  );
  const { number: last } = link.window.last!;
  link.hls = { ...link.hls!, rewindHours: 1 };
  link.hub.refresh([link]);
  await rewound.on(20);
  const anew = await rewound.rewind();
  t.ok(anew.segments.length > 5);
  t.equal(
    anew.mediaSequence,
    last + 1,
    'of what was before, when the channel may not have been open to all, it has nothing',
  );
  link.hls = null;
  link.hub.refresh([link]);
  await rewound.files.settled();
  t.strictSame(readdirSync(join(rewound.folder, KEY)), ['window.json']);
});

t.test('a full disk, with nothing to give up or more: what is there can be played, and no line is torn', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  const disk = smallDisk(t, rewound.folder, '8m');
  if (disk === null) return t.plan(0, 'a file system cannot be mounted here');
  link.hub.refresh([link]);
  await rewound.on(1);
  disk.fill(3 * 65_536);
  await rewound.on(60);
  t.ok(rewound.files.unwritten > 0, 'what the window has does not fit');
  disk.free();
  await rewound.on(70);
  for (const left of [3 * 65_536, 20_000, 3000, 70_000]) {
    disk.fill(left);
    await rewound.on(60);
    link.channel.title(`Beside ${left}`);
    await rewound.on(60);
    t.strictSame([...rewound.files.faults], [[KEY, 'ENOSPC']]);
    disk.free();
    await rewound.on(70);
    t.equal(rewound.files.faults.size, 0, 'by itself');
  }
  t.strictSame(rewound.faults, []);
  const rewind = await rewound.rewind();
  t.equal(rewind.titles.at(-1)!.title, 'Beside 70000');
  isOne(t, rewind);
  const frames = await rewound.framesOf(rewind);
  t.ok(frames.every((frame, i) => i === 0 || frame > frames[i - 1]!));
  t.equal(rewind.segments.at(-1)!.name, link.window.last!.name);
  t.notOk(readdirSync(join(rewound.folder, KEY)).some((name) => name.endsWith('.part')));
});

t.test('a disk that is full beside it: the oldest of the rewind makes room for what comes', async (t) => {
  const rewound = new Rewound(t);
  const { link } = rewound;
  const disk = smallDisk(t, rewound.folder, '8m');
  if (disk === null) return t.plan(0, 'a file system cannot be mounted here');
  link.hub.refresh([link]);
  await rewound.on(240);
  const { bytes } = rewound.rewinds.written[0]!;
  t.strictSame([...rewound.files.faults], []);
  for (const left of [100_000, 4096, 0]) {
    disk.fill(left);
    link.channel.title(`Full ${left}`);
    await rewound.on(60);
    t.strictSame([...rewound.files.faults], [[KEY, 'ENOSPC']], `${left} bytes left`);
    t.equal(rewound.files.unwritten, 0, 'and all is written');
    const kept = await rewound.files.read(KEY);
    t.equal(kept!.segments.at(-1)!.name, link.window.last!.name);
    const rewind = await rewound.rewind();
    isOne(t, rewind);
    t.equal(rewind.segments.at(-1)!.name, link.window.last!.name);
    t.notOk(rewind.segments.some(({ isDiscontinuity }) => isDiscontinuity));
    const frames = await rewound.framesOf(rewind);
    t.strictSame(
      frames,
      frames.map((_, i) => frames[0]! + i),
      'what is listed is there',
    );
    t.ok(rewound.rewinds.written[0]!.bytes < bytes + 300_000);
  }
  disk.free();
  await rewound.on(120);
  t.equal(rewound.files.faults.size, 0);
  t.ok(rewound.rewinds.written[0]!.bytes > bytes, 'it grows again');
  isOne(t, await rewound.rewind());
  t.strictSame(rewound.faults, []);
});

t.test(
  'what segments of fMP4 need is there as long as they are; packed audio behind them begins another list',
  async (t) => {
    const rewound = new Rewound(t);
    const limits = { rewindHours: 1, rewindBytes: 1e9 };
    const window = new HlsWindow(4, { window: 3, keep: 6 }, START_MS);
    const init = (letter: string) => ({ name: `init-${letter.repeat(16)}.mp4`, bytes: Buffer.from(letter) });
    const append = async (n: number, extension: string, needs: HlsInit | null, isDiscontinuity = false) => {
      const facts = { number: n, name: `${n}-${'0'.repeat(16)}.${extension}`, bytes: Buffer.alloc(100, n) };
      const time = { startMs: START_MS + n * 4000, micros: 4_000_000, isDiscontinuity, end: null };
      window.append({ ...facts, ...time, init: needs, codecs: 'opus' });
      await rewound.files.settled();
    };
    rewound.files.keep(KEY, window, () => limits);
    for (let n = 1; n <= 20; n++) await append(n, 'm4s', init(n <= 10 ? 'a' : 'b'), n === 11);
    const rewind = await rewound.rewind();
    t.strictSame(
      rewind.segments.map(({ init }) => init),
      rewind.segments.map((_, i) => init(i < 10 ? 'a' : 'b').name),
    );
    const served = rewound.open();
    for (const letter of ['a', 'b']) t.equal((await served.file(KEY, init(letter).name))!.bytes.toString(), letter);
    t.equal((await served.file(KEY, rewind.segments[0]!.name))!.bytes[0], 1);
    for (let n = 21; n <= 60; n++) await append(n, 'mp3', null, n === 21);
    const after = await rewound.rewind();
    t.strictSame([after.segments.length, after.mediaSequence], [40, 21]);
    t.equal(after.discontinuitySequence, rewind.discontinuitySequence + 1);
    const inits = readdirSync(join(rewound.folder, KEY)).filter((name) => name.startsWith('init-'));
    t.strictSame(inits.sort(), [init('a').name, init('b').name], 'a minute of them is kept');
    t.notOk(rewound.names.some((name) => Number.parseInt(name, 10) <= 5));
    limits.rewindBytes = 1000;
    rewound.files.trim();
    await rewound.files.settled();
    t.equal((await rewound.rewind()).segments.length, 10);
    t.notOk(readdirSync(join(rewound.folder, KEY)).some((name) => name.startsWith('init-')));
  },
);

t.test('a segment costs the same whatever the hours: files of the log are short, and the oldest go', async (t) => {
  const rewound = new Rewound(t, { rewindHours: 0.5, segmentSeconds: 2 });
  const { link } = rewound;
  link.hub.refresh([link]);
  const logs = () => readdirSync(join(rewound.folder, KEY, 'rewind'));
  const served = rewound.open();
  for (let i = 0; i < 12; i++) {
    link.channel.title(`Title ${i}`);
    await rewound.on(300);
    await served.playlist(KEY);
    for (const name of logs()) t.ok(readFileSync(join(rewound.folder, KEY, 'rewind', name), 'utf8').length < 200_000);
  }
  t.ok(logs().length <= 5, `${logs()}`);
  const rewind = await rewound.rewind();
  t.equal(await served.playlist(KEY), await rewound.open().playlist(KEY), 'who has read on has what who begins has');
  t.equal(rewind.titles[0]!.title, 'Title 5', 'the title in force at the beginning');
  t.equal(rewind.titles.length, 7);
  isOne(t, rewind);
});
