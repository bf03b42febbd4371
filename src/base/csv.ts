/** Lines of CSV (RFC 4180) with untrusted text in their cells, of which a spreadsheet runs none as a formula. Pure. */

/** What a spreadsheet runs as a formula, also after blanks and in the wide forms of East Asian keyboards. */
const FORMULA = /^(?:[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/u;
/** Where a semicolon parts the columns (much of Europe), a cell begins after each, and the quotes in front of it do not belong to it. */
const LATER_FORMULA = /;(?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;

/** Before the first line: by it a spreadsheet knows that the file is UTF-8. */
export const BOM = '\ufeff';

/** A line with its end. What would be a formula gets an apostrophe before it. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map((each) => (typeof each === 'number' ? String(each) : cell(each))).join(',')}\r\n`;
}

/** Controls should not occur (metadata/text.ts); one that does stays within its cell. */
function cell(text: string): string {
  const harmless = (FORMULA.test(text) ? `'${text}` : text).replaceAll(LATER_FORMULA, ";'");
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
