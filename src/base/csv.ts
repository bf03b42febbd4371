/** Lines of CSV (RFC 4180) with untrusted text, which a spreadsheet must not run as formulas. Pure. */

/** Text that a spreadsheet runs as a formula, even after blanks, and in the full-width forms of East Asian keyboards. */
const FORMULA = /^(?:[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/u;
/** Much of Europe separates columns by semicolons: there a cell begins after each, even within our quotes. */
const LATER_FORMULA = /;(?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;

/** Byte order mark before the first line, by which a spreadsheet recognises UTF-8. */
export const BOM = '\ufeff';

/** A line with its line end. Formulas get an apostrophe in front. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map((each) => (typeof each === 'number' ? String(each) : cell(each))).join(',')}\r\n`;
}

/** A quoted cell. Control characters should not occur (metadata/text.ts), but could not leave the cell. */
function cell(text: string): string {
  const harmless = (FORMULA.test(text) ? `'${text}` : text).replaceAll(LATER_FORMULA, ";'");
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
