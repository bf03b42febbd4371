/**
 * Every number in the configuration has two bounds, and its sentence names them: each bound is accepted, one past it is refused. The
 * numbers are found in the schema itself, so an option that is added is tested too.
 */

import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { configSchema } from '../../src/config/schema.js';

interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly const?: unknown;
}

type Path = readonly (string | number)[];

/** Where a number stands, and the members beside it that the schema asks for (the `type` of a source). */
interface NumberAt {
  readonly path: Path;
  readonly beside: readonly { readonly path: Path; readonly value: unknown }[];
}

function* numbersOf(schema: JsonSchema, path: Path, beside: NumberAt['beside']): Generator<NumberAt> {
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  // One of a few that are named has no bounds.
  if (isNumber && schema.const === undefined) yield { path, beside };
  const fixed = Object.entries(schema.properties ?? {})
    .filter(([, { const: value }]) => value !== undefined)
    .map(([name, { const: value }]) => ({ path: [...path, name], value }));
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    yield* numbersOf(inner, [...path, name], [...beside, ...fixed]);
  }
  if (typeof schema.additionalProperties === 'object') {
    yield* numbersOf(schema.additionalProperties, [...path, 'key'], beside);
  }
  if (schema.items !== undefined) yield* numbersOf(schema.items, [...path, 0], beside);
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) yield* numbersOf(one, path, beside);
}

/** A document with nothing but this member, and those beside it. */
function documentWith(members: readonly { readonly path: Path; readonly value: unknown }[]): unknown {
  const root: Record<string | number, unknown> = {};
  for (const { path, value } of members) {
    let at = root;
    for (const [i, step] of path.slice(0, -1).entries()) {
      at = (at[step] ??= typeof path[i + 1] === 'number' ? [] : {}) as typeof root;
    }
    at[path.at(-1)!] = value;
  }
  return root;
}

t.test('each bound is accepted, and one past it is refused', async (t) => {
  const schema = configSchema({ env: {}, folder: join(import.meta.dirname, '..') });
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const numbers = [...numbersOf(json, [], [])];
  /** What is wrong with this value at this place alone; other members of the document may be missing. */
  const problemOf = ({ path, beside }: NumberAt, value: unknown): string | undefined => {
    const issues = schema.safeParse(documentWith([...beside, { path, value }])).error?.issues ?? [];
    const own = issues.filter((issue) => issue.code !== 'custom' && issue.path.join('.') === path.join('.'));
    return own[0]?.message;
  };
  for (const number of numbers) {
    const name = number.path.join('.');
    const sentence = problemOf(number, 'a text') ?? '';
    const [, least, most] = (/ from (-?[\d.]+) to ([\d.]+)/.exec(sentence) ?? []).map(Number);
    if (least === undefined || most === undefined) {
      t.fail(`${name}: its sentence names no bounds: ${sentence}`);
      continue;
    }
    const step = sentence.includes('whole number') || sentence.includes('port') ? 1 : 0.001;
    const refused = [least - step, least, most, most + step].map((value) => problemOf(number, value) !== undefined);
    t.same(refused, [true, false, false, true], `${name}: ${sentence}`);
    if (step === 1) t.ok(problemOf(number, least + 0.5) !== undefined, `${name}: whole`);
  }
  t.ok(numbers.length > 80, `${numbers.length} numbers`);
});

/** Each place at which something may stand. */
function* placesOf(schema: JsonSchema, path: Path, beside: NumberAt['beside']): Generator<NumberAt> {
  if (path.length > 0) yield { path, beside };
  const members = Object.entries(schema.properties ?? {});
  const fixed = members
    .filter(([, { const: value }]) => value !== undefined)
    .map(([name, { const: value }]) => ({ path: [...path, name], value }));
  for (const [name, inner] of members) yield* placesOf(inner, [...path, name], [...beside, ...fixed]);
  if (typeof schema.additionalProperties === 'object')
    yield* placesOf(schema.additionalProperties, [...path, 'key'], beside);
  if (schema.items !== undefined) yield* placesOf(schema.items, [...path, 0], beside);
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) yield* placesOf(one, path, beside);
}

t.test('whatever stands somewhere, what is said of it is a sentence of ours', async (t) => {
  const schema = configSchema({ env: {}, folder: join(import.meta.dirname, '..') });
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const values = [null, 'x y\u0001', -1, true, [], {}, [null], ['a', 'b', 'c', 'd'], { a: 1 }, 'x'.repeat(70_000)];
  const theirs = new Set<string>();
  for (const { path, beside } of placesOf(json, [], [])) {
    for (const value of values) {
      const { error } = schema.safeParse(documentWith([...beside, { path, value }]));
      for (const { message, path } of error?.issues ?? [])
        if (/^(Invalid|Too|Unrecognized|Expected)/.test(message)) theirs.add(`${path.join('.')}: ${message}`);
    }
  }
  t.same([...theirs], []);
});
