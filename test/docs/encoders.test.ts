/**
 * The table of what encoders make of our answers is what the kit knows of its programs, and the long tests see that to be true. To write it
 * anew: `npx tap --snapshot test/docs/encoders.test.ts`, and format it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { encoderTable, refusedKinds } from '../kit/encoder-table.js';

const README = new URL('../../src/http/ingest/README.md', import.meta.url);
const TABLE = /^\|.*\n(?:\|.*\n)+/m;

/** The formatter pads them. */
const cells = (table: string) =>
  table
    .split('\n')
    .map((row) => row.split(/ *(?<!\\)\| */))
    .filter((_, at) => at !== 1);

t.test('the table of the encoders says what the programs do', async (t) => {
  const kinds = await refusedKinds();
  const names = kinds.map(({ name }) => name);
  for (const name of ['BUTT', 'ffmpeg', 'oggfwd']) t.ok(names.includes(name), name);
  const section = (text: string) => text.slice(text.indexOf('\n## What encoders make of our answers\n'));
  const text = readFileSync(README, 'utf8');
  const table = encoderTable(kinds);
  if (t.writeSnapshot) writeFileSync(README, text.replace(section(text), section(text).replace(TABLE, table)));
  t.same(cells(TABLE.exec(section(readFileSync(README, 'utf8')))?.[0] ?? ''), cells(table));
});
