/**
 * The target of a request: its path, its query, one parameter of the query. The query begins behind the first `?`; nothing is decoded but the
 * value of a parameter. Pure; the one place that cuts targets.
 */

/** Without the query. */
export function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? target : target.slice(0, mark);
}

/** What follows the first `?`, or "". */
export function queryOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? '' : target.slice(mark + 1);
}

/** Path and query put together again. */
export function targetOf({ path, query }: { readonly path: string; readonly query: string }): string {
  return query === '' ? path : `${path}?${query}`;
}

/** What may stand percent-encoded in the path of a mount or a key and means the same (RFC 3986, 2.3), and `;`. */
const ENCODED = /%(?:3[0-9b]|[46][1-9a-f]|[57][0-9a]|2[de]|5f|7e)/gi;

/** A path in which what may stand in a key is not percent-encoded (RFC 3986, 6.2.2.2): some clients encode each `-` and `~`. */
export function readablePath(path: string): string {
  return path.includes('%') ? path.replace(ENCODED, decodeURIComponent) : path;
}

/**
 * A path as mounts are looked up by: without the host of the absolute form (RFC 9112, 3.2.2), with single slashes, one of them first, and with what
 * may stand in a mount as it is.
 */
export function plainPath(path: string): string {
  if (path.startsWith('/') && !path.includes('//') && !path.includes('%')) return path;
  return readablePath(`/${path.replace(/^https?:\/\/[^/]*/i, '')}`).replace(/\/{2,}/g, '/');
}

/** A part of a URL without its percent-encoding; as it stands where it has none that can be read. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The target of a push with single slashes in its path and none at the end of it: templates are put together by hand. Any other as it is. */
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

/** Raw characters of a value that is decoded. Nothing that is looked up by name is as long: a longer one is given back as it came. */
const LONGEST = 4096;

const PATTERNS = new Map<string, RegExp>();

/**
 * The first value of a parameter, decoded as URLSearchParams does; null: it is not there; "": it is empty. The other parameters are not taken
 * apart: a client may send thousands of them, and they cost one look at each character.
 * @param target path and query as requested @param name letters of ASCII, one of the program's own
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

/** Each letter may be percent-encoded. */
function patternOf(name: string): RegExp {
  const letters = [...name].map((letter) => {
    const digits = letter.charCodeAt(0).toString(16);
    const either = digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
    return `(?:${letter}|%${either})`;
  });
  return new RegExp(`&${letters.join('')}(?:=([^&]*))?(?=&|$)`);
}
