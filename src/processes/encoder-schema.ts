/**
 * An encoder whose secret was right, as the worker that accepted it passes it on (http/ingest/proven.ts), and one that the hub before this one had:
 * checked before its channel takes it.
 */

import { z } from 'zod';
import { bytesOf, framerState } from '../audio/frames/framer-schema.js';
import { KEY } from '../base/key.js';
import { type Checked, check, type Is, moment } from '../metadata/record-schema.js';
import type { SentConnection, SentEncoder } from './messages.js';

/** Of each text of a head, and of what was read after the head: more than limits.headBytes can be. */
const MAX_BYTES = 1024 * 1024;
const MAX_HEADERS = 10_000;
/** How far an encoder may be ahead of real time: ten times what sources.aheadSeconds can be. */
const MAX_AHEAD_MS = 600_000;

const text = z.string().max(MAX_BYTES);
const rest = bytesOf(MAX_BYTES);
const headers = z.map(text, text).refine(({ size }) => size <= MAX_HEADERS);
const address = z.string().max(256);
const connection = {
  address,
  channel: z.string().regex(KEY),
  path: text,
  connection: z.string().max(256).optional(),
};

const encoderSchema = z.discriminatedUnion('kind', [
  z.looseObject({
    ...connection,
    kind: z.literal('http'),
    head: z.looseObject({
      method: text,
      path: text,
      query: text,
      protocol: text,
      isLoose: z.boolean(),
      rest,
      headers,
    }),
  }),
  z.looseObject({ ...connection, kind: z.literal('shoutcast'), rest }),
]);

/** Null: it is malformed. */
export function readEncoder(value: unknown): SentEncoder | null {
  return check<SentEncoder>(encoderSchema, value).value;
}

const size = z.int().min(0);
/** source/dechunk.ts */
const body = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('bare') }),
  z.looseObject({ kind: z.literal('sized'), left: size }),
  z.looseObject({
    kind: z.literal('chunked'),
    state: z.enum(['size', 'extension', 'data', 'gap', 'trailers', 'end', 'broken']),
    size,
    digits: size,
    lineBytes: size,
    blank: z.boolean(),
    closed: z.boolean(),
  }),
]);

const connectionSchema = z.looseObject({
  channel: z.string().regex(KEY),
  place: z.looseObject({
    headers,
    address,
    sinceMs: moment,
    body,
    intake: z.looseObject({ framer: framerState, left: rest, noiseBytes: size }),
  }),
  ahead: rest,
  aheadMs: z.number().min(0).max(MAX_AHEAD_MS),
});

export function readConnection(value: unknown): Checked<SentConnection> {
  return check<SentConnection>(connectionSchema, value);
}

/** The compiler compares it with the type. */
export type ConnectionIsChecked = Is<SentConnection, z.output<typeof connectionSchema>>;
