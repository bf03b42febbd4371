/**
 * Removes secrets from URLs and other untrusted text before they are logged: the values of parameters whose names are on the operator's list
 * (log.secretNames), the token in a path of /metapush/, the user and password before a host. It finds them in several layers of
 * percent-encoding (a URL in the query of a URL in a Referer) and puts `-` in their place.
 *
 *   back=https%3A%2F%2Fme:word@x%2F%3Ftoken%3Dabc%26v%3D2&app=ios   ─►   back=https%3A%2F%2F-@x%2F%3Ftoken%3D-%26v%3D2&app=ios
 *   layer 0        1  1  1         1  1      1     1   1 0               a value ends at a separator of its own layer or an outer one
 *
 * Invariant: if in doubt, it removes more, never less. The time is linear in the length of any text.
 */

/** Number of layers of percent-encoding that are decoded. */
const LAYERS = 3;
/** Maximum characters; the rest is dropped, since no log has as many. */
const LONGEST = 16_384;
/** Of a longer name, only the end is compared. */
const NAME_LONGEST = 128;
const PUSH_PATH = /[/\\]metapush[/\\]+[^/\\?#]*[/\\]+/gi;

/** A percent-decoded text. */
interface Decoded {
  readonly text: string;
  /** Offset of each character in the original text, and the end of the last one. */
  readonly from: readonly number[];
  /** Number of encodings of each character. */
  readonly layer: readonly number[];
}

/** A range of the decoded text; `end` is exclusive. */
type Span = readonly [start: number, end: number];

/** The end of the last secret found. Secrets inside it are skipped unless they are of an outer layer, so that the time stays linear. */
interface Last {
  readonly end: number;
  readonly layer: number;
}
const OPEN: Last = { end: 0, layer: 0 };

export class SecretMask {
  #secret: RegExp;

  /** @param names of parameters, case-insensitive; `*` matches any text; `-`, `.`, `~` and `_` are equivalent */
  constructor(names: readonly string[]) {
    this.#secret = patternOf(names);
  }

  /** Replaces the names of secrets. */
  change(names: readonly string[]): void {
    this.#secret = patternOf(names);
  }

  /** The first `characters` of a text without its secrets. Only that part is scanned; a secret that the cut divides is removed too. */
  mask(whole: string, characters = LONGEST): string {
    const text = whole.slice(0, Math.min(characters, LONGEST));
    const decoded = decode(text);
    const isCut = text.length < whole.length && !'/\\?#'.includes(whole[text.length]!);
    const spans = [...this.#values(decoded), ...pushTokens(decoded), ...logins(decoded, isCut)];
    spans.sort(([a], [b]) => a - b);
    let masked = '';
    let at = 0;
    for (const [start, end] of spans) {
      const first = decoded.from[start]!;
      if (first >= at) masked += `${text.slice(at, first)}-`;
      at = Math.max(at, decoded.from[end]!);
    }
    return masked + text.slice(at);
  }

  #values(decoded: Decoded): Span[] {
    const { text, layer } = decoded;
    const spans: Span[] = [];
    let nameAt = 0;
    let last = OPEN;
    for (let i = 0; i < text.length; i++) {
      const isValue = text[i] === '=' || text[i] === ':';
      if (!isValue && !'?&;#/\\'.includes(text[i]!)) continue;
      const name = isValue ? text.slice(Math.max(nameAt, i - NAME_LONGEST), i) : '';
      nameAt = i + 1;
      if ((i < last.end && layer[i]! >= last.layer) || !this.#isSecret(name)) continue;
      last = { end: endOf(decoded, i + 1, layer[i]!, '&;#'), layer: layer[i]! };
      spans.push([i + 1, last.end]);
    }
    return spans;
  }

  /** Compares each part of a name, so that `token[]`, `user[token]` and `{"token"` match too. */
  #isSecret(name: string): boolean {
    return name !== '' && name.split(/[^\w.~-]+/).some((part) => this.#secret.test(oneDash(part)));
  }
}

function oneDash(name: string): string {
  return name.replace(/[.~-]/g, '_');
}

/** The text after a channel's key in a push path. In a query it ends with the parameter. */
function pushTokens(decoded: Decoded): Span[] {
  const { text, layer } = decoded;
  const query = text.indexOf('?');
  const spans: Span[] = [];
  let last = OPEN;
  for (const { index, 0: path } of text.matchAll(PUSH_PATH)) {
    const start = index + path.length;
    const ofLayer = layer[start - 1]!;
    if (index < last.end && ofLayer >= last.layer) continue;
    last = { end: endOf(decoded, start, ofLayer, query >= 0 && query < index ? '?#&' : '?#'), layer: ofLayer };
    if (last.end > start) spans.push([start, last.end]);
  }
  return spans;
}

/** `//user:password@`. @param isCut whether the text was cut: a host at its end may be a user and half a password */
function logins(decoded: Decoded, isCut: boolean): Span[] {
  const { text, layer } = decoded;
  const spans: Span[] = [];
  for (const { index } of text.matchAll(/[/\\](?=[/\\])/g)) {
    const end = endOf(decoded, index + 2, layer[index + 1]!, '/\\?#');
    const at = isCut && end === text.length ? end - index - 2 : text.slice(index + 2, end).lastIndexOf('@');
    if (at >= 0) spans.push([index + 2, index + 2 + at]);
  }
  return spans;
}

/** The place of the first of these separators in this layer or an outer one; none: the end of the text. */
function endOf({ text, layer }: Decoded, start: number, maxLayer: number, separators: string): number {
  for (let i = start; i < text.length; i++) {
    if (layer[i]! <= maxLayer && separators.includes(text[i]!)) return i;
  }
  return text.length;
}

/** Decodes each byte to one character, since only ASCII is compared. */
function decode(whole: string): Decoded {
  let text = whole;
  let from = Array.from({ length: text.length + 1 }, (_, i) => i);
  let layer = new Array<number>(text.length).fill(0);
  for (let pass = 0; pass < LAYERS && text.includes('%'); pass++) {
    const [chars, froms, layers]: [string[], number[], number[]] = [[], [], []];
    for (let i = 0; i < text.length; ) {
      const isEscape = text[i] === '%' && /^[0-9a-f]{2}$/i.test(text.slice(i + 1, i + 3));
      const length = isEscape ? 3 : 1;
      chars.push(isEscape ? String.fromCharCode(Number.parseInt(text.slice(i + 1, i + 3), 16)) : text[i]!);
      froms.push(from[i]!);
      layers.push(isEscape ? 1 + Math.max(layer[i]!, layer[i + 1]!, layer[i + 2]!) : layer[i]!);
      i += length;
    }
    froms.push(from[text.length]!);
    [text, from, layer] = [chars.join(''), froms, layers];
  }
  return { text, from, layer };
}

function patternOf(names: readonly string[]): RegExp {
  const patterns = names.map((name) => oneDash(name).replaceAll('*', '.*'));
  return patterns.length === 0 ? /(?!)/ : new RegExp(`^(?:${patterns.join('|')})$`, 'i');
}
