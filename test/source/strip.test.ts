/** Blocks of an ICY stream are taken out of its audio, whatever the pieces that it comes in. */

import t from 'tap';
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
  ]);
  const body = icyBody(audio, 200, texts);
  for (let split = 0; split <= body.length; split++) {
    const stripper = new IcyStripper(200);
    const parts: Buffer[] = [];
    const titles: [string, number][] = [];
    for (const chunk of [body.subarray(0, split), body.subarray(split)]) {
      for (const piece of stripper.pieces(chunk)) {
        if (piece.audio !== undefined) parts.push(Buffer.from(piece.audio));
        if (piece.title !== undefined) titles.push([piece.title, Buffer.concat(parts).length]);
      }
    }
    const expected = [
      ['One', 200],
      ['', 600],
      ["It's \u00e9", 1200],
    ];
    if (!Buffer.concat(parts).equals(audio)) t.fail(`split at ${split}, seed ${random.seed}: audio`);
    if (JSON.stringify(titles) !== JSON.stringify(expected)) t.fail(`split at ${split}: ${JSON.stringify(titles)}`);
  }
  t.pass(`${body.length} splits`);
});

t.test('a metaint that is no whole number is none: what follows is audio, and comes to an end', async (t) => {
  const body = Buffer.alloc(50_000, 7);
  for (const header of ['1e-300', '0.5', '-3', 'NaN', 'Infinity', '9'.repeat(400), '', undefined, null, ['x']]) {
    const stripper = new IcyStripper(header);
    const bytes = [...stripper.pieces(body)].reduce((sum, { audio }) => sum + (audio?.length ?? 0), 0);
    t.equal(bytes, body.length, String(header));
  }
});
