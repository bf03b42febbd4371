/**
 * The answers that operations share, and their headers: each refusal of the table (base/refusal.ts) by its status, what every address
 * may answer whatever is asked, and CORS. Used by openapi.ts only.
 */

import { REFUSALS, type RefusalKind } from '../base/refusal.js';
import type { Json } from './schemas.js';

export const JSON_TYPE = 'application/json; charset=utf-8';
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** What is always there is `required`: clients may count on it, and the tests do. */
export function header(description: string, schema: Json = { type: 'string' }, required = true): Json {
  return { description, required, schema };
}

const RETRY_AFTER = header('Seconds until it makes sense to come again.', { type: 'string', pattern: '^\\d+$' });
const ALLOW = header('The methods that this address takes.');
/** Reads may be made by pages of any origin. */
export const CORS: Json = {
  'Access-Control-Allow-Origin': header('Pages of any origin may read this.', { const: '*' }),
  'Access-Control-Expose-Headers': header('The headers that such pages may read.'),
};
/** An address that does not serve reads at all answers without them. */
export const CORS_WHERE_SERVED: Json = Object.fromEntries(
  Object.entries(CORS).map(([name, described]) => [name, { ...(described as Json), required: false }]),
);
export const NO_STORE: Json = { 'Cache-Control': header('Never kept.', { const: 'no-store' }) };

/** What a refusal of this kind says here. @param headers beside its own */
export function refused(kind: RefusalKind, description: string, headers: Json = {}): Json {
  const retry = kind === 'unavailable' || kind === 'too-many' ? { 'Retry-After': RETRY_AFTER } : {};
  const allow = kind === 'method-not-allowed' ? { Allow: ALLOW } : {};
  return {
    [REFUSALS[kind].status]: {
      description,
      headers: { ...NO_STORE, ...retry, ...allow, ...headers },
      content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  };
}

/** What any address may answer to anything. Where an operation has something to say of such a status, it has an answer of its own. */
export const ANYWHERE_BY_STATUS: Json = {
  ...refused(
    'bad-request',
    'This is not HTTP, or has a broken percent-encoding. Fields that cannot be read are named.',
  ),
  ...refused('not-found', 'There is nothing here, or this address does not serve it.'),
  ...refused('timeout', 'The request did not come in time.'),
  ...refused('head-too-large', 'The request line and its headers are too long.'),
  ...refused('internal', 'A fault of ours; nothing was applied.'),
};

/** The same as one answer: all of them in each operation would be half of all answers of the document. */
export const ANYWHERE: Json = {
  default: {
    description: Object.entries(ANYWHERE_BY_STATUS as Readonly<Record<string, { readonly description: string }>>)
      .map(([status, { description }]) => `${status}: ${description}`)
      .join(' '),
    headers: NO_STORE,
    content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
  },
};
