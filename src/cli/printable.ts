/** Texts of strangers as a terminal may show them. */

/** What moves a terminal's cursor, is read as a command by it, or turns the direction of the text around. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** What a stranger sent, on one line of a terminal. @param text of whatever type it came */
export function printable(text: unknown): string {
  return String(text).replace(UNPRINTABLE, ' ');
}

/** A value as JSON for a terminal or a program: what a terminal would obey is escaped. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNPRINTABLE, (letter) => {
    return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
