/**
 * The members of a server's records (src/metadata/README.md) and problems that commands use, checked here, since any server may be answering.
 */

import * as z from 'zod';

/** A record in a channel's or station's feed. */
const feedRecord = z.object({ type: z.string(), code: z.string(), rawdata: z.string(), duration: z.number() });
/** A record in a listener's feed; `position` is milliseconds of audio as text, "" for a next. */
const listenerRecord = z.object({ type: z.string(), rawdata: z.string(), time: z.string(), position: z.string() });
/** The answer to a push. */
const pushedRecord = z.object({ artist: z.string(), song: z.string(), separator: z.string() });

/** A problem (RFC 9457) with the invalid fields. */
const NO_REASON = 'not accepted';
const problem = z.object({
  detail: z.string().catch(NO_REASON),
  errors: z.array(z.object({ field: z.string(), message: z.string() })).catch([]),
});

export type FeedRecord = z.output<typeof feedRecord>;
export type ListenerRecord = z.output<typeof listenerRecord>;
export type PushedRecord = z.output<typeof pushedRecord>;
export type PushProblem = z.output<typeof problem>;

export const readFeedRecord = (value: unknown): FeedRecord => read(feedRecord, value);
export const readListenerRecord = (value: unknown): ListenerRecord => read(listenerRecord, value);
export const readPushedRecord = (value: unknown): PushedRecord => read(pushedRecord, value);

/** Accepts anything, since a proxy may have answered. */
export const readProblem = (value: unknown): PushProblem =>
  problem.catch({ detail: NO_REASON, errors: [] }).parse(value);

/** Throws an Error that names the member. */
function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data as T;
  const { path, message } = error.issues[0]!;
  throw new Error(`the server sent an invalid title record (${[...path, message].join(': ')})`);
}
