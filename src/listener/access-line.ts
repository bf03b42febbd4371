/**
 * Parts of a line of the access log: Apache's combined format as Icecast writes it, with the duration of the connection in seconds at the
 * end. Client input is escaped as in Apache's mod_log_config, so that no line can be broken or forged. Pure functions.
 */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** Characters to escape in a quoted field. */
const UNSAFE = /["\\]|[^ -~]+/g;
const SHORT: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `"…"`, or `"-"` if empty. Visible ASCII only; every other byte (of UTF-8) becomes `\xhh`. */
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
