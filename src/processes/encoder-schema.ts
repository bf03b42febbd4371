/**
 * Checks encoders that other processes pass to the hub before a channel takes them: authenticated ones from workers (http/ingest/proven.ts), and
 * connections that the previous hub hands over.
 */

import * as z from 'zod';
import { framerState } from '../audio/frames/framer-schema.js';
import { KEY } from '../base/key.js';
import { bytes, decode, mapOf } from '../metadata/codec.js';
import { type Checked, type Is, moment, must } from '../metadata/record-schema.js';
import type { SentConnection, SentEncoder, SocketLetter } from './messages.js';

/** The limit of each text of a head and of what was read after it, bytes: more than limits.headBytes can be. */
const MAX_BYTES = 1024 * 1024;
const MAX_HEADERS = 10_000;
/** How far an encoder may be ahead of real time: ten times the maximum of sources.aheadSeconds. */
const MAX_AHEAD_MS = 600_000;

type Letter = Pick<SocketLetter, 'text' | 'ahead'>;

const text = z.string().max(MAX_BYTES);
const rest = bytes(MAX_BYTES);
/** net/front/request-head.ts, SentHeaders */
const head = { headers: mapOf(text, MAX_HEADERS), foreign: mapOf(rest, MAX_HEADERS).optional() };
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
      ...head,
    }),
  }),
  z.looseObject({ ...connection, kind: z.literal('shoutcast'), rest }),
]);

/** Returns the encoder with the bytes that other processes have read from its socket, or what is wrong with the message. */
export function readEncoder(letter: Letter): Checked<SentEncoder> {
  return read(encoderSchema, letter, (encoder: SentEncoder, ahead) => withRest(encoder, ahead));
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
  position: z.looseObject({
    ...head,
    address,
    sinceMs: moment,
    body,
    intake: z.looseObject({ framer: framerState, left: rest, noiseBytes: size }),
  }),
  aheadMs: z.number().min(0).max(MAX_AHEAD_MS),
});

export function readConnection(letter: Letter): Checked<SentConnection & { readonly ahead: Buffer }> {
  return read(connectionSchema, letter, (connection: SentConnection, ahead) => ({ ...connection, ahead }));
}

function read<T, R>(schema: z.ZodType<T>, { text, ahead }: Letter, join: (value: T, ahead: Buffer) => R): Checked<R> {
  try {
    return { value: join(decode(schema, text), must(rest, ahead)), bad: null };
  } catch (error) {
    return { value: null, bad: (error as Error).message };
  }
}

function withRest(encoder: SentEncoder, more: Buffer): SentEncoder {
  if (more.length === 0) return encoder;
  if (encoder.kind === 'shoutcast') return { ...encoder, rest: Buffer.concat([encoder.rest, more]) };
  const { head } = encoder;
  return { ...encoder, head: { ...head, rest: Buffer.concat([head.rest, more]) } };
}

/** Fails to compile if the schema does not match the type. */
export type ConnectionIsChecked = Is<SentConnection, z.output<typeof connectionSchema>>;
