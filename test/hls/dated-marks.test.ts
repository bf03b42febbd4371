/** Titles of a tape at the dates of its playlist. */

import t from 'tap';
import { datedMarks } from '../../src/hls/dated-marks.js';
import { HlsChannel, readPlaylist, tapeName } from '../kit/hls-channel.js';

const KEEPS_JINGLES = {
  charset: 'utf-8',
  apostrophe: 'keep',
  streamUrl: 'none',
  etypes: { jingle: 'keep' },
  name: 'Demo',
} as const;

function datesOf({ audio, window }: HlsChannel): [string, number][] {
  const tape = audio.tape!;
  return datedMarks(tape, tapeName(tape), window).map(({ mark, dateMs }) => [mark.view.title, dateMs]);
}

t.test('each title has the date that the playlist says, also a late one, up to its end', async (t) => {
  const channel = new HlsChannel({ targetSeconds: 2, window: 8, keep: 12 });
  channel.title('first');
  channel.cut();
  channel.play(5);
  channel.title('second');
  channel.play(6);
  channel.title('late', 3000);
  channel.play(2);
  channel.title('to come');
  channel.play(0.5);
  const { titles } = readPlaylist(channel.window.playlist);
  const dated = datesOf(channel);
  t.strictSame(
    dated.map(([title]) => title),
    ['first', 'second', 'late'],
  );
  for (const [i, { startMs }] of titles.entries())
    t.ok(Math.abs(dated[i]![1] - startMs) < 1, `${dated[i]![0]}: ${dated[i]![1]}, in the playlist ${startMs}`);
  t.equal(titles.length, 3);
  channel.play(3);
  t.equal(datesOf(channel).at(-1)![0], 'to come');
});

t.test('a title that the playlist does not say has the date of its place', async (t) => {
  const channel = new HlsChannel({ targetSeconds: 2, window: 8, keep: 12, icy: KEEPS_JINGLES });
  channel.title('song');
  channel.cut();
  channel.play(3);
  const { clock, window } = channel;
  const atMs = clock.wallMs();
  channel.title('jingle', 0, { etype: 101 });
  channel.play(4);
  t.strictSame(
    readPlaylist(window.playlist).titles.map(({ title }) => title),
    ['song'],
  );
  const [[song], [jingle, dateMs]] = datesOf(channel) as [[string, number], [string, number]];
  t.strictSame([song, jingle], ['song', 'jingle']);
  t.ok(Math.abs(dateMs - atMs) < 30, `${dateMs - atMs} ms from when it came`);
  // Up to the oldest segment that is kept.
  for (let i = 0; i < 13; i++) {
    channel.play(2);
    const [, found] = datesOf(channel).find(([title]) => title === 'jingle')!;
    const isKept = window.segmentsFrom(0)[0]!.startMs <= dateMs;
    t.ok(isKept ? Math.abs(found - dateMs) < 1 : found === Number.NEGATIVE_INFINITY, `${found}, kept: ${isKept}`);
  }
});

t.test('what came before all that is kept, and a tape of which nothing is cut', async (t) => {
  const channel = new HlsChannel({ targetSeconds: 2, window: 3, keep: 6, lagMs: 30_000 });
  channel.title('old');
  channel.cut();
  channel.play(20);
  channel.title('new');
  channel.play(4);
  const [[old], [fresh]] = datesOf(channel) as [[string, number], [string, number]];
  t.strictSame([old, fresh], ['old', 'new']);
  const tape = channel.audio.tape!;
  t.strictSame(datedMarks(tape, 'another.1', channel.window).length, 2, 'those that are listed have their dates');
  channel.cutter!.endList();
  t.strictSame(datesOf(channel), [], 'nothing is listed');
});
