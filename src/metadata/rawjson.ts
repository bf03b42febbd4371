/**
 * The members of a JSON object as sent, for those that are passed on unchanged (`images`, `extdata`): numbers such as 1.0 or
 * 12345678901234567890 and the order of keys would not survive parsing. White space outside strings is left out, so that the text fits
 * in one line of an event stream. Takes only text that JSON.parse has accepted.
 */

/** A string, a bracket, a sign, or a bare number or word. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g;

export interface RawValue {
  readonly text: string;
  /** Levels of objects and arrays: 0 for a bare value, 1 for `{}`, 2 for `{"a":[]}`. */
  readonly depth: number;
}

/** @returns name → value as sent; of a repeated name the last, as in JSON.parse */
export function rawMembers(json: string): Map<string, RawValue> {
  const members = new Map<string, RawValue>();
  let level = 0; // 1: directly inside the outermost object
  let name: string | null = null;
  let text = '';
  let depth = 0;
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '}' || token === ']') level--;
    const memberEnds = (level === 1 && token === ',') || level === 0;
    if (memberEnds && name !== null) {
      members.set(name, { text, depth });
      name = null;
      text = '';
      depth = 0;
    } else if (level === 1 && name === null) {
      if (token !== ',') name = JSON.parse(token) as string;
    } else if (name !== null && !(level === 1 && token === ':')) {
      text += token;
    }
    if (token === '{' || token === '[') {
      level++;
      depth = Math.max(depth, level - 1);
    }
  }
  return members;
}
