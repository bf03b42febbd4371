/** When a channel is cut and when it costs nothing; who wakes its source; what a reload changes. */

import t from 'tap';
import type { HlsOptions } from '../../src/config/hls-config.js';
import { ChannelHls } from '../../src/hls/channel-hls.js';
import { cutFeeds, HlsChannel, readPlaylist } from '../kit/hls-channel.js';
import { HLS_OPTIONS as OPTIONS } from '../kit/hls-link.js';

const SILENCE_MS = 15_000;

class Served {
  readonly wanted: boolean[] = [];
  readonly channel = new HlsChannel({ burstMs: 6000, onWanted: (isWanted) => this.wanted.push(isWanted) });
  hls: HlsOptions | null = OPTIONS;
  readonly subject: ChannelHls;

  constructor() {
    const { clock } = this.channel;
    const feeds = cutFeeds(clock, SILENCE_MS);
    this.subject = new ChannelHls(this, OPTIONS, { clock, feeds, silenceMs: SILENCE_MS });
  }

  get audio() {
    return this.channel.audio;
  }

  get playlist() {
    return readPlaylist(this.subject.window.playlist);
  }

  /** A second of audio at a time, or of none. */
  pass(seconds: number, { isPlaying = true, isAsked = true } = {}): void {
    for (let i = 0; i < seconds; i++) {
      if (isPlaying) this.channel.play(1);
      else this.channel.clock.advance(1000);
      if (isAsked) this.subject.ask();
      if (!this.subject.isAtRest) this.subject.tidy(this.channel.clock.now());
    }
  }
}

t.test('nothing until its playlist is asked for; then what the tape holds, at once', async (t) => {
  const served = new Served();
  served.pass(60, { isAsked: false });
  t.ok(served.subject.isAtRest);
  t.ok(
    served.audio.tape!.edgeMs - served.audio.tape!.at(served.audio.tape!.tail)!.startMs < 12_000,
    'the tape is short',
  );
  served.subject.ask();
  t.notOk(served.subject.window.isEmpty);
  served.pass(60);
  t.equal(served.playlist.segments.length, 6);
});

t.test('ten minutes without a request: nothing is kept, and numbers go on above all earlier ones', async (t) => {
  const served = new Served();
  served.pass(60);
  const { segments, mediaSequence, discontinuitySequence } = served.playlist;
  served.pass(599, { isAsked: false });
  t.notOk(served.subject.isAtRest);
  const last = served.subject.window.lastNumber!;
  t.ok(last > mediaSequence + 100);
  served.pass(10, { isAsked: false });
  t.ok(served.subject.isAtRest);
  t.equal(served.subject.window.segment(segments[0]!.name), undefined);
  t.ok(served.subject.window.isEmpty);
  served.pass(60, { isAsked: false });
  const { head, tail } = served.audio.tape!;
  t.ok(head - tail < 15, 'nobody reads the tape');
  served.subject.ask();
  const again = served.playlist;
  t.ok(again.mediaSequence > last);
  t.equal(again.discontinuitySequence, discontinuitySequence);
  t.ok(again.segments[0]!.isDiscontinuity);
});

t.test('who asks wakes a source on demand, for three target durations', async (t) => {
  const served = new Served();
  served.subject.ask();
  t.strictSame(served.wanted, [true]);
  served.pass(10, { isAsked: false });
  t.strictSame(served.wanted, [true]);
  served.pass(4, { isAsked: false });
  t.strictSame(served.wanted, [true, false]);
  served.pass(1);
  t.strictSame(served.wanted, [true, false, true]);
});

t.test(
  'a crowd that asks all the time keeps its source also where the last listener of the stream leaves',
  async (t) => {
    const served = new Served();
    const crowd = (seconds: number) => {
      for (let i = 0; i < seconds; i++) {
        for (let n = 0; n < 5; n++) {
          served.channel.clock.advance(200);
          served.subject.ask();
        }
        served.subject.tidy(served.channel.clock.now());
      }
    };
    crowd(5);
    served.audio.listeners = 1;
    served.audio.want(true);
    crowd(5);
    served.audio.listeners = 0;
    served.audio.want(false);
    crowd(2);
    t.equal(served.wanted.at(-1), true);
    const { length } = served.wanted;
    crowd(10);
    t.ok(served.wanted.length <= length + 10, 'said once a second at most');
  },
);

t.test(
  'a player that asks rarely keeps its source within a second where the last listener of the stream leaves',
  async (t) => {
    const served = new Served();
    served.pass(1);
    served.audio.listeners = 1;
    served.pass(2, { isAsked: false });
    served.audio.listeners = 0;
    served.audio.want(false);
    served.pass(1, { isAsked: false });
    t.equal(served.wanted.at(-1), true);
  },
);

t.test('listeners want their source whatever is asked for', async (t) => {
  const served = new Served();
  served.audio.listeners = 1;
  served.pass(1);
  served.pass(30, { isAsked: false });
  t.strictSame(served.wanted, []);
});

t.test('silence: the list is served on, then it ends; what comes behind begins another', async (t) => {
  const served = new Served();
  served.pass(60);
  const { segments } = served.playlist;
  served.pass(15, { isPlaying: false });
  t.strictSame(served.playlist.segments, segments);
  served.pass(7, { isPlaying: false });
  t.ok(served.subject.window.isEmpty);
  t.ok(served.subject.window.segment(segments[0]!.name), 'who has the list can still fetch what it names');
  served.pass(12);
  const { segments: after } = served.playlist;
  t.ok(after.length >= 1 && after.length <= 3);
  t.ok(after[0]!.isDiscontinuity);
  t.notOk(after.some(({ name }) => segments.some((former) => former.name === name)));
});

t.test('a reload of the form begins another list, also where nothing is cut', async (t) => {
  const served = new Served();
  served.hls = { ...OPTIONS, form: 'packed' };
  served.subject.refresh();
  t.ok(served.subject.isAtRest);
  served.pass(60);
  const last = served.subject.window.lastNumber!;
  served.hls = { ...OPTIONS, form: 'fmp4' };
  served.subject.refresh();
  t.ok(served.subject.window.isEmpty);
  served.pass(20);
  t.ok(served.playlist.mediaSequence > last);
});

t.test('a reload: another length, another window, and none at all', async (t) => {
  const served = new Served();
  served.pass(60);
  served.hls = { ...OPTIONS, segmentSeconds: 2, window: 4, keep: 9 };
  served.subject.refresh();
  t.ok(served.subject.window.isEmpty);
  served.pass(30);
  t.strictSame([served.playlist.targetSeconds, served.playlist.segments.length], [2, 4]);
  const last = served.subject.window.lastNumber!;
  served.hls = null;
  served.subject.refresh();
  t.ok(served.subject.isAtRest);
  t.ok(served.subject.window.isEmpty);
  served.hls = OPTIONS;
  served.subject.refresh();
  served.pass(10);
  t.equal(served.playlist.targetSeconds, 4);
  t.ok(served.playlist.mediaSequence > last);
});
