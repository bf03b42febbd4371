/**
 * The operations, and the answers that they share, with their headers: each refusal of the table (base/refusal.ts) by its status, what every
 * address may answer whatever is asked, and CORS. Used by the parts of the OpenAPI document only.
 */

import { REFUSALS, type RefusalKind } from '../base/refusal.js';
import { type Json, TEXT } from './json.js';
import type { Schemas } from './schemas.js';

export const JSON_TYPE = 'application/json; charset=utf-8';
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** What is always there is `required`: clients may count on it, and the tests do. */
export const header = (description: string, schema = TEXT): Json => ({ description, required: true, schema });
export const optional = (description: string, schema = TEXT): Json => ({ description, required: false, schema });

export const RETRY_AFTER = header('Seconds to wait before a retry.', { ...TEXT, pattern: '^\\d+$' });
const ALLOW = header('The methods that this path supports.');
export const ANY_ORIGIN: Json = {
  'Access-Control-Allow-Origin': header('Pages of any origin may read this.', { const: '*' }),
};
/** Reads may be made by pages of any origin. */
export const CORS: Json = {
  ...ANY_ORIGIN,
  'Access-Control-Expose-Headers': header('The headers that such pages may read.'),
};
/** An address without the role for reads answers without them. */
export const CORS_WHERE_SERVED: Json = Object.fromEntries(
  Object.entries(CORS).map(([name, described]) => [name, { ...(described as Json), required: false }]),
);
export const NO_STORE: Json = { 'Cache-Control': header('Never cached.', { const: 'no-store' }) };

export const ETAG: Json = {
  ETag: header('A strong validator, for If-None-Match.', { ...TEXT, pattern: '^"' }),
};

export const content = (mediaType: string, schema: Json): Json => ({ [mediaType]: { schema } });
export const PROBLEM = content(PROBLEM_TYPE, { $ref: '#/components/schemas/Problem' });

/** The answer of an operation that has done what was asked. @param body its contents by their types */
export function ok(body: Json, headers = NO_STORE, description = 'OK'): Json {
  return { 200: { description, headers, content: body } };
}

/** What a refusal of this kind says here. @param headers beside its own */
export function refused(kind: RefusalKind, description: string, headers: Json = {}): Json {
  const retry = kind === 'unavailable' || kind === 'too-many' ? { 'Retry-After': RETRY_AFTER } : {};
  const allow = kind === 'method-not-allowed' ? { Allow: ALLOW } : {};
  return {
    [REFUSALS[kind].status]: {
      description,
      headers: { ...NO_STORE, ...retry, ...allow, ...headers },
      content: PROBLEM,
    },
  };
}

/** What any address may answer to anything. Where an operation has something to say of such a status, it has an answer of its own. */
export const ANYWHERE_BY_STATUS: Json = {
  ...refused('bad-request', 'The request is not HTTP, or its percent-encoding is broken. Unreadable fields are named.'),
  ...refused('not-found', 'There is nothing at this path, or this address does not serve it.'),
  ...refused('timeout', 'The request did not arrive in time.'),
  ...refused('head-too-large', 'The request line and its headers are too long.'),
  ...refused('internal', 'A server error; nothing was applied.'),
};

/** The same as one answer: all of them in each operation would be half of all answers of the document. */
export const ANYWHERE: Json = {
  default: {
    description: Object.entries(ANYWHERE_BY_STATUS as Readonly<Record<string, { readonly description: string }>>)
      .map(([status, { description }]) => `${status}: ${description}`)
      .join(' '),
    headers: NO_STORE,
    content: PROBLEM,
  },
};

/** What an operation may say of itself beside its answers. */
export interface More {
  readonly description?: string;
  readonly security?: readonly Json[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: Json;
}

/** @param operationId its name in generated clients @param responses beside those of ANYWHERE, or in their place */
export function operation(tag: string, operationId: string, summary: string, responses: Json, more: More = {}): Json {
  return { operationId, tags: [tag], summary, ...more, responses: { ...ANYWHERE, ...responses } };
}

/** What a route of fastify says of itself (http/methods.ts), called each time that a document is made. @param method in lower case */
export type RouteDocs = (all: Schemas, method: string) => Json;
