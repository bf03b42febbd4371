/**
 * The output of commands: a terminal that is redrawn, or plain lines for a file or a pipe. A live picture uses the terminal's alternate screen, so
 * that the previous content is restored afterwards.
 *
 * Invariant: text from others is written only after `printable` (base/printable.ts).
 */

/** Colours that all terminals have. */
const COLOURS = { red: 31, green: 32, yellow: 33, bold: 1, dim: 2 } as const;
export type Colour = keyof typeof COLOURS;

/** Colours a text, or returns it unchanged. */
export type Paint = (text: string, colour: Colour) => string;

const OTHER_SCREEN = '\u001b[?1049h\u001b[?25l';
const OWN_SCREEN = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const ERASE_LINE = '\u001b[K';
const ERASE_BELOW = '\u001b[J';

/** For a file or a pipe, or a terminal of unknown size. */
const PLAIN_COLUMNS = 120;

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Whether standard output is a terminal that can be redrawn. */
export function isLive(): boolean {
  return process.stdout.isTTY === true && process.env['TERM'] !== 'dumb';
}

/** Uses colours in a terminal, unless NO_COLOR (no-color.org) is set. */
export function paintOf(): Paint {
  const isPlain = !isLive() || Boolean(process.env['NO_COLOR']);
  return isPlain ? (text) => text : (text, colour) => `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;
}

export function sizeOf(): Size {
  const { columns = PLAIN_COLUMNS, rows = Number.POSITIVE_INFINITY } = process.stdout;
  return { columns: columns || PLAIN_COLUMNS, rows: rows || Number.POSITIVE_INFINITY };
}

/** A picture in the terminal that is redrawn. Must be closed, even after an error. */
export class Screen {
  readonly #picture: (size: Size) => readonly string[];
  readonly #onResize = () => this.draw();

  /** @param picture its lines, within the size */
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

  /** Restores the terminal, and prints the last picture as plain lines. */
  close(): void {
    process.stdout.off('resize', this.#onResize);
    process.stdout.write(OWN_SCREEN);
    const size = { columns: sizeOf().columns, rows: Number.POSITIVE_INFINITY };
    const lines = this.#picture(size);
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  }
}

/** Scripts whose characters take two columns, and emoji (after UAX #11). */
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

/** Cuts a text to this number of columns, with a … at the end. */
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

/** Cuts or pads a text to this number of columns. */
export function inColumns(text: string, columns: number, isRight = false): string {
  const cut = cutTo(text, columns);
  const blanks = ' '.repeat(Math.max(0, columns - columnsOf(cut)));
  return isRight ? blanks + cut : cut + blanks;
}
