/** EXT-X-DATERANGE as the client reads it: of playlists that the server writes, and of what is none of ours. */

import t from 'tap';
import { datedTitles, dateRangesOf, MAX_TITLES } from '../../src/client/date-range.js';
import { HlsChannel, readPlaylist } from '../kit/hls-channel.js';

t.test('what the server writes is read as it was meant', async (t) => {
  const channel = new HlsChannel();
  channel.cut();
  channel.play(6);
  channel.title('Feeling Good', 0, { artist: 'Nina "N" Simone', etype: 1001, durationSeconds: 174 });
  channel.play(6);
  channel.title('A=1,B="2"', 0, { artist: '' });
  channel.play(6);
  const text = channel.window.playlist;
  const titles = datedTitles(dateRangesOf(text));
  const listed = readPlaylist(text).titles;
  t.strictSame(
    titles.map(({ id, startMs }) => ({ id, startMs })),
    listed.map(({ id, startMs }) => ({ id, startMs })),
  );
  t.match(titles.at(-2)!.record, {
    type: 'now',
    title: 'Nina ”N” Simone - Feeling Good',
    artist: 'Nina ”N” Simone',
    song: 'Feeling Good',
    etype: 1001,
    durationSeconds: 174,
    id: 'id-Feeling Good',
    startMs: titles.at(-2)!.startMs,
    positionMs: null,
    cover: '',
  });
  t.match(titles.at(-1)!.record, { title: 'A=1,B=”2”', artist: '', song: 'A=1,B=”2”', etype: 0, durationSeconds: 0 });
});

t.test('what is no title of ours is left out, whatever it is', async (t) => {
  const date = 'START-DATE="2026-11-27T01:12:16.024Z"';
  const ours = `ID="a.1",CLASS="net.airsplice.title",${date},X-TITLE="Song"`;
  const lines = [
    `ID="b.1",CLASS="com.apple.hls.interstitial",${date}`,
    `CLASS="net.airsplice.title",${date}`,
    'ID="c.1",CLASS="net.airsplice.title",START-DATE="yesterday"',
    'ID="d.1",CLASS="net.airsplice.title"',
    `ID="e.1,CLASS="net.airsplice.title",${date}`,
    ',,,=,"',
    '',
    ours,
  ];
  const text = (end: string) => lines.map((line) => `#EXT-X-DATERANGE:${line}`).join(end);
  for (const end of ['\n', '\r\n']) {
    const titles = datedTitles(dateRangesOf(`#EXTM3U${end}${text(end)}${end}`));
    t.strictSame(
      titles.map(({ id }) => id),
      ['a.1'],
    );
    t.match(titles[0]!.record, { song: 'Song', artist: '', etype: 0, id: '' });
  }
  const foreign = [{ ID: 7, CLASS: 'net.airsplice.title', 'START-DATE': new Date() }, {}] as const;
  t.strictSame(datedTitles(foreign), [], 'values of another type');
});

t.test('in order of their dates, and of too many the last', async (t) => {
  const range = (second: number) => ({
    ID: `t.${second}`,
    CLASS: 'net.airsplice.title',
    'START-DATE': new Date(second * 1000).toISOString(),
  });
  const count = MAX_TITLES + 1000;
  const many = Array.from({ length: count }, (_, i) => range(count - i));
  const titles = datedTitles(many);
  t.equal(titles.length, MAX_TITLES);
  t.strictSame([titles[0]!.startMs, titles.at(-1)!.startMs], [1_001_000, count * 1000]);
});
