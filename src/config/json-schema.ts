/**
 * The configuration as a JSON Schema (draft 7) for editors: the zod schema with the comments of config/example.yaml as descriptions, and `${NAME}`
 * wherever it is allowed. It lacks checks by code (files, secrets, rules between members), which `airsplice check` makes.
 */

import { isMap, isScalar, isSeq, type Node, type Pair, parseDocument } from 'yaml';
import * as z from 'zod';
import { configSchema } from './schema.js';

/** A node of a JSON Schema. */
export type SchemaNode = { [keyword: string]: unknown };

const VARIABLE = 'variable';
const VARIABLE_REF = { $ref: `#/definitions/${VARIABLE}` };

/** @param example the text of config/example.yaml, which has every option */
export function jsonSchema(example: string): SchemaNode {
  const schema = z.toJSONSchema(configSchema({ env: {}, folder: '/' }), {
    io: 'input',
    target: 'draft-7',
  }) as SchemaNode;
  const root = parseDocument(example).contents;
  return {
    ...explained(schema, root),
    title: 'A configuration of airsplice',
    definitions: {
      [VARIABLE]: {
        description: `From the environment: \${NAME}, or \${NAME:-default}.`,
        type: 'string',
        pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}',
      },
    },
  };
}

/** The schema of a member, with descriptions for all its members. @param node the member in the example */
function explained(schema: SchemaNode, node: unknown): SchemaNode {
  const { properties, additionalProperties, items, anyOf, oneOf } = schema;
  const variants = (anyOf ?? oneOf) as readonly SchemaNode[] | undefined;
  if (variants !== undefined) {
    const mapped = variants.map((variant) => explainedVariant(variant, node));
    const allowed = variants.some(needsVariable)
      ? [...mapped.filter((each) => each !== VARIABLE_REF), VARIABLE_REF]
      : mapped;
    return { ...schema, [anyOf === undefined ? 'oneOf' : 'anyOf']: allowed };
  }
  if (properties !== undefined) {
    const members = Object.entries(properties as Record<string, SchemaNode>).map(([name, member]) => {
      const found = pairOf(node, name);
      const comment = commentOf(node, found);
      // Editors need a bare constant to recognise the kind of source.
      const below = name === 'type' ? member : explained(member, found?.value);
      return [name, comment === '' ? below : { ...below, description: comment }];
    });
    return { ...schema, properties: Object.fromEntries(members) };
  }
  if (typeof additionalProperties === 'object') {
    const first = isMap(node) ? (node.items[0] as Pair<Node, Node> | undefined)?.value : undefined;
    return { ...schema, additionalProperties: explained(additionalProperties as SchemaNode, first) };
  }
  if (items !== undefined) return { ...schema, items: explainedItems(items as SchemaNode, node) };
  return needsVariable(schema) ? withVariable(schema) : schema;
}

/** One of several forms; the variable is added once, as another form. */
function explainedVariant(variant: SchemaNode, node: unknown): SchemaNode {
  return needsVariable(variant) ? variant : explained(variant, node);
}

/** Describes the items of a list by the example's item of their kind, or else by all items together. */
function explainedItems(items: SchemaNode, node: unknown): SchemaNode {
  const nodes = isSeq(node) ? node.items : [];
  const kinds = (items['oneOf'] ?? items['anyOf']) as readonly SchemaNode[] | undefined;
  if (kinds?.every((kind) => typeOf(kind) !== undefined)) {
    const name = items['oneOf'] === undefined ? 'anyOf' : 'oneOf';
    const mapped = kinds.map((kind) => {
      const item = nodes.find((each) => isMap(each) && each.get('type') === typeOf(kind));
      // A comment above the first item belongs to the list.
      const above = item !== undefined && item === nodes[0] ? [(node as Node).commentBefore] : [];
      const description = [...above, (item as Node | undefined)?.commentBefore].map(textOf).join(' ').trim();
      return { ...explained(kind, item), ...(description === '' ? {} : { description }) };
    });
    return { ...items, [name]: mapped };
  }
  // Later items describe the members that the first one lacks.
  return nodes.reduceRight<SchemaNode>(
    (schema, item) => explained(schema, item),
    nodes.length === 0 ? explained(items, undefined) : items,
  );
}

function typeOf(kind: SchemaNode): unknown {
  const { type } = (kind['properties'] ?? {}) as Record<string, SchemaNode>;
  return type?.['const'];
}

/** Whether the schema would reject `${NAME}`. */
function needsVariable({ type, enum: values, const: value, pattern, format }: SchemaNode): boolean {
  const isNumber = type === 'integer' || type === 'number' || type === 'boolean';
  return isNumber || values !== undefined || value !== undefined || pattern !== undefined || format !== undefined;
}

function withVariable({ default: preset, ...schema }: SchemaNode): SchemaNode {
  return { ...(preset === undefined ? {} : { default: preset }), anyOf: [schema, VARIABLE_REF] };
}

function pairOf(node: unknown, name: string): Pair<Node, Node> | undefined {
  return isMap(node)
    ? (node.items as Pair<Node, Node>[]).find(({ key }) => isScalar(key) && key.value === name)
    : undefined;
}

/** The comments above and after a member. The comment above the first member is the map's. */
function commentOf(map: unknown, pair: Pair<Node, Node> | undefined): string {
  if (pair === undefined || !isMap(map)) return '';
  const above = [map.items[0] === pair ? map.commentBefore : '', pair.key.commentBefore];
  return [...above, pair.value?.comment]
    .map(textOf)
    .filter((text) => text !== '')
    .join(' ');
}

/** The last paragraph of a comment is the member's. */
function textOf(comment: string | null | undefined): string {
  return (comment ?? '').split('\n\n').at(-1)!.replace(/\s+/g, ' ').trim();
}
