/** An encoder whose secret was right, as the worker that accepted it passes it on (http/ingest/proven.ts): checked before its channel takes it. */

import { z } from 'zod';
import { KEY } from '../base/key.js';
import { check } from '../metadata/record-schema.js';
import type { SentEncoder } from './messages.js';

/** Of each text of a head, and of what was read after the head: more than limits.headBytes can be. */
const MAX_BYTES = 1024 * 1024;
const MAX_HEADERS = 10_000;

const text = z.string().max(MAX_BYTES);
const rest = z.instanceof(Buffer).refine(({ length }) => length <= MAX_BYTES);
const connection = {
  address: z.string().max(256),
  channel: z.string().regex(KEY),
  path: text,
  connection: z.string().max(256).optional(),
};

const encoderSchema = z.discriminatedUnion('kind', [
  z.looseObject({
    ...connection,
    kind: z.literal('http'),
    head: z.looseObject({
      ...{ method: text, path: text, query: text, protocol: text, isLoose: z.boolean(), rest },
      headers: z.map(text, text).refine(({ size }) => size <= MAX_HEADERS),
    }),
  }),
  z.looseObject({ ...connection, kind: z.literal('shoutcast'), rest }),
]);

/** Null: it is malformed. */
export function readEncoder(value: unknown): SentEncoder | null {
  return check<SentEncoder>(encoderSchema, value).value;
}
