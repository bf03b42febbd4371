/** What is kept of an encoder's comments: as much as can be sent on, in memory of its own. */

import t from 'tap';
import { OggLink } from '../../../src/audio/ogg/ogg-link.js';
import { OPUS_HEAD } from '../../kit/forged.js';
import { heldBufferBytes } from '../../kit/heap.js';
import { comments } from '../../kit/made-ogg.js';

/** OpusTags with these comments. */
function tagsOf(...comments: string[]): Buffer {
  const sized = (text: string) => {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const count = Buffer.alloc(4);
  count.writeUInt32LE(comments.length);
  return Buffer.concat([Buffer.from('OpusTags', 'latin1'), sized('vendor'), count, ...comments.map(sized)]);
}

const PICTURE = `METADATA_BLOCK_PICTURE=${'A'.repeat(1_000_000)}`;

t.test('a picture is not sent on, what stands around it is', async (t) => {
  const link = new OggLink([OPUS_HEAD, tagsOf('GENRE=Jazz', PICTURE, 'ARTIST=A', 'TITLE=T')]);
  t.same([link.artist, link.title], ['A', 'T']);
  const [, packet] = link.packets(null, 0);
  t.same(packet, tagsOf('GENRE=Jazz', 'ARTIST=A', 'TITLE=T'));
});

t.test('of many comments the title is found, and the first are sent on', async (t) => {
  const many = Array.from({ length: 900 }, (_, i) => `NOTE${i}=${'x'.repeat(100)}`);
  const link = new OggLink([OPUS_HEAD, tagsOf(...many, 'TITLE=T')]);
  t.equal(link.title, 'T');
  const [, packet] = link.packets({ title: 'Ours', artist: '', album: '' }, 0);
  t.match(packet!.toString('latin1'), /NOTE0=x+.*NOTE30=x+.*TITLE=Ours/s);
  t.ok(packet!.length < 4500, `${packet!.length} bytes`);
});

t.test('a title that is not UTF-8 is of the charset that is named, else Windows-1252', async (t) => {
  const table: readonly [string, string | undefined, string][] = [
    ['436166e9', undefined, 'Café'],
    ['c3a9', 'windows-1251', 'é'],
    ['cae8edee', 'windows-1251', 'Кино'],
    ['83658358', 'shift_jis', 'テス'],
  ];
  for (const [hex, charset, title] of table) {
    const field = Buffer.concat([Buffer.from('title='), Buffer.from(hex, 'hex')]);
    const tags = Buffer.concat([Buffer.from('OpusTags'), comments(field)]);
    t.equal(new OggLink([OPUS_HEAD, tags], charset).title, title, hex);
  }
});

t.test('links that wait in a delay line hold no pictures', async (t) => {
  const before = await heldBufferBytes();
  const links = Array.from({ length: 100 }, () => new OggLink([OPUS_HEAD, tagsOf(PICTURE, 'TITLE=T')]));
  const held = (await heldBufferBytes()) - before;
  t.ok(held < 10_000_000, `${links.length} links hold ${held} bytes`);
});
