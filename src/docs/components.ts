/**
 * Makes the OpenAPI document small: a response, a parameter or a header that stands in it more than once, and each schema with a
 * `title`, goes to `components`, and a `$ref` stands where it was. The parts of the document (the other files here) write everything
 * out, which is how tests read them; written out, three quarters of the document were the same few refusals.
 *
 * A component is named by what it is (the kind of the refusal, the name of the parameter or header), and where it belongs to one or
 * two tags only, by these too: `NotFound`, `NotFoundEncode`, `channelkeyAdmin`. A schema is named by its title. The same document
 * always gets the same names.
 */

import { STATUS_CODES } from 'node:http';
import { REFUSALS } from '../base/refusal.js';
import type { Json } from './json.js';

type ByName = Readonly<Record<string, Json>>;

interface Operation extends Json {
  readonly tags: readonly string[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: Json;
  readonly responses: ByName;
}

/** A path with its operations by method. */
interface PathItem extends Json {
  readonly parameters?: readonly Json[];
}

interface Part {
  readonly base: string;
  readonly tags: Set<string>;
  readonly json: Json;
  places: number;
}

/** The parts of one kind: those that are alike are one. First all of them are added, then asked for. */
class Shared {
  readonly #kind: string;
  readonly #parts = new Map<string, Part>();
  #names: ReadonlyMap<string, string> | null = null;

  constructor(kind: string) {
    this.#kind = kind;
  }

  /** @param isPlace whether this is one more place where the part stands. Returns whether it is a new part. */
  add(base: string, json: Json, tags: Iterable<string>, isPlace = true): boolean {
    const text = JSON.stringify(json);
    const known = this.#parts.get(text);
    const part = known ?? { base: base.replace(/\W/g, ''), tags: new Set<string>(), json, places: 0 };
    for (const tag of tags) part.tags.add(tag);
    if (isPlace) part.places++;
    this.#parts.set(text, part);
    return known === undefined;
  }

  /** What stands where the part was: where it is to be found, or itself, changed within. */
  placed(json: Json, within: (json: Json) => Json = (json) => json): Json {
    const name = this.#named().get(JSON.stringify(json));
    return name === undefined ? within(json) : reference(this.#kind, name);
  }

  /** By name, in the order of first use. @param within what is changed within each */
  components(within: (json: Json) => Json = (json) => json): Json {
    return Object.fromEntries([...this.#named()].map(([text, name]) => [name, within(this.#parts.get(text)!.json)]));
  }

  #named(): ReadonlyMap<string, string> {
    if (this.#names !== null) return this.#names;
    const names = new Map<string, string>();
    const taken = new Set<string>();
    for (const [text, { base, tags, places }] of this.#parts) {
      if (places < 2) continue;
      const name = tags.size > 2 ? base : base + [...tags].join('');
      let free = name;
      for (let number = 2; taken.has(free); number++) free = name + number;
      taken.add(free);
      names.set(text, free);
    }
    this.#names = names;
    return names;
  }
}

/** Schemas by their titles. */
class Titled {
  readonly #schemas: Record<string, Json>;

  /** @param known those that have a name already */
  constructor(known: ByName) {
    this.#schemas = { ...known };
  }

  /**
   * A schema, or what holds some, with references to those within that have a title.
   * @throws Error where another schema has the same title
   */
  placed<T>(json: T): T {
    if (Array.isArray(json)) return json.map((each) => this.placed(each)) as T;
    if (typeof json !== 'object' || json === null) return json;
    const { title } = json as Json;
    const rest = Object.fromEntries(Object.entries(json).map(([name, each]) => [name, this.placed(each)]));
    if (typeof title !== 'string') return rest as T;
    const name = pascal(title);
    const known = this.#schemas[name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(rest)) throw new Error(`two schemas: ${title}`);
    this.#schemas[name] = rest;
    return reference('schemas', name) as T;
  }

  get schemas(): Json {
    return this.#schemas;
  }
}

const reference = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });
const pascal = (words: string) => words.replace(/(?:^|\W+)(\w)/g, (_, letter: string) => letter.toUpperCase());
const KINDS = Object.entries(REFUSALS);

/** The first kind of refusals with this status, else its phrase. */
function statusName(status: string): string {
  const kind = KINDS.find(([, each]) => String(each.status) === status)?.[0];
  return pascal(kind ?? STATUS_CODES[status] ?? status);
}

function operationsOf(path: PathItem): [string, Operation][] {
  return Object.entries(path).filter(([name]) => name !== 'parameters') as [string, Operation][];
}

function mapped(parts: ByName, change: (json: Json) => Json): Json {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part)]));
}

/**
 * @param paths of an OpenAPI document, everything written out but the schemas of `schemas`
 * @returns the same paths with references, and the components that these name, `schemas` first
 * @throws Error where two different schemas have one title
 */
export function hoisted(paths: Json, schemas: ByName): { readonly paths: Json; readonly components: Json } {
  const [responses, parameters, headers] = [new Shared('responses'), new Shared('parameters'), new Shared('headers')];
  const titled = new Titled(schemas);
  for (const path of Object.values(paths) as PathItem[]) {
    const all = operationsOf(path);
    const tags = all.flatMap(([, operation]) => operation.tags);
    for (const each of path.parameters ?? []) parameters.add(String(each['name']), each, tags);
    for (const [, operation] of all) {
      for (const each of operation.parameters ?? []) parameters.add(String(each['name']), each, operation.tags);
      for (const [status, each] of Object.entries(operation.responses)) {
        const isNew = responses.add(statusName(status), each, operation.tags);
        for (const [name, header] of Object.entries((each['headers'] ?? {}) as ByName)) {
          headers.add(name, header, operation.tags, isNew);
        }
      }
    }
  }
  /** With references to its headers and schemas. */
  const short = ({ headers: own, content, ...rest }: Json): Json => ({
    ...rest,
    ...(own === undefined ? {} : { headers: mapped(own as ByName, (header) => headers.placed(header)) }),
    ...(content === undefined ? {} : { content: titled.placed(content) }),
  });
  const placedParameters = ({ parameters: own }: PathItem) =>
    own === undefined || own.length === 0 ? {} : { parameters: own.map((each) => parameters.placed(each)) };
  return {
    paths: mapped(paths as ByName, (path) => ({
      ...placedParameters(path),
      ...Object.fromEntries(
        operationsOf(path).map(([method, { requestBody, parameters: _, ...operation }]) => [
          method,
          {
            ...operation,
            ...placedParameters(path[method] as Operation),
            ...(requestBody === undefined ? {} : { requestBody: titled.placed(requestBody) }),
            responses: mapped(operation.responses, (response) => responses.placed(response, short)),
          },
        ]),
      ),
    })),
    components: {
      responses: responses.components(short),
      parameters: parameters.components(),
      headers: headers.components(),
      schemas: titled.schemas,
    },
  };
}
