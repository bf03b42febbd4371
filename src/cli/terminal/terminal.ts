/**
 * Where a command's words go: a terminal that is redrawn, or a file or a pipe that gets plain lines. A live picture stands on the terminal's other
 * screen, so that what was there before comes back behind it.
 *
 * Invariant: nothing is written that a stranger made up, but for texts that were made `printable` (base/printable.ts).
 */

/** Colours that each terminal has. */
const COLOURS = { red: 31, green: 32, yellow: 33, bold: 1, dim: 2 } as const;
export type Colour = keyof typeof COLOURS;

/** Paints a text, or leaves it as it is. */
export type Paint = (text: string, colour: Colour) => string;

const OTHER_SCREEN = '\u001b[?1049h\u001b[?25l';
const OWN_SCREEN = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const ERASE_LINE = '\u001b[K';
const ERASE_BELOW = '\u001b[J';

/** Of a file or a pipe, or where a terminal does not say: room for any line. */
const PLAIN_COLUMNS = 120;

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Whether standard output is a terminal that can be redrawn. */
export function isLive(): boolean {
  return process.stdout.isTTY === true && process.env['TERM'] !== 'dumb';
}

/** Colours, where a terminal shows them and NO_COLOR (no-color.org) does not ask for none. */
export function paintOf(): Paint {
  const isPlain = !isLive() || Boolean(process.env['NO_COLOR']);
  return isPlain ? (text) => text : (text, colour) => `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;
}

export function sizeOf(): Size {
  const { columns = PLAIN_COLUMNS, rows = Number.POSITIVE_INFINITY } = process.stdout;
  return { columns: columns || PLAIN_COLUMNS, rows: rows || Number.POSITIVE_INFINITY };
}

/** A picture on the terminal that is drawn again. To be closed whatever happens. */
export class Screen {
  readonly #picture: (size: Size) => readonly string[];
  readonly #onResize = () => this.draw();

  /** @param picture its lines, none of them wider or more than the size */
  constructor(picture: (size: Size) => readonly string[]) {
    this.#picture = picture;
    process.stdout.write(OTHER_SCREEN);
    process.stdout.on('resize', this.#onResize);
  }

  draw(): void {
    const size = sizeOf();
    const lines = this.#picture(size).slice(0, size.rows);
    process.stdout.write(`${HOME}${lines.map((line) => `${ERASE_LINE}${line}`).join('\r\n')}${ERASE_BELOW}`);
  }

  /** The picture as it was last stays behind, between the lines of before and after. */
  close(): void {
    process.stdout.off('resize', this.#onResize);
    process.stdout.write(OWN_SCREEN);
    const size = { columns: sizeOf().columns, rows: Number.POSITIVE_INFINITY };
    const lines = this.#picture(size);
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  }
}

/** Scripts whose characters take two columns, and emoji (UAX #11, in short). */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NARROW_ONLY = /^[\u0020-\u02ff]*$/;
const GRAPHEMES = new Intl.Segmenter();

/** How many columns of a terminal a printable text takes. */
export function columnsOf(text: string): number {
  if (NARROW_ONLY.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of GRAPHEMES.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

/** In at most this number of columns; where it is cut there is a …. */
export function cutTo(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let cut = '';
  let used = 0;
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += WIDE.test(segment) ? 2 : 1;
    if (used > columns - 1) break;
    cut += segment;
  }
  return columns < 1 ? '' : `${cut}…`;
}

/** In exactly this number of columns. */
export function inColumns(text: string, columns: number, isRight = false): string {
  const cut = cutTo(text, columns);
  const blanks = ' '.repeat(Math.max(0, columns - columnsOf(cut)));
  return isRight ? blanks + cut : cut + blanks;
}
