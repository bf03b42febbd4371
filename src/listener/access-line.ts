/**
 * A line of the access log: the combined form that Apache made and Icecast writes, with the seconds that the connection lasted at
 * its end. What comes from outside is escaped as Apache does (mod_log_config), so that no line can be broken or forged; addresses are
 * shortened where that is asked for. Secrets have been taken out by then (base/secret-mask.ts). Pure functions.
 */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** What may not stand in a quoted field as it is. */
const UNSAFE = /["\\]|[^ -~]+/g;
const SHORT: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `"…"`, or `"-"` where there is nothing. Visible ASCII only; every other byte (of UTF-8) becomes `\xhh`. */
export function quoted(text: string): string {
  return `"${text === '' ? '-' : text.replace(UNSAFE, escaped)}"`;
}

function escaped(text: string): string {
  if (text.length === 1 && SHORT[text] !== undefined) return SHORT[text];
  let out = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    out += SHORT[String.fromCharCode(byte)] ?? `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return out;
}

/** `[21/Nov/2026:07:32:34 +0000]` @param wallMs unix milliseconds */
export function stamp(wallMs: number): string {
  const iso = new Date(wallMs).toISOString();
  return `[${iso.slice(8, 10)}/${MONTHS[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000]`;
}
