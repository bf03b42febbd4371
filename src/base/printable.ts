/** Makes untrusted text safe for a terminal. */

/** Control characters, which move the cursor or begin a command, and line separators. */
const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}]/gu;
/** Invisible characters, which can reverse the direction of text, or hide in it. */
const FORMAT = /\p{Cf}/gu;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Untrusted text on one line of a terminal. @param text of any type */
export function printable(text: unknown): string {
  return String(text).replace(OBEYED, ' ').replace(FORMAT, '');
}

/** As printable, but keeps line ends. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** A value as JSON for a terminal or a program: unprintable characters are escaped, so that nothing is lost. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNPRINTABLE, (letter) => letter.split('').map(escaped).join(''));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
