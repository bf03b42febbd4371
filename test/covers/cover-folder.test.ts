/** Pictures of a folder by id: which ids name one, and that none names a file elsewhere. */

import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { MAX_PICTURE_BYTES, pictureAt, pictureOf, pictureUrlOf } from '../../src/covers/cover-folder.js';
import { tempFolder } from '../kit/temp-folder.js';

t.test('by id, with any ending', async (t) => {
  const folder = tempFolder(t);
  for (const name of [
    'a.jpg',
    'b.png',
    'c.d-e_f~1.webp',
    'with blank.avif',
    'both.jpg',
    'both.png',
    'x.txt',
    'y.svg',
  ]) {
    writeFileSync(join(folder, name), 'x');
  }
  writeFileSync(join(folder, '..secret.jpg'), 'x');
  const find = (id: string) => pictureOf(folder, id);
  t.equal(await find('a'), 'a.jpg');
  t.equal(await find('b'), 'b.png');
  t.equal(await find('c.d-e_f~1'), 'c.d-e_f~1.webp');
  t.equal(await find('with blank'), 'with blank.avif');
  t.equal(await find('both'), 'both.jpg');
  for (const id of ['x', 'y', 'A', '', '.', '..', '..secret', '../a', 'a/../a', 'a.jpg', 'ä', 'a\0', 'nobody']) {
    t.equal(await find(id), null, JSON.stringify(id));
  }
  for (const [characters, name] of [
    [128, `${'i'.repeat(128)}.jpg`],
    [129, null],
  ] as const) {
    writeFileSync(join(folder, `${'i'.repeat(characters)}.jpg`), 'x');
    t.equal(await find('i'.repeat(characters)), name);
  }
});

t.test('what is not a picture that can be served', async (t) => {
  const folder = tempFolder(t);
  for (const [name, bytes] of [
    ['full', MAX_PICTURE_BYTES],
    ['over', MAX_PICTURE_BYTES + 1],
    ['empty', 0],
  ] as const) {
    writeFileSync(join(folder, `${name}.jpg`), '');
    truncateSync(join(folder, `${name}.jpg`), bytes);
  }
  mkdirSync(join(folder, 'folder.jpg'));
  symlinkSync(join(folder, 'nowhere'), join(folder, 'broken.jpg'));
  t.equal(await pictureOf(folder, 'full'), 'full.jpg');
  for (const id of ['over', 'empty', 'folder', 'broken']) t.equal(await pictureOf(folder, id), null, id);
  t.equal(await pictureOf(join(folder, 'gone'), 'full'), null);
});

t.test('a file name of a URL', async (t) => {
  t.strictSame(pictureAt('/f', 'a.b.png'), { path: '/f/a.b.png', type: 'image/png' });
  for (const name of ['a', 'a.svg', '.png', '../a.png', 'a/b.png', '..png', 'a.PNG', '']) {
    t.equal(pictureAt('/f', name), null, name);
  }
  t.equal(
    pictureUrlOf('https://x.example/r/', 'live', 'a b.png'),
    'https://x.example/r/metadata/channel/live/cover/a%20b.png',
  );
});
