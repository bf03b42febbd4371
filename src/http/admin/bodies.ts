/**
 * Bodies and queries of the admin interface, parsed into typed values; a refusal names every bad field. The values are passed on to other processes,
 * which must accept them (admin/admin-schema.ts): if not, that is a fault of the server. The API document describes them by the same schemas.
 */

import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { listenerId, MAX_ROWS } from '../../admin/rows.js';
import { plainNetwork } from '../../base/ip.js';
import { Refusal } from '../../base/refusal.js';
import { queryOf } from '../../base/request-target.js';
import { channelKey, network, text, whole } from '../../config/field.js';
import { cleanText } from '../../metadata/text.js';

const DAY_SECONDS = 86_400;
const channel = channelKey();
/** Cleaned as by the link, so that it selects the same in all processes. A blank one would select every agent. */
const agent = text(1, 200)
  .transform(cleanText)
  .refine((value) => value !== '', { error: 'must not be blank' })
  .describe('A part of the user agent, case-insensitive.');

const filter = {
  ids: z.array(listenerId).max(1000).optional(),
  channel: channel.optional(),
  address: network().describe('An address or a network.').optional(),
  agent: agent.optional(),
};

/** A filter without any member is a mistake. */
const named = <T extends Record<string, unknown>>(value: T) =>
  ['ids', 'channel', 'address', 'agent'].some((name) => value[name] !== undefined);
const NAMED = { error: 'at least one of ids, channel, address and agent is required' };

export const END = z.strictObject(filter).refine(named, NAMED).meta({ minProperties: 1 });
export const MOVE = z
  .strictObject({ ...filter, to: channel })
  .refine(named, NAMED)
  .meta({ minProperties: 2 });
export const MOVE_ENCODER = z.strictObject({
  to: channel.describe('A channel that accepts an encoder, and has none now.'),
});
export const SOURCE = z.strictObject({ place: whole(0, 1000) });
/** A network, in its canonical spelling. */
export const NETWORK = network().transform(plainNetwork);
export const BLOCK = z.strictObject({
  network: NETWORK,
  seconds: whole(1, 3650 * DAY_SECONDS),
  reason: text(0, 200).default(''),
});
export const FALLBACK = z.strictObject({
  to: text(1, 255).regex(/^\//, { error: 'must be a mount, such as /b' }).describe('A mount of another channel.'),
});
export const TOKEN = z.strictObject({ name: text(1, 64) });
/** `keepSeconds`: how long the old token remains valid. */
export const ROTATE = z.strictObject({ keepSeconds: whole(0, 30 * DAY_SECONDS).default(0) });

/** A number in a query, which is text: the document has the type and the bounds of the number. */
const number = (minimum: number, maximum: number, preset: number, description: string) =>
  z.coerce
    .number()
    .pipe(whole(minimum, maximum))
    .default(preset)
    .meta({ description, type: 'integer', minimum, maximum });
const limit = number(1, 1000, 100, 'The maximum number of rows.');
const only = { channel: channel.describe('Only this channel.').optional() };
export const LISTENERS = z
  .strictObject({
    ...only,
    address: filter.address,
    agent: filter.agent,
    limit,
    offset: number(0, MAX_ROWS, 0, 'Number of rows to skip.'),
  })
  .refine(({ offset, limit }) => offset + limit <= MAX_ROWS, {
    path: ['offset'],
    error: `must be at most ${MAX_ROWS} together with limit`,
  });
export const SESSIONS = z.strictObject({ ...only, limit });
export const WATCHERS = z.strictObject({ limit });
export const LOG = z.strictObject({ lines: number(0, 10_000, 100, 'Number of past lines to send first.') });

/** A JSON body; a missing one counts as {}. @throws Refusal bad-request, invalid */
export function bodyOf<T extends z.ZodType>(schema: T, { body }: FastifyRequest): z.output<T> {
  const bytes = body as Buffer | undefined;
  let value: unknown = {};
  try {
    if (bytes !== undefined && bytes.length > 0) value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Refusal('bad-request', 'The body is not JSON.');
  }
  return parsed(schema, value);
}

/** The parameters of the address. @throws Refusal invalid */
export function parametersOf<T extends z.ZodType>(schema: T, { url }: FastifyRequest): z.output<T> {
  return parsed(schema, Object.fromEntries(new URLSearchParams(queryOf(url))));
}

function parsed<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }) => ({ field: path.join('.'), message }));
  throw new Refusal('invalid', 'Some fields are missing or invalid.', { errors });
}
