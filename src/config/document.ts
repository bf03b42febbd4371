/**
 * The YAML text of a configuration: parsed, filled from the environment, with the place of each member.
 * Invariant: no problem found here quotes a text of the file, which may be a secret; only names of variables appear.
 */

import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml';

/** The path of a member: map keys and list indices (from 0), from the top. */
export type Path = readonly (string | number)[];

/** Something wrong in the file. Line and column count from 1. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  /** Such as `addresses[0].port`; empty for the file as a whole. */
  readonly path: string;
  /** A sentence for operators about the member at `path`. */
  readonly message: string;
}

// ${NAME} or ${NAME:-default}; the last branch matches invalid ones.
// A default contains no variable, so that text after an unclosed one is not scanned repeatedly.
const VARIABLE = /\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^}$]|\$(?!\{))*))?\}|)/g;

// The parser builds regular expressions as long as a line's indent, which crash the process at some thousand columns.
const TOO_DEEP = /^(?:[?:-]?[ \t]){256,}\S/m;

// Replacements for messages of the parser that quote the file, or address programmers.
const SENTENCES: Readonly<Record<string, string>> = {
  BAD_DIRECTIVE: 'A line that starts with % cannot be an option',
  DUPLICATE_KEY: 'This name occurs twice here',
  MULTIPLE_DOCS: 'Only one document is allowed; remove the line ---',
  NON_STRING_KEY: 'The name of an option must be plain text',
  BAD_DQ_ESCAPE: 'Invalid escape sequence after \\ in a text in double quotes',
  RESOURCE_EXHAUSTION: 'Too deeply nested',
  TAG_RESOLVE_FAILED: 'Tags (words that start with !) are not supported; quote a text that starts with !',
  UNEXPECTED_TOKEN: 'Unexpected text here; is a quote, a bracket or an indentation wrong?',
};

/** How often an anchor may be used, even by aliases of aliases: enough for a thousand channels, but not for those that multiply endlessly. */
const MAX_ALIASES = 3000;

const UNQUOTED_VARIABLE = `Quote \${…} here: within { } and [ ] YAML treats its braces as structure`;

export class ConfigDocument {
  /** Plain data, variables filled in; undefined when `broken`. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** The YAML itself is wrong, so that its content cannot be checked. */
  readonly broken: boolean;
  readonly #document: Document.Parsed;
  readonly #lines = new LineCounter();
  /** The anchors before the current node, by name. */
  readonly #anchors = new Map<string, Node>();
  /** Alias → its node. */
  readonly #meant = new Map<unknown, Node>();
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string, Pair>>();

  constructor(text: string, env: NodeJS.ProcessEnv) {
    const options = { lineCounter: this.#lines, prettyErrors: false, stringKeys: true, strict: true };
    const tooDeep = TOO_DEEP.exec(text);
    this.#document = parseDocument(tooDeep === null ? text : '', options);
    if (tooDeep !== null) {
      const line = text.slice(0, tooDeep.index).split('\n').length;
      this.problems = [{ line, column: 1, path: '', message: SENTENCES['RESOURCE_EXHAUSTION']! }];
      this.broken = true;
      return;
    }
    const faults = [...this.#document.errors, ...this.#document.warnings];
    const unquoted = faults.filter(({ pos }) => text.startsWith('${', pos[0] - 1));
    if (unquoted.length > 0) {
      // The parser misreads everything after it, so its other faults are meaningless.
      this.problems = unquoted.map(({ pos }) => this.#problem(pos[0] - 1, [], UNQUOTED_VARIABLE));
      this.broken = true;
      return;
    }
    const problems = faults.map((fault) => this.#problem(fault.pos[0], [], SENTENCES[fault.code] ?? fault.message));
    let broken = faults.some((fault) => fault.code !== 'DUPLICATE_KEY');
    this.#fill(this.#document.contents, [], env, (node, path, message) => {
      problems.push(this.#problem(start(node) ?? 0, path, message));
      broken ||= isAlias(node);
    });
    try {
      this.value = broken ? undefined : this.#document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch {
      // Every alias is known here, so the fault is aliases of aliases that multiply endlessly.
      broken = true;
      problems.push(this.#problem(0, [], 'Aliases (*name) are used too often'));
    }
    this.problems = problems;
    this.broken = broken;
  }

  /** A problem with the member at `path`: at its key, at its value, or at its parent if it is missing. */
  problemAt(path: Path, at: 'key' | 'value', message: string): Problem {
    return this.#problem(this.#offset(path, at), path, message);
  }

  /** The names of a map's members in the order of the file (a plain object puts names that look like numbers first). */
  keysAt(path: Path): readonly string[] {
    const node = path.length === 0 ? this.#document.contents : this.#document.getIn(path, true);
    const map = isAlias(node) ? this.#meant.get(node) : node;
    return isMap(map) ? map.items.map((item) => keyText(item.key)) : [];
  }

  /** @param offset UTF-16 units from the start of the text */
  #problem(offset: number, path: Path, message: string): Problem {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1), path: pathText(path), message };
  }

  /** Remembers an anchor, since the parser would walk through the whole file to resolve each alias. */
  #learn(node: unknown): void {
    if (isNode(node) && !isAlias(node) && node.anchor !== undefined) this.#anchors.set(node.anchor, node);
  }

  #fill(node: unknown, path: Path, env: NodeJS.ProcessEnv, report: Report): void {
    this.#learn(node);
    if (isMap(node)) {
      for (const pair of node.items) {
        this.#learn(pair.key);
        const name = keyText(pair.key);
        // A plain object would silently ignore this member.
        if (name === '__proto__') report(pair.key, [...path, name], 'is not an option');
        this.#fill(pair.value, [...path, name], env, report);
      }
    } else if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) this.#fill(item, [...path, index], env, report);
    } else if (isScalar(node) && typeof node.value === 'string' && node.value.includes('${')) {
      const text = fromEnvironment(node.value, env, (message) => report(node, path, message));
      node.value = node.type === 'PLAIN' ? typed(text) : text;
    } else if (isAlias(node)) {
      const meant = this.#anchors.get(node.source);
      if (meant !== undefined) this.#meant.set(node, meant);
      else report(node, path, 'An alias (*name) needs an anchor (&name) before it');
    }
  }

  /** The members of a map by name, the last one of a name: a file may have thousands with a problem. */
  #pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
    let pairs = this.#pairs.get(map);
    if (pairs === undefined)
      this.#pairs.set(map, (pairs = new Map(map.items.map((pair) => [keyText(pair.key), pair]))));
    return pairs;
  }

  #offset(path: Path, at: 'key' | 'value'): number {
    let node: unknown = this.#document.contents;
    let offset = 0;
    for (const step of path) {
      if (isAlias(node)) node = this.#meant.get(node);
      if (isMap(node)) {
        const pair = this.#pairsOf(node).get(String(step));
        if (!pair) return offset;
        offset = start(pair.key) ?? offset;
        node = pair.value;
      } else {
        const item: unknown = isSeq(node) ? node.items[Number(step)] : undefined;
        if (!item) return offset;
        offset = start(item) ?? offset;
        node = item;
      }
    }
    return (at === 'value' ? start(node) : undefined) ?? offset;
  }
}

type Report = (node: unknown, path: Path, message: string) => void;

function start(node: unknown): number | undefined {
  return isAlias(node) || isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : '';
}

/** Fills in variables as a shell does: with `:-`, an empty variable takes the default too. */
function fromEnvironment(text: string, env: NodeJS.ProcessEnv, report: (message: string) => void): string {
  return text.replace(VARIABLE, (_, name?: string, otherwise?: string) => {
    if (name === undefined) {
      report(`must name a variable as \${NAME} or \${NAME:-default}`);
      return '';
    }
    const value = otherwise === undefined ? env[name] : env[name] || otherwise;
    if (value === undefined) report(`uses the environment variable ${name}, which is not set`);
    return value ?? '';
  });
}

// The value of a text without quotes. It is not parsed as YAML again, so that a variable cannot contain structure.
function typed(text: string): string | number | boolean {
  if (/^-?[0-9]+(\.[0-9]+)?$/.test(text)) return Number(text);
  return text === 'true' || (text === 'false' ? false : text);
}

function pathText(path: Path): string {
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i > 0 ? `.${step}` : step)).join('');
}
