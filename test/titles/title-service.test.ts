/**
 * The service: what it takes, from which source, and what it says of what it does not take. After a restart what was committed is in force
 * again, and what has become stale meanwhile is not.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { TICK_MS } from '../../src/base/clock.js';
import { Channel } from '../../src/channel/channel.js';
import { loadConfig } from '../../src/config/load.js';
import type { ChannelConfig } from '../../src/config/schema.js';
import { Feed } from '../../src/feed/feed.js';
import { takeNow } from '../../src/now-playing/effect.js';
import { makeTrack } from '../../src/now-playing/repeat.js';
import type { Source } from '../../src/source/source.js';
import { FakeClock } from '../kit/clock.js';
import { frameOf } from '../kit/frame-of.js';
import { keepLines, type LogLine } from '../kit/log-lines.js';
import { MemoryStore } from '../kit/memory-store.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { TitleParts, type TitlePartsOptions } from '../kit/title-parts.js';

interface Started {
  readonly titles: TitleParts;
  readonly channel: Channel;
  readonly feed: Feed;
  readonly lines: readonly LogLine[];
}

/** A server's titles on a store, as they are after a start. */
async function start(
  t: Test,
  store: MemoryStore,
  clock: FakeClock,
  options: Partial<ChannelConfig> = {},
  parts: Pick<TitlePartsOptions, 'readerDelayMs' | 'goesBySources'> = {},
): Promise<Started> {
  const path = join(tempFolder(t), 'config.yaml');
  writeFileSync(path, demoYaml());
  const config = loadConfig(path, process.env);
  const { log, lines } = keepLines();
  const channelConfig = { ...config.stations['demo']!.channels['demo']!, ...options };
  const channel = new Channel('demo', channelConfig, config, { clock, log });
  const feed = new Feed();
  const face = { key: 'demo', name: 'Demo', station: 'demo', timezone: 'UTC' };
  feed.change(new Map([['demo', [face]]]));
  const titles = new TitleParts({
    config,
    clock,
    log,
    store,
    feed,
    ...parts,
    faces: new Map([['demo', face]]),
    channels: new Map([['demo', channel]]),
    sourceTitles: { perMinute: 1, burst: 2 },
    onError: (error) => t.error(error),
  });
  await titles.restore();
  return { titles, channel, feed, lines };
}

t.test('a restart brings back now and next; a next whose time has passed by 60 s is gone', async (t) => {
  for (const [passedMs, song] of [
    [59_000, 'Next'],
    [61_000, undefined],
  ] as const) {
    const store = new MemoryStore();
    const clock = new FakeClock();
    const timeSeconds = Math.floor(clock.wallMs() / 1000);
    const { titles } = await start(t, store, clock);
    await titles.pushes.push('demo', { type: 'now', artist: '', song: 'Now' });
    await titles.pushes.push('demo', { type: 'next', artist: '', song: 'Next', timeSeconds });
    await titles.titles.close();
    clock.advance(passedMs);
    const { titles: again, channel, feed } = await start(t, store, clock);
    t.equal(feed.last('demo', 'now')?.record.song, 'Now');
    t.equal(feed.last('demo', 'next')?.record.song, song, `${passedMs} ms after its time`);
    t.equal(again.versionOf('demo'), 2);
    channel.audio.write(frameOf(Buffer.alloc(100_000), 1000, 128));
    t.equal(channel.audio.tape?.at(0)?.before?.view.title, 'Now', 'and in the stream from its first byte');
    await again.titles.close();
  }
});

t.test('a push whose time came while the server was down is in force at its start', async (t) => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const { titles } = await start(t, store, clock);
  const timeSeconds = Math.floor(clock.wallMs() / 1000) + 10;
  await titles.pushes.push('demo', { type: 'now', artist: '', song: 'Held', timeSeconds });
  await titles.titles.close();
  clock.advance(20_000);
  const { feed } = await start(t, store, clock);
  t.equal(feed.last('demo', 'now')?.record.song, 'Held');
});

t.test('a next is taken away by its now, and when its time has passed by 60 s', async (t) => {
  const clock = new FakeClock();
  const { titles, feed } = await start(t, new MemoryStore(), clock);
  const song = () => feed.last('demo', 'next')?.record.song;
  await titles.pushes.push('demo', { type: 'next', artist: '', song: 'One' });
  t.equal(song(), 'One');
  await titles.pushes.push('demo', { type: 'now', artist: '', song: 'One' });
  t.equal(song(), undefined);
  const timeSeconds = Math.floor(clock.wallMs() / 1000);
  await titles.pushes.push('demo', { type: 'next', artist: '', song: 'Two', timeSeconds });
  clock.advance(59_960);
  titles.tidy();
  t.equal(song(), 'Two');
  clock.advance(40);
  titles.tidy();
  t.equal(song(), undefined);
});

t.test('where a push gives way to the fallback title, the title in the stream comes first', async (t) => {
  const clock = new FakeClock();
  const fallback = { artist: '', song: 'Own', graceSeconds: 0, whenSourceLost: false };
  const { titles, channel, feed } = await start(t, new MemoryStore(), clock, { fallback });
  const onAir = { kind: 'encoder', state: 'up' } as Source;
  Object.defineProperty(channel, 'switch', { value: { onAir, titleOnAir: 'Live', sources: [onAir] } });
  await titles.pushes.push('demo', { type: 'now', artist: '', song: 'Pushed', durationSeconds: 30 });
  clock.advance(29_960);
  titles.tidy();
  await new Promise((next) => setImmediate(next));
  t.equal(feed.last('demo', 'now')?.record.song, 'Pushed');
  clock.advance(80);
  await new Promise((next) => setImmediate(next));
  t.equal(feed.last('demo', 'now')?.record.song, 'Live');
});

t.test('what a source said while another machine fed the channel is in force when this one does', async (t) => {
  let isFedHere = true;
  const { titles, channel, feed } = await start(
    t,
    new MemoryStore(),
    new FakeClock(),
    {},
    { goesBySources: () => isFedHere },
  );
  const [upstream, other] = [{ kind: 'pull', state: 'up' } as Source, { kind: 'pull', state: 'up' } as Source];
  let onAir = upstream;
  Object.defineProperty(channel, 'switch', {
    value: {
      sources: [upstream, other],
      get onAir() {
        return onAir;
      },
    },
  });
  const song = async () => {
    await new Promise((next) => setImmediate(next));
    return feed.last('demo', 'now')?.record.song;
  };
  const say = (title: string) => titles.titles.streamTitle('demo', title, upstream);
  await say('One');
  isFedHere = false;
  for (const title of ['Two', 'Three']) await say(title);
  t.equal(await song(), 'One', 'the machine that feeds it says what is on');
  isFedHere = true;
  titles.titles.fed('demo');
  t.equal(await song(), 'Three');
  titles.titles.fed('demo');
  isFedHere = false;
  await say('Four');
  onAir = other;
  isFedHere = true;
  titles.titles.fed('demo');
  t.equal(await song(), 'Three', 'of a source that is not on air nothing is taken');
});

/** A channel with an encoder and an upstream behind it, as the switch says which of them is on air. */
async function startTwoSources(t: Test, options: Partial<ChannelConfig> = {}) {
  const clock = new FakeClock();
  const { titles, channel, feed } = await start(t, new MemoryStore(), clock, options);
  const source = (kind: Source['kind']) => ({ kind, state: 'up' as Source['state'], sender: kind });
  const [encoder, pull] = [source('encoder'), source('pull')];
  let onAir: typeof encoder | null = null;
  Object.defineProperty(channel, 'switch', {
    value: {
      sources: [encoder, pull],
      get onAir() {
        return onAir;
      },
    },
  });
  const settled = () => new Promise((next) => setImmediate(next));
  return {
    titles,
    encoder,
    put: async (next: typeof encoder | null) => {
      onAir = next;
      encoder.state = next === encoder ? 'up' : 'idle';
      titles.titles.sourceChanged('demo');
      await settled();
    },
    say: (from: typeof encoder, title: string) => titles.titles.streamTitle('demo', title, from as Source),
    pull,
    pass: async (seconds: number) => {
      for (let i = 0; i < seconds; i++) {
        clock.advance(1000);
        titles.tidy();
        await settled();
      }
    },
    song: () => feed.last('demo', 'now')?.record.song,
  };
}

t.test('an encoder that is back has its title, whatever source with titles was on air meanwhile', async (t) => {
  for (const [awaySeconds, title, between] of [
    [3, '', 'A'],
    [20, '', ''],
    [20, 'B', 'B'],
  ] as const) {
    const { put, say, pass, song, encoder, pull } = await startTwoSources(t);
    await put(encoder);
    await say(encoder, 'A');
    await pass(60);
    await put(pull);
    if (title !== '') await say(pull, title);
    await pass(awaySeconds);
    t.equal(song(), between);
    await put(encoder);
    t.equal(song(), 'A', `${awaySeconds} s, ${title}`);
    await pass(20);
    t.equal(song(), 'A', 'and keeps it');
    await say(encoder, 'C');
    t.equal(song(), 'C');
  }
});

t.test('the title that a fallback title has covered returns, whatever source was on air meanwhile', async (t) => {
  const fallback = { artist: '', song: 'Own', graceSeconds: 5, whenSourceLost: true };
  const { put, say, pass, song, encoder, pull } = await startTwoSources(t, { fallback });
  await put(encoder);
  await say(encoder, 'A');
  await put(pull);
  await say(pull, 'B');
  await pass(20);
  t.equal(song(), 'Own', 'titles of sources are not taken');
  await put(encoder);
  t.equal(song(), 'A');
  await pass(20);
  t.equal(song(), 'A');
});

t.test('what another program sends for an encoder that is away is covered too, as a push is', async (t) => {
  const fallback = { artist: '', song: 'Own', graceSeconds: 5, whenSourceLost: true };
  const { put, say, pass, song, encoder } = await startTwoSources(t, { fallback });
  await put(encoder);
  await say(encoder, 'A');
  await put(null);
  await say(encoder, 'B');
  t.equal(song(), 'Own');
  await put(encoder);
  t.equal(song(), 'B');
  await pass(20);
  t.equal(song(), 'B');
});

const now = (song: string) => ({ type: 'now', artist: '', song }) as const;

t.test('only the channel’s own tokens, and only where it takes pushes', async (t) => {
  const { titles } = await start(t, new MemoryStore(), new FakeClock());
  t.equal(titles.pushes.authorizes('demo', 'demo-token'), true);
  t.equal(titles.pushes.authorizes('demo', 'studio-token'), false);
  t.equal(titles.pushes.authorizes('none', 'demo-token'), false);
  await titles.pushes.push('demo', now('taken'));

  const { titles: others } = await start(t, new MemoryStore(), new FakeClock(), { titlesFrom: ['encoder'] });
  await t.rejects(others.pushes.push('demo', now('refused')), {
    kind: 'invalid',
    message: /metapush is not in its titlesFrom/,
  });
  t.equal(others.versionOf('demo'), 0);
});

t.test('a push with a time too far ahead is taken as it comes, counted, and logged once a minute', async (t) => {
  const clock = new FakeClock();
  const { titles, feed, lines } = await start(t, new MemoryStore(), clock);
  const far = Math.floor(clock.wallMs() / 1000) + 86_400;
  const warned = () => lines.filter(({ level }) => level === 'warn').map(({ channel, pushes }) => [channel, pushes]);
  await titles.pushes.push('demo', { ...now('one'), timeSeconds: far });
  await titles.pushes.push('demo', { ...now('two'), timeSeconds: far + 1 });
  t.match(feed.last('demo', 'now')?.record, { song: 'two', startSeconds: far - 86_400 });
  clock.advance(59_999);
  await titles.pushes.push('demo', { ...now('three'), timeSeconds: far + 2 });
  t.same(warned(), [['demo', 1]]);
  clock.advance(1);
  await titles.pushes.push('demo', { ...now('four'), timeSeconds: far + 3 });
  t.same(warned(), [
    ['demo', 1],
    ['demo', 4],
  ]);
  t.equal(titles.pushes.farAhead.get('demo')?.count, 4);
});

t.test('a channel that holds no push takes the milliseconds of a time as they are', async (t) => {
  const clock = new FakeClock();
  const { titles, feed, lines } = await start(t, new MemoryStore(), clock, { holdSeconds: 0 });
  clock.advance(700);
  const timeSeconds = (clock.wallMs() - 300) / 1000;
  await titles.pushes.push('demo', { ...now('one'), timeSeconds });
  t.equal(feed.last('demo', 'now')?.record.startSeconds, timeSeconds);
  t.equal(titles.pushes.farAhead.get('demo'), undefined);
  t.same(
    lines.filter(({ level }) => level === 'warn'),
    [],
  );
});

t.test(
  'a push that was held before a restart, or at another machine, comes in its time, though none is held here',
  async (t) => {
    const clock = new FakeClock();
    const store = new MemoryStore();
    const there = await start(t, store, clock);
    await there.titles.pushes.push('demo', { ...now('held'), timeSeconds: Math.floor(clock.wallMs() / 1000) + 100 });
    await there.titles.titles.close();
    const { titles, feed } = await start(t, store, clock, { holdSeconds: 0 });
    const pass = async (seconds: number) => {
      for (let i = 0; i < seconds * 10; i++) {
        clock.advance(100);
        await titles.titles.check('demo');
      }
    };
    await pass(98);
    t.equal(feed.last('demo', 'now')?.record, undefined);
    await pass(3);
    t.equal(feed.last('demo', 'now')?.record.song, 'held');
  },
);

t.test('titles of a source: which are taken, and one that cannot be saved', async (t) => {
  const store = new (class extends MemoryStore {
    isFull = false;
    override async save(...save: Parameters<MemoryStore['save']>): Promise<void> {
      if (this.isFull) throw new Error('full');
      await super.save(...save);
    }
  })();
  const { titles, feed, lines } = await start(t, store, new FakeClock());
  const song = () => feed.last('demo', 'now')?.record.song;
  const source = (kind: Source['kind'], state: Source['state']) => ({ kind, state }) as Source;
  // None is on air. An encoder may name its title before its stream.
  for (const other of [source('pull', 'up'), source('encoder', 'up'), source('file', 'up')]) {
    await titles.titles.streamTitle('demo', 'Other', other);
    t.equal(song(), undefined, other.kind);
  }
  store.isFull = true;
  await titles.titles.streamTitle('demo', 'Lost', source('encoder', 'idle'));
  t.equal(song(), undefined, 'nothing is published that is not saved');
  t.match(
    lines.filter(({ level }) => level === 'warn'),
    [{ channel: 'demo', message: 'a title from the stream was not accepted', err: { kind: 'unavailable' } }],
  );
  store.isFull = false;
  await titles.titles.streamTitle('demo', 'Kept', source('encoder', 'idle'));
  t.equal(song(), 'Kept');
  await titles.titles.streamTitle('demo', 'Waits', source('encoder', 'idle'));
  t.equal(song(), 'Kept', 'the one that could not be saved has cost what it costs');
  t.equal(titles.titles.delayedTitles.get('demo')?.count, 1);
  await titles.titles.close();
  t.equal(song(), 'Waits', 'and none is lost at the end');
});

t.test('a title whose moment lies ahead, as another clock has it, waits no longer than its channel says', async (t) => {
  for (const [readerDelayMs, titleOffsetMs, aheadMs] of [
    [0, 0, 600_000],
    [5000, 0, 600_000],
    [5000, 2000, 86_400_000],
    [0, -2000, 1000],
  ] as const) {
    const clock = new FakeClock();
    const { titles, channel, feed } = await start(t, new MemoryStore(), clock, { titleOffsetMs }, { readerDelayMs });
    channel.audio.write(frameOf(Buffer.alloc(100_000), 1000, 128));
    const at = { channel: 'demo', wallMs: clock.wallMs() + aheadMs, newId: () => 'id', ageMs: () => 0 };
    const track = makeTrack({ type: 'now', artist: '', song: 'Ahead' }, 'id', Math.floor(at.wallMs / 1000));
    await titles.engine.update('demo', (state) => takeNow(state, track, at));
    const maxMs = readerDelayMs + Math.max(0, titleOffsetMs);
    clock.advance(maxMs + TICK_MS);
    t.equal(feed.last('demo', 'now')?.record.song, 'Ahead', `readers have it after ${maxMs} ms`);
    channel.audio.write(frameOf(Buffer.alloc(100_000), 1000, 128));
    channel.audio.write(frameOf(Buffer.alloc(100_000), 1000, 128));
    const { tape } = channel.audio;
    const words = Array.from({ length: tape!.head - tape!.tail }, (_, i) => tape!.at(tape!.tail + i)!.marks);
    t.ok(
      words.flat().some(({ mark }) => mark.view.title === 'Ahead'),
      'it is on the tape',
    );
    await titles.titles.close();
  }
});

t.test('a cover that comes later is not logged as another title, whatever comes next', async (t) => {
  const { titles, lines } = await start(t, new MemoryStore(), new FakeClock());
  const push = async (type: 'now' | 'next', song: string, cover?: string) =>
    titles.pushes.push('demo', { type, artist: '', song, ...(cover !== undefined && { cover }) });
  await push('now', 'One');
  await push('next', 'Two');
  await push('now', 'One', 'https://x.example/1.jpg');
  await push('next', 'Two', 'https://x.example/2.jpg');
  const said = lines.filter(({ message }) => /^title/.test(message));
  t.strictSame(
    said.map(({ message, title }) => `${message}: ${title}`),
    ['title: One', 'title: Two', 'title corrected: One', 'title corrected: Two'],
  );
});
