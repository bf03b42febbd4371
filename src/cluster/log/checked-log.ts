/**
 * The answers of Redis or of an origin, checked before a node uses them. After one that fails, the connection is closed (shared-log.ts): a node that
 * cannot trust one of its answers trusts none. Entries and last values are checked where they are read (log-entry.ts).
 */

import { z } from 'zod';
import { CheckError, MAX_MOMENT_MS, must } from '../../metadata/record-schema.js';
import { MAX_NAME } from '../titles/ordered-schema.js';
import { type LogArgs, LogLost, type Reply, type SharedLog } from './shared-log.js';

/** Of one value, in characters: a channel's state with all the pushes that it holds, within a message of the link (../../link/wire/wire.ts). */
const MAX_TEXT = 64 * 1024 * 1024;
/** Channels, or nodes that are not forgotten yet, in one answer. */
const MAX_PAIRS = 200_000;

const name = z.string().max(MAX_NAME);
const counted = z.int().min(0);
const pairs = z.array(z.tuple([name, z.string().max(MAX_TEXT)])).max(MAX_PAIRS);

const ANSWERS = {
  timeMs: z.number().min(0).max(MAX_MOMENT_MS),
  epoch: name.nullable(),
  hello: z.tuple([name, counted, z.int().min(0).max(1)]),
  commit: z.tuple([z.enum(['ok', 'stale', 'done', 'epoch']), counted]),
  lease: z.array(z.string()).nullable(),
  last: pairs,
  nodes: pairs,
} as const;

/** The same log with its answers checked. Rejects with LogLost where one fails the check, and is lost then. */
export function checkedLog(log: SharedLog): SharedLog {
  const checked = async <T>(what: string, schema: z.ZodType<T>, answer: Promise<unknown>): Promise<T> => {
    const value = await answer;
    try {
      return must(schema, value);
    } catch (error) {
      if (!(error instanceof CheckError)) throw error;
      log.close();
      throw new LogLost(`the answer to ${what} cannot be read (${error.message})`);
    }
  };
  return {
    get isLost() {
      return log.isLost;
    },
    set onLost(onLost: (reason: Error) => void) {
      log.onLost = onLost;
    },
    close: () => log.close(),
    timeMs: () => checked('its time', ANSWERS.timeMs, log.timeMs()),
    epoch: () => checked('its epoch', ANSWERS.epoch, log.epoch()),
    hello: (args: LogArgs) => checked('a joining', ANSWERS.hello, log.hello(args)),
    commit: (args: LogArgs) => checked('a change', ANSWERS.commit, log.commit(args)),
    lease: (args: LogArgs) => checked<Reply>('leases', ANSWERS.lease, log.lease(args)),
    last: (channels) => checked('last values', ANSWERS.last, log.last(channels)),
    entriesAfter: (seq, most, waitMs) =>
      checked<readonly Reply[]>('entries', z.array(z.any()).max(most), log.entriesAfter(seq, most, waitMs)),
    nodes: () => checked('nodes', ANSWERS.nodes, log.nodes()),
    forget: (nodes) => log.forget(nodes),
  };
}
