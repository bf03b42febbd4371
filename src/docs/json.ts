/** JSON as a document holds it, and the shapes that its schemas are made of. */

/** A part of a document: JSON, to be read only. */
export interface Json {
  readonly [name: string]: unknown;
}

export const TEXT: Json = { type: 'string' };
const FLAG: Json = { type: 'boolean' };
export const NUMBER: Json = { type: 'number' };
export const COUNT: Json = { type: 'integer', minimum: 0 };

/** What a member is, for people. */
export const text = (description: string): Json => ({ ...TEXT, description });
export const flag = (description: string): Json => ({ ...FLAG, description });
export const number = (description: string): Json => ({ ...NUMBER, description });
export const count = (description: string): Json => ({ ...COUNT, description });

export const list = (items: Json, description?: string): Json => ({
  type: 'array',
  items,
  ...(description !== undefined && { description }),
});

export const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] });

/** All members are there. */
export const object = (properties: Readonly<Record<string, Json>>): Json => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});

/** The same with a name in the OpenAPI document (components.ts). */
export const titled = (title: string, properties: Readonly<Record<string, Json>>): Json => ({
  title,
  ...object(properties),
});
