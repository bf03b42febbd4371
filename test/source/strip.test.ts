/** Blocks of an ICY stream are taken out of its audio, whatever the pieces that it comes in. */

import t from 'tap';
import { SLICE_BYTES } from '../../src/source/pacer.js';
import type { SourceTitle } from '../../src/source/source.js';
import { IcyStripper } from '../../src/source/strip.js';
import { Random } from '../kit/random.js';
import { audioOf, icyBody } from '../kit/upstream.js';

t.test('blocks are taken out whatever the split: at every byte', async (t) => {
  const random = new Random();
  const audio = audioOf(random, 4);
  const texts = new Map([
    [0, "StreamTitle='One';"],
    [2, "StreamTitle='';StreamUrl='http://x/';"],
    [5, "StreamTitle='It's \u00e9';"],
    [6, "StreamUrl='no title';"],
    [7, "StreamTitle='A - B';StreamUrl='https://x.example/1.jpg?a=b';"],
  ]);
  const body = icyBody(audio, 200, texts);
  for (let split = 0; split <= body.length; split++) {
    const stripper = new IcyStripper(200);
    const parts: Buffer[] = [];
    const titles: [SourceTitle, number][] = [];
    for (const chunk of [body.subarray(0, split), body.subarray(split)]) {
      stripper.read(chunk, {
        onAudio: (audio) => void parts.push(Buffer.from(audio)),
        onTitle: (title) => void titles.push([title, Buffer.concat(parts).length]),
      });
    }
    const expected = [
      ['One', 200],
      ['', 600],
      ["It's \u00e9", 1200],
      [{ artist: 'A', song: 'B', separator: ' - ', cover: 'https://x.example/1.jpg?a=b' }, 1600],
    ];
    if (!Buffer.concat(parts).equals(audio)) t.fail(`split at ${split}, seed ${random.seed}: audio`);
    if (JSON.stringify(titles) !== JSON.stringify(expected)) t.fail(`split at ${split}: ${JSON.stringify(titles)}`);
  }
  t.pass(`${body.length} splits`);
});

/** The titles in a block. */
function read(block: string): SourceTitle[] {
  const titles: SourceTitle[] = [];
  const body = icyBody(Buffer.alloc(200), 100, new Map([[0, block]]));
  new IcyStripper(100).read(body, { onAudio: () => undefined, onTitle: (title) => void titles.push(title) });
  return titles;
}

t.test('a StreamUrl is a cover only where it is a picture on the web', async (t) => {
  const parts = { artist: 'A', song: 'B', separator: ' - ' };
  for (const url of ['http://x.example/a.PNG', 'https://x.example/a/b.webp#1', 'https://x.example/%C3%BC.jpeg']) {
    t.strictSame(read(`StreamTitle='A - B';StreamUrl='${url}';`), [{ ...parts, cover: url }], url);
    t.strictSame(read(`StreamUrl='${url}';StreamTitle='A - B';`), [{ ...parts, cover: url }], 'in any order');
    t.strictSame(read(`StreamTitle='';StreamUrl='${url}';`), [''], 'between songs there is none');
    t.strictSame(read(`StreamUrl='${url}';`), [], 'nor is it a title by itself');
  }
  for (const url of [
    '',
    'https://x.example/',
    'https://x.example/?a.jpg',
    'data:image/png;base64,x.png',
    '//x.example/a.jpg',
    'javascript:a.jpg',
  ]) {
    t.strictSame(read(`StreamTitle='A - B';StreamUrl='${url}';`), ['A - B'], url);
  }
});

t.test('blanks and line ends between fields, names in any case; a longer name is another one', async (t) => {
  const url = 'https://x.example/1.jpg';
  const titled = { artist: 'A', song: 'B', separator: ' - ', cover: url };
  for (const block of [
    `StreamTitle='A - B'; StreamUrl='${url}';`,
    `StreamUrl='${url}'; StreamTitle='A - B';`,
    `StreamTitle='A - B';\r\nStreamUrl='${url}';\r\n`,
    ` streamtitle='A - B';streamurl='${url}';`,
    `STREAMTITLE='A - B';\tStreamURL ='${url}'`,
  ])
    t.strictSame(read(block), [titled], JSON.stringify(block));
  t.strictSame(read("MyStreamTitle='x';StreamTitle='A - B';NextStreamTitle='y';"), ['A - B']);
  t.strictSame(read(`StreamTitle='A - B';MyStreamUrl='${url}';`), ['A - B']);
});

t.test('a metaint that is no whole number is none: what follows is audio, and comes to an end', async (t) => {
  const body = Buffer.alloc(50_000, 7);
  for (const header of ['1e-300', '0.5', '-3', 'NaN', 'Infinity', '9'.repeat(400), '', undefined, null, ['x']]) {
    const stripper = new IcyStripper(header);
    let bytes = 0;
    stripper.read(body, { onAudio: ({ length }) => void (bytes += length), onTitle: () => t.fail('a title') });
    t.equal(bytes, body.length, String(header));
  }
});

t.test(
  'a title has nothing before it in what is taken at once, nor behind it: what follows waits for it',
  async (t) => {
    const random = new Random();
    for (const metaint of [1, 200, 1024, 5000]) {
      const texts = new Map(Array.from({ length: 20 }, (_, i) => [random.int(0, 40), `StreamTitle='${i}';`]));
      const audio = audioOf(random, 60);
      const body = icyBody(audio, metaint, texts);
      const stripper = new IcyStripper(metaint);
      let titles = 0;
      for (let at = 0; at < body.length; ) {
        const seen: string[] = [];
        const before = titles;
        const slice = body.subarray(at, at + random.int(1, 2 * SLICE_BYTES));
        const taken = stripper.push(slice, { onAudio: () => void seen.push('audio'), onTitle: () => void titles++ });
        if (taken < 1 || taken > SLICE_BYTES) t.fail(`${taken} bytes`);
        if (titles > before && (seen.length > 0 || titles > before + 1)) t.fail(`more than a title, ${random.seed}`);
        at += taken;
      }
      t.equal(titles, [...texts.keys()].filter((i) => (i + 1) * metaint <= audio.length).length, `${metaint}`);
    }
  },
);
