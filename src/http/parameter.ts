/**
 * One parameter of a query string, without taking the others apart: who asks for one of two names may send thousands of others, and
 * they cost one look at each character. What is found is decoded as URLSearchParams does. Pure.
 */

/** Raw characters of a value that is decoded. Nothing that is looked up by name is as long: a longer one is given back as it came. */
const LONGEST = 4096;

const PATTERNS = new Map<string, RegExp>();

/**
 * The first value of a parameter; null: it is not there; "": it is empty.
 * @param url path and query as requested @param name letters of ASCII, one of the program's own
 */
export function parameter(url: string, name: string): string | null {
  const mark = url.indexOf('?');
  if (mark < 0 || mark === url.length - 1) return null;
  let pattern = PATTERNS.get(name);
  if (pattern === undefined) PATTERNS.set(name, (pattern = patternOf(name)));
  const found = pattern.exec(`&${url.slice(mark + 1)}`);
  if (found === null) return null;
  const raw = found[1] ?? '';
  return raw.length > LONGEST ? raw : (new URLSearchParams(`v=${raw}`).get('v') ?? '');
}

/** Each letter may be percent-encoded. */
function patternOf(name: string): RegExp {
  const letters = [...name].map((letter) => {
    const digits = letter.charCodeAt(0).toString(16);
    const either = digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
    return `(?:${letter}|%${either})`;
  });
  return new RegExp(`&${letters.join('')}(?:=([^&]*))?(?=&|$)`);
}
