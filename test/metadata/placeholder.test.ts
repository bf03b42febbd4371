/** Placeholders that programs leave in a template, and real titles that look a little like them. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { isUnfilled } from '../../src/metadata/placeholder.js';
import { costRatio } from '../kit/cost.js';

t.test('every placeholder of the templates in config/playout.md, and what other programs have', async (t) => {
  const page = readFileSync(new URL('../../config/playout.md', import.meta.url), 'utf8');
  const templates = Array.from(page.matchAll(/^```template\n(.*?)\n```$/gms), ([, url]) => new URL(url!));
  const values = templates.flatMap(({ search }) =>
    search
      .slice(1)
      .split('&')
      .map((field) => field.split('=')[1]!),
  );
  const left = values.filter((value) => /[$%{]/.test(decodeURI(value.replaceAll('%', '%25'))));
  t.ok(left.length > 20);
  for (const value of left) t.ok(isUnfilled(decodeURI(value.replaceAll('%', '%25'))), value);
  const others =
    '%artist% %TITLE% %song% $artist$ $song.title$ $(title) {artist} {{ song }} [artist] [[Title]] <artist> #ARTIST# %id% {guid}';
  for (const text of others.split(/ (?![s}])/)) t.ok(isUnfilled(text), text);
  for (const text of ['$' + '{artist}', '%a - %t', '$artist$ – $title$', '%artist% (%album%)', ' %a '])
    t.ok(isUnfilled(text), text);
});

t.test('real titles', async (t) => {
  const titles = [
    '100% Love',
    '$$$',
    '50% off',
    '%',
    '100%',
    '$uicideboy$',
    'A$AP Rocky',
    '[untitled]',
    '<3',
    '#1',
    '#Selfie',
    '{}',
  ];
  const more = [
    '100 %a',
    'Artist',
    '%artist% live',
    'title',
    '(Untitled)',
    'Ke$ha',
    '99%',
    '{Awayland}',
    '<Coda>',
    '[Intro]',
    '%%30%30',
    '',
  ];
  for (const text of [...titles, ...more, '[ID]', '#time#', '<Name>', '$', 'US$ - C$', '# - %', '%ab', '%a1'])
    t.notOk(isUnfilled(text), text);
});

t.test('any text is looked at in time with its length', async (t) => {
  for (const piece of ['{{ ', '${a', '%artist', '$song.', '[[', '<title']) {
    const ratio = await costRatio(
      24,
      () => isUnfilled(piece.repeat(8).padEnd(256)),
      () => isUnfilled(piece.padEnd(32)),
    );
    t.ok(ratio < 24, `${piece}: ${ratio}`);
  }
});
