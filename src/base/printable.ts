/** Makes untrusted text safe to show on a terminal: the one place that knows what a terminal obeys. */

/** What moves a cursor or begins a command; and lines that end. */
const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}]/gu;
/** Not seen itself: turns the direction of the text around, or hides in it. */
const FORMAT = /\p{Cf}/gu;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Untrusted text on one line of a terminal. @param text of any type */
export function printable(text: unknown): string {
  return String(text).replace(OBEYED, ' ').replace(FORMAT, '');
}

/** As printable, where the text has lines of its own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** A value as JSON for a terminal or a program: what is not printable is escaped, so that nothing is lost. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNPRINTABLE, (letter) => letter.split('').map(escaped).join(''));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
