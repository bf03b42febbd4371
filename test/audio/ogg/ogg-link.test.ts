/** Titles in Ogg: the comments of each link, as encoders and Icecast write them. */

import t from 'tap';
import { framerFor } from '../../../src/audio/frames/format.js';
import type { FrameSink } from '../../../src/audio/frames/framer.js';
import { MAX_PACKET_BYTES } from '../../../src/audio/ogg/ogg-packets.js';
import { opusLink } from '../../kit/made-ogg.js';

type Title = Parameters<NonNullable<FrameSink['onTitle']>>[0];

/** @param links the comments of each link */
function titlesOf(...links: readonly string[][]): Title[] {
  const titles: Title[] = [];
  const framer = framerFor({ onFrame: () => undefined, onTitle: (title) => void titles.push(title) });
  framer.push(Buffer.concat(links.map((comments, i) => opusLink(i, 10, ...comments))));
  return titles;
}

const linesOf = (titles: readonly Title[]) => titles.map(({ artist, song }) => `${artist}|${song}`);

t.test('a link without a title ends the one before it', async (t) => {
  const untitled = ['GENRE=Jazz'];
  t.strictSame(linesOf(titlesOf(['ARTIST=A', 'TITLE=1'], untitled, untitled, ['TITLE=2'], untitled)), [
    'A|1',
    '|',
    '|2',
    '|',
  ]);
  t.strictSame(linesOf(titlesOf(untitled, untitled)), [], 'what never had titles says nothing');
});

t.test('a line in TITLE alone is artist and song, as Icecast writes what an update calls song', async (t) => {
  t.match(titlesOf(['TITLE=A - B - C']), [{ artist: 'A', song: 'B - C', separator: ' - ' }]);
  t.match(titlesOf(['title=A – B']), [{ artist: 'A', song: 'B', separator: ' – ' }]);
  t.strictSame(linesOf(titlesOf(['ARTIST=A', 'TITLE=B - C'])), ['A|B - C'], 'not where the artist is there');
  t.strictSame(linesOf(titlesOf(['TITLE=B-C'], ['ARTIST=A'])), ['|B-C', 'A|']);
});

t.test('an artist for each comment, the album', async (t) => {
  const comments = ['ARTIST=Queen', 'artist=David Bowie', 'Artist=Queen', 'TITLE=Under Pressure', 'ALBUM=Hot Space'];
  t.match(titlesOf(comments), [{ artist: 'Queen, David Bowie', song: 'Under Pressure', album: 'Hot Space' }]);
});

t.test('a picture of more than a packet may have takes nothing from the title before it', async (t) => {
  const picture = `METADATA_BLOCK_PICTURE=${'A'.repeat(MAX_PACKET_BYTES + 100_000)}`;
  const titles = titlesOf(['TITLE=1'], ['ARTIST=A', 'TITLE=2', picture], ['ARTIST=A', 'TITLE=3']);
  t.strictSame(linesOf(titles), ['|1', 'A|2', 'A|3']);
});
