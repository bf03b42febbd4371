/** Titles of iHeart's streams, as they were seen. */

import t from 'tap';
import { readSpotTitle } from '../../src/metadata/spot-title.js';

const REST =
  'song_spot="M" MediaBaseId="1734278" itunesTrackId="0" amgTrackId="-1" amgArtistId="0" TAID="43011" TPID="7610716" cartcutId="0708213001" ' +
  'amgArtworkURL="https://i.iheart.com/v3/catalog/track/7610716?ops=fit(400,400)" length="00:03:45" unsID="-1" spotInstanceId="-1"';
const COVER = 'https://i.iheart.com/v3/catalog/track/7610716?ops=fit(400,400)';

t.test('artist, song and cover', async (t) => {
  const table: readonly [string, string, string, string?][] = [
    [`Taio Cruz - text="Dynamite" ${REST}`, 'Taio Cruz', 'Dynamite', COVER],
    [`text="Dynamite" ${REST}`, '', 'Dynamite', COVER],
    [` - text="24-7 News Into Break" song_spot="T" length="00:00:08"`, '', '24-7 News Into Break'],
    ['- text="Spot Block End" length="00:00:00" show="" digitalAds=""', '', 'Spot Block End'],
    ['adContext="sponsor" text="Commercial" TPID="1"', '', 'Commercial'],
    ['A - B - text="Say "Hi", Bob" song_spot="M"', 'A - B', 'Say "Hi", Bob'],
    [`title="YOUR SONG",artist="Elton John",url="${REST}"`, 'Elton John', 'YOUR SONG', COVER],
    ['title="x",artist="y",url="song_spot=\\"M\\" amgArtworkURL=\\"null\\""', 'y', 'x'],
    ['artist="y",title="x",url="song_spot="F""', 'y', 'x'],
    ['title="",artist="",url="song_spot="T""', '', ''],
  ];
  for (const [line, artist, song, cover = ''] of table) {
    t.strictSame(readSpotTitle(line), { artist, song, cover }, line.slice(0, 60));
  }
});

t.test('other lines', async (t) => {
  for (const line of [
    '',
    'A - B',
    'text="x"',
    'A - text="x" and more',
    'length="1"',
    'A - B song_spot="M"',
    'title="x",artist="y"',
  ])
    t.equal(readSpotTitle(line), null, line);
});
