/**
 * How a channel chooses its metaint and when it may choose again: never while it has a listener, since listeners were promised it.
 * Audio is written as sources do it, titles as the title service does.
 */

import t from 'tap';
import { ChannelAudio, type ChannelAudioOptions } from '../../src/audio/channel-audio.js';
import { formatText } from '../../src/audio/frames/audio-format.js';
import { framerFor } from '../../src/audio/frames/format.js';
import { metaintFor } from '../../src/audio/tape/metaint-choice.js';
import { LIMITS } from '../../src/link/tapes/tape-messages.js';
import { RecordView } from '../../src/metadata/view.js';
import { frameOf } from '../kit/frame-of.js';
import { opusLink } from '../kit/made-ogg.js';
import { FACE, makeRecord } from '../kit/record.js';

/** MPEG 1 layer III at 44.1 kHz. */
const FRAME_MS = 1152 / 44.1;
/** 128 kb/s, 44.1 kHz, stereo. */
const MP3_HEADER = [0xff, 0xfb, 0x90, 0x00] as const;

type Options = Partial<Pick<ChannelAudioOptions, 'metaint' | 'bitrateKbps' | 'burstMs' | 'onFormat'>>;

function channel(options: Options = {}): ChannelAudio {
  return new ChannelAudio({ now: () => performance.now(), key: 'demo', lagMs: 30_000, ...options });
}

/** Writes about so much audio of this bitrate, frame by frame. */
function write(to: ChannelAudio, kbps: number, ms: number): void {
  const bytes = Buffer.alloc(Math.floor((144_000 * kbps) / 44_100), kbps & 0xff);
  for (let doneMs = 0; doneMs < ms; doneMs += FRAME_MS) to.write(frameOf(bytes, FRAME_MS, kbps));
}

t.test('about a quarter of a second of audio, within what the head can say to a player', async (t) => {
  t.strictSame(
    [128, 320, 64, 8, 4, 0, 2000].map((kbps) => metaintFor(kbps)),
    [4000, 10_000, 2000, 500, 500, 4096, 62_500],
  );
});

t.test(
  'a segment is a second of audio or less, whatever the metaint: each visit of a listener finds one',
  async (t) => {
    for (const [metaint, blocks] of [
      [2048, 7],
      [4000, 4],
      [4096, 3],
      [15_999, 1],
      [16_001, 1],
    ] as const) {
      const one = channel({ metaint, bitrateKbps: 128 });
      write(one, 128, 100);
      t.equal(one.tape!.segmentBytes, blocks * metaint, `${metaint}`);
    }
  },
);

t.test('fixed, else of the configured bitrate, else of the first frames', async (t) => {
  const fixed = channel({ metaint: 4096, bitrateKbps: 64 });
  const configured = channel({ bitrateKbps: 64 });
  const free = channel();
  t.strictSame([fixed.tape, fixed.hasSegments], [undefined, false], 'no tape before there is audio');
  for (const one of [fixed, configured, free]) write(one, 192, 3000);
  t.strictSame(
    [fixed, configured, free].map((one) => one.tape!.metaint),
    [4096, 2000, 6000],
  );
  t.strictSame([free.bitrateKbps, free.hasSegments], [192, true]);
  for (const one of [fixed, configured]) {
    const { tape } = one;
    one.sourceChanged();
    write(one, 48, 100);
    t.equal(one.tape, tape, 'what is configured does not follow the source, so the tape goes on');
  }
});

t.test('another source without listeners: the metaint follows it, and old audio is gone', async (t) => {
  const one = channel();
  write(one, 128, 5000);
  const { tape } = one;
  one.sourceChanged();
  t.equal(one.tape, tape, 'nothing is known of the new source before its first frames');
  write(one, 128, 50);
  t.equal(one.tape, tape, 'the same bitrate: the burst stays');
  one.sourceChanged();
  write(one, 64, 50);
  t.not(one.tape, tape);
  t.strictSame([one.tape!.metaint, one.hasSegments], [2000, false]);
});

t.test(
  'at rest there is no tape, and what comes says what it would be; then a burst comes before anybody begins',
  async (t) => {
    const one = channel({ burstMs: 10_000 });
    const frame = Buffer.concat([Buffer.from(MP3_HEADER), Buffer.alloc(413)]);
    const play = (ms: number) => {
      for (let doneMs = 0; doneMs < ms; doneMs += FRAME_MS) one.write(frameOf(frame, FRAME_MS, 128, doneMs === 0));
    };
    one.sourceChanged();
    one.rest();
    play(2500);
    t.equal(one.tape, undefined);
    t.strictSame(
      [one.hasSegments, one.metaint, one.bitrateKbps, one.sends, one.sampleRate, one.channels],
      [true, 4000, 128, 'audio/mpeg', 44_100, 2],
    );
    one.wake();
    t.notOk(one.hasSegments);
    play(9000);
    t.notOk(one.hasSegments);
    play(1500);
    t.strictSame([one.hasSegments, one.tape!.metaint], [true, 4000]);
  },
);

t.test('a burst comes once, also where another tape suits it better by then', async (t) => {
  const one = channel({ burstMs: 10_000 });
  one.rest();
  one.wake();
  write(one, 32, FRAME_MS);
  const { tape } = one;
  write(one, 128, 9000);
  t.not(one.tape, tape, 'its bitrate is known now');
  t.notOk(one.hasSegments);
  write(one, 128, 1100);
  t.ok(one.hasSegments);
});

t.test('a title that a correction makes a jingle keeps what stood before it', async (t) => {
  const icy = {
    charset: 'utf-8',
    apostrophe: 'keep',
    streamUrl: 'none',
    name: 'Radio',
    etypes: { jingle: 'keep' },
  } as const;
  const said = (titles: readonly (readonly [song: string, etype: number, id: string])[]) => {
    const one = new ChannelAudio({ now: () => performance.now(), key: 'demo', lagMs: 30_000, icy });
    write(one, 128, 500);
    for (const [song, etype, id] of titles) one.title(new RecordView(makeRecord({ song, etype, id }), FACE));
    write(one, 128, 3000);
    const { mark } = one.tape!.at(one.tape!.head - 1)!;
    return [/StreamTitle='(.*?)';/.exec(mark!.block.toString())![1], mark!.tags.title];
  };
  const song = ['Song', 0, 'a'] as const;
  t.strictSame(said([song, ['J5', 0, 'b'], ['J5', 101, 'b']]), ['Song', 'Song']);
  t.strictSame(said([song, ['J5', 0, 'b'], ['J5', 101, 'b'], ['J6', 101, 'c']]), ['Song', 'Song']);
  t.strictSame(said([song, ['J5', 101, 'b'], ['J5', 0, 'b']]), ['J5', 'J5'], 'and the other way round');
  t.strictSame(
    said([
      ['J5', 0, 'b'],
      ['J5', 101, 'b'],
    ]),
    ['Radio', 'Radio'],
    'where nothing stood',
  );
});

t.test('a bitrate that changes within one source changes nothing', async (t) => {
  const one = channel();
  write(one, 128, 2000);
  const { tape } = one;
  write(one, 320, 2000);
  t.equal(one.tape, tape);
});

t.test('what an observer makes of it is heard: unchanged and there, until that has ended', async (t) => {
  const nothing = () => undefined;
  const observer = { onGrown: nothing, onLate: nothing, onFence: nothing, onTape: nothing };
  for (const isHeard of [true, undefined]) {
    const one = channel();
    const heard = isHeard ? { ...observer, isHeard } : observer;
    one.observe(heard);
    write(one, 128, 5000);
    const { tape } = one;
    write(one, 32, 3000);
    t.equal(one.tape === tape, isHeard === true, 'another bitrate');
    const { tape: second } = one;
    one.release(false);
    t.equal(one.tape !== undefined && one.tape === second, isHeard === true, 'a second of silence');
    one.refresh();
    t.equal(one.tape !== undefined && one.tape === second, isHeard === true, 'other options');
    one.release(true);
    t.equal(one.tape, undefined, 'its list has ended');
    write(one, 128, 2000);
    one.unobserve(heard);
    one.release(false);
    t.equal(one.tape, undefined, 'nobody hears it');
  }
});

t.test('variable bitrate: of the mean, as soon as that is known and while nobody listens', async (t) => {
  const [one, heard] = [channel(), channel()];
  for (const each of [one, heard]) write(each, 32, FRAME_MS);
  heard.playing = 1;
  for (const each of [one, heard]) {
    for (let i = 0; i < 100; i++) write(each, i % 2 === 0 ? 160 : 224, FRAME_MS);
    t.ok(
      Math.abs(each.tape!.metaint - (each === one ? 6000 : 1000)) < 200,
      'a quarter of a second of 192, or of 32 kb/s',
    );
  }
});

t.test('audio of a higher bitrate than any: a segment is no longer than other processes take it', async (t) => {
  const one = channel();
  for (let i = 0; i < 3; i++) one.write(frameOf(Buffer.alloc(6_000_000), 1000, 64));
  t.equal(one.tape!.segmentBytes, 19 * 65_535, 'a second of 10,000 kb/s');
  t.ok(one.tape!.segmentBytes <= LIMITS.segmentBytes);
});

t.test('of the slowest second never more than half a second, where nobody listens', async (t) => {
  const one = channel();
  write(one, 192, 3000);
  one.playing = 1;
  write(one, 32, 3000);
  t.equal(one.tape!.metaint, 6000, 'a listener was promised it');
  one.playing = 0;
  write(one, 192, 2000);
  t.equal(one.tape!.metaint, 1600, '0.4 s of 32 kb/s, whatever comes now');
  const { tape } = one;
  write(one, 26, 2000);
  t.equal(one.tape, tape, '1600 bytes are less than half a second of 26 kb/s');
  write(one, 8, 2000);
  t.equal(one.tape!.metaint, 500, 'the least');
  one.sourceChanged();
  write(one, 128, 2000);
  t.equal(one.tape!.metaint, 4000, 'another source has another slowest second');
  const fixed = channel({ metaint: 8192 });
  write(fixed, 8, 3000);
  t.equal(fixed.tape!.metaint, 8192);
});

t.test('unchanged while there are listeners; suited when the last listener has left', async (t) => {
  const one = channel();
  write(one, 128, 5000);
  const { tape } = one;
  one.playing = 2;
  one.sourceChanged();
  write(one, 64, 5000);
  t.equal(one.tape, tape);
  one.release();
  t.equal(one.tape, tape, 'a tape is not taken away from listeners');
  one.playing = 1;
  write(one, 64, 100);
  t.equal(one.tape, tape);
  one.playing = 0;
  t.equal(one.tape, tape, 'until there is audio for another');
  write(one, 64, 100);
  t.equal(one.tape!.metaint, 2000);

  const back = channel();
  write(back, 128, 5000);
  const before = back.tape;
  back.playing = 1;
  for (const kbps of [64, 128]) {
    back.sourceChanged();
    write(back, kbps, 1000);
  }
  back.playing = 0;
  write(back, 128, 100);
  t.equal(back.tape, before, 'the first source is back: its tape suits it');
});

t.test('the title in force goes from tape to tape, and was there before any', async (t) => {
  const one = channel({ metaint: 1000 });
  const titleAt = (seq: number) => one.tape!.at(seq)!.mark?.view.title;
  one.title(new RecordView(makeRecord({ artist: 'A', song: 'One' }), FACE));
  write(one, 128, 1100);
  t.strictSame([one.tape!.at(0)!.before?.view.title, titleAt(0)], ['A - One', 'A - One']);
  one.release();
  t.equal(one.tape, undefined);
  write(one, 128, 1100);
  t.equal(titleAt(0), 'A - One');
  one.release();
  one.title(new RecordView(makeRecord({ artist: 'A', song: 'Two', version: 2 }), FACE));
  write(one, 128, 1100);
  t.equal(titleAt(0), 'A - Two');
});

t.test('behind a gap and behind another source frames that reach back are muted', async (t) => {
  // MPEG 1 layer III, stereo: 511 bytes of each frame's sound lie in those before it.
  const frame = Buffer.alloc(417, 0x5a);
  frame.set([0xff, 0xfb, 0x90, 0x00, 0xff, 0x80]);
  // A frame is a segment.
  const one = channel({ metaint: 417, bitrateKbps: 3 });
  one.playing = 1;
  const play = (count: number, fresh = false) => {
    for (let i = 0; i < count; i++) one.write(frameOf(frame, FRAME_MS, 128, fresh && i === 0));
  };
  play(4);
  play(4, true);
  one.sourceChanged();
  play(5);
  const { tape } = one;
  const muted = Array.from({ length: 12 }, (_, seq) => !tape!.at(seq)!.plain.equals(frame));
  const [yes, no] = [true, false];
  t.strictSame(muted, [no, no, no, no, yes, yes, no, no, yes, yes, no, no]);
});

t.test('another format, of another source or on one connection', async (t) => {
  const seen: string[] = [];
  const one = channel({ metaint: 1000, onFormat: (from, to) => seen.push(`${formatText(from)} → ${formatText(to)}`) });
  const play = (header: readonly number[], fresh: boolean) => {
    const frame = Buffer.concat([Buffer.from(header), Buffer.alloc(417 - header.length)]);
    for (let i = 0; i < 200; i++) one.write(frameOf(frame, FRAME_MS, 128, fresh && i === 0));
  };
  const [stereo44, stereo48, mono48] = [MP3_HEADER, [0xff, 0xfb, 0x94, 0x00], [0xff, 0xfb, 0x94, 0xc0]];
  // 417 bytes, LC, 44.1 kHz, two channels.
  const aac = [0xff, 0xf1, 0x50, 0x80, 0x34, 0x3f, 0xfc];
  play(stereo44, true);
  const { tape } = one;
  const from = tape!.joinAt(2000);
  t.ok(from < tape!.head, 'a burst is there');
  one.sourceChanged();
  one.write(frameOf(Buffer.concat([Buffer.from(stereo44), Buffer.alloc(413)]), FRAME_MS, 128));
  t.equal(tape!.joinAt(2000), from, 'the same format');
  for (const [header, isOther] of [
    [stereo48, true],
    [mono48, false],
  ] as const) {
    const { head } = tape!;
    if (isOther) one.sourceChanged();
    play(header, !isOther);
    t.equal(one.tape, tape, 'players that can go on do');
    t.equal(tape!.joinFrom, head + 1, 'who joins begins behind it');
    t.equal(tape!.fenceAfter(head), head + 1);
  }
  t.ok(tape!.fenceAfter(0) < tape!.joinFrom, 'who is behind is ended at the first');
  play(aac, true);
  t.ok(tape!.isOver, 'nobody goes on in another codec');
  t.not(one.tape, tape);
  t.equal(one.contentType, 'audio/aac');
  const framer = framerFor({
    onFrame: ({ bytes, durationMs: ms, fresh, link }) => one.write(frameOf(bytes, ms, 96, fresh, link)),
  });
  framer.push(opusLink(1, 100));
  t.equal(one.contentType, 'audio/ogg');
  one.release();
  play(stereo44, true);
  t.equal(one.formatChanges, seen.length);
  t.same(seen, [
    'MP3, 44.1 kHz, stereo → MP3, 48 kHz, stereo',
    'MP3, 48 kHz, stereo → MP3, 48 kHz, mono',
    'MP3, 48 kHz, mono → AAC, 44.1 kHz, stereo',
    'AAC, 44.1 kHz, stereo → Opus, 48 kHz, stereo',
    'Opus, 48 kHz, stereo → MP3, 44.1 kHz, stereo',
  ]);
});

t.test('where another process goes on with the tape its format and its mean go on too', async (t) => {
  const frame = (header: readonly number[]) => Buffer.concat([Buffer.from(header), Buffer.alloc(413)]);
  const before = channel({ metaint: 1000 });
  for (let i = 0; i < 200; i++) before.write(frameOf(frame(MP3_HEADER), FRAME_MS, 128, i === 0));
  const seen: string[] = [];
  const next = channel({ metaint: 1000, onFormat: (from, to) => seen.push(`${formatText(from)} → ${formatText(to)}`) });
  next.adopt(before);
  t.same([next.bitrateKbps, next.sampleRate, next.channels], [128, 44_100, 2], 'before its first frame');
  next.write(frameOf(frame(MP3_HEADER), FRAME_MS, 128, true));
  t.same([seen, next.tape!.joinFrom], [[], before.tape!.joinFrom]);
  next.write(frameOf(frame([0xff, 0xfb, 0x94, 0x00]), 24, 128, true));
  t.same(seen, ['MP3, 44.1 kHz, stereo → MP3, 48 kHz, stereo']);
  t.equal(next.tape!.joinFrom, next.tape!.head + 1);
});

t.test('the bitrate is the mean of the source on air over a minute, whatever its last frame has', async (t) => {
  const one = channel();
  t.equal(one.bitrateKbps, 0);
  for (let i = 0; i < 1000; i++) write(one, i % 10 === 9 ? 32 : 192, 10);
  t.equal(one.bitrateKbps, 176);
  one.sourceChanged();
  t.equal(one.bitrateKbps, 176, 'as long as nothing has come of the next one');
  write(one, 64, 10_000);
  t.equal(one.bitrateKbps, 64);
  write(one, 128, 300_000);
  t.ok(one.bitrateKbps >= 127, 'one that has changed is not held to what it was');
  write(one, 20_000, 100);
  one.sourceChanged();
  one.write(frameOf(Buffer.alloc(60_000), 0.1, 64));
  t.equal(one.bitrateKbps, 10_000, 'no more than can be said of it');
});

t.test(
  'sample rate and channels: of the first frame behind a start, a gap or a change of source; in Ogg, of its codec',
  async (t) => {
    const one = channel();
    const facts = () => [one.sampleRate, one.channels];
    const frame = (...header: number[]) => Buffer.concat([Buffer.from(header), Buffer.alloc(413)]);
    const [stereo44, mono48] = [frame(0xff, 0xfb, 0x90, 0x00), frame(0xff, 0xfb, 0x94, 0xc0)];
    t.same(facts(), [0, 0]);
    one.write(frameOf(stereo44, FRAME_MS, 128, true));
    t.same(facts(), [44_100, 2]);
    one.write(frameOf(mono48, 24, 128));
    t.same(facts(), [44_100, 2], 'a source that goes on is not looked at again');
    one.write(frameOf(mono48, 24, 128, true));
    t.same(facts(), [48_000, 1], 'a gap');
    one.sourceChanged();
    one.write(frameOf(frame(0xff, 0xfb, 0x90, 0xc0), FRAME_MS, 128));
    t.same(facts(), [44_100, 1], 'a source that was running already');
    const framer = framerFor({
      onFrame: ({ bytes, durationMs: ms, fresh, link }) => one.write(frameOf(bytes, ms, 96, fresh, link)),
    });
    framer.push(opusLink(1, 100));
    t.same(facts(), [48_000, 2]);
  },
);
