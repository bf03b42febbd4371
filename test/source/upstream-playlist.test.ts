/** Playlists of other servers: their entries, and that a hostile one takes no longer than another of its length. */

import t from 'tap';
import { readPlaylist } from '../../src/source/upstream-playlist.js';
import { growsLinearly } from '../kit/growth.js';

t.test('PLS: by number, with blanks around, empty entries left out', async (t) => {
  const text = '[Playlist]\nFile2 = http://b.example/ \nfile1=http://a.example/\nFile3=  \nTitle1=x\n';
  t.strictSame(readPlaylist(text), { entries: ['http://a.example/', 'http://b.example/'], isHls: false });
});

t.test('what a playlist of any form takes grows with its length', async (t) => {
  const forms: Readonly<Record<string, (size: number) => string>> = {
    'blanks before an entry with a separator of lines': (size) => `[playlist]\nfile1=${' '.repeat(size)}x\u2028y`,
    'blanks before the equals sign': (size) => `[playlist]\nfile1${' '.repeat(size)}x`,
    'blank lines': (size) => `[playlist]${'\r'.repeat(size)}`,
  };
  for (const [name, make] of Object.entries(forms)) await growsLinearly(t, name, 8000, make, readPlaylist);
});
