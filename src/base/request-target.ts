/**
 * Parses the target of a request: path, query, one parameter of the query. The query begins after the first `?`; only the value of a parameter is
 * decoded.
 */

/** The target without its query. */
export function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? target : target.slice(0, mark);
}

/** The text after the first `?`, or "". */
export function queryOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? '' : target.slice(mark + 1);
}

/** Joins path and query. */
export function targetOf({ path, query }: { readonly path: string; readonly query: string }): string {
  return query === '' ? path : `${path}?${query}`;
}

/** Percent-encoded characters that are equivalent to the plain ones (unreserved in RFC 3986, 2.3), and `;`. */
const ENCODED = /%(?:3[0-9b]|[46][1-9a-f]|[57][0-9a]|2[de]|5f|7e)/gi;

/** Decodes the characters of keys and mounts in a path (RFC 3986, 6.2.2.2): some clients encode each `-` and `~`. */
export function readablePath(path: string): string {
  return path.includes('%') ? path.replace(ENCODED, decodeURIComponent) : path;
}

/**
 * The form of a path for looking up mounts: without the host of the absolute form (RFC 9112, 3.2.2), with a leading slash and no double ones, and
 * with the characters of mounts decoded.
 */
export function plainPath(path: string): string {
  if (path.startsWith('/') && !path.includes('//') && !path.includes('%')) return path;
  return readablePath(`/${path.replace(/^https?:\/\/[^/]*/i, '')}`).replace(/\/{2,}/g, '/');
}

/** Percent-decodes a part of a URL; returns it unchanged if the encoding is invalid. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Removes double and trailing slashes from a push's path, which come from hand-made templates. Returns other targets unchanged. */
function pushTarget(target: string): string {
  const path = pathOf(target);
  if (!PUSH.test(path)) return target;
  return path.replace(/\/{2,}/g, '/').replace(/\/$/, '') + target.slice(path.length);
}

/**
 * A request's target in origin form; doubled slashes of a push are removed. The absolute form must be accepted, and its host replaces Host
 * (RFC 9112, 3.2.2).
 */
export function originForm(request: {
  url?: string | undefined;
  readonly headers: { host?: string | undefined };
}): string {
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(request.url!);
  if (absolute !== null) {
    request.headers.host = absolute[1]!;
    request.url = request.url!.slice(absolute[0].length) || '/';
  }
  request.url = pushTarget(request.url!);
  return request.url;
}

const PUSH = /^\/+metapush\/+[^/]/;

/** Maximum characters of a value to be decoded. A longer one is returned raw: it cannot be the name of anything. */
const LONGEST = 4096;

const PATTERNS = new Map<string, RegExp>();

/**
 * The first value of a parameter, decoded as URLSearchParams does; null: absent; "": empty. Other parameters, of which a client may send
 * thousands, are only scanned.
 * @param target path and query as requested @param name ASCII letters, from this program
 */
export function parameter(target: string, name: string): string | null {
  const query = queryOf(target);
  if (query === '') return null;
  let pattern = PATTERNS.get(name);
  if (pattern === undefined) PATTERNS.set(name, (pattern = patternOf(name)));
  const found = pattern.exec(`&${query}`);
  if (found === null) return null;
  const raw = found[1] ?? '';
  return raw.length > LONGEST ? raw : (new URLSearchParams(`v=${raw}`).get('v') ?? '');
}

/** Matches the parameter, even if letters of its name are percent-encoded. */
function patternOf(name: string): RegExp {
  const letters = [...name].map((letter) => {
    const digits = letter.charCodeAt(0).toString(16);
    const either = digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
    return `(?:${letter}|%${either})`;
  });
  return new RegExp(`&${letters.join('')}(?:=([^&]*))?(?=&|$)`);
}
