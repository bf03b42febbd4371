/**
 * Checks the answers of Redis or of an origin. A malformed answer closes the connection, as the others cannot be trusted either. Entries and last
 * values are checked where they are read (log-entry.ts).
 */

import type { z } from 'zod';
import { CheckError, must } from '../../metadata/record-schema.js';
import { ANSWERS } from './log-schema.js';
import { LogLost, type SharedLog } from './shared-log.js';

/** The same log with its answers checked: a malformed one rejects with LogLost, and the log is lost. It asks until it has all last values. */
export function checkedLog(log: SharedLog): SharedLog {
  const checked = async <T>(what: string, schema: z.ZodType<T>, answer: Promise<unknown>): Promise<T> => {
    const value = await answer;
    try {
      return must(schema, value);
    } catch (error) {
      if (!(error instanceof CheckError)) throw error;
      log.close();
      throw new LogLost(`the answer to ${what} is unreadable (${error.message})`);
    }
  };
  return {
    get isLost() {
      return log.isLost;
    },
    close: (reason) => log.close(reason),
    timeMs: () => checked('its time', ANSWERS.timeMs, log.timeMs()),
    epoch: () => checked('its epoch', ANSWERS.epoch, log.epoch()),
    hello: (joining) => checked('a joining', ANSWERS.hello, log.hello(joining)),
    commit: (change) => checked('a change', ANSWERS.commit, log.commit(change)),
    lease: (asked) => checked('leases', ANSWERS.lease, log.lease(asked)),
    last: async (channels) => {
      const all: (readonly [channel: string, text: string])[] = [];
      for (let rest = channels; rest.length > 0; ) {
        const some = await checked('last values', ANSWERS.last, log.last(rest));
        const index = rest.lastIndexOf(some.at(-1)?.[0] ?? '');
        // All that it has; or channels that were not asked for.
        if (index === -1) break;
        all.push(...some);
        rest = rest.slice(index + 1);
      }
      return all;
    },
    entriesAfter: (seq, most, waitMs) =>
      checked('entries', ANSWERS.entriesAfter.max(most), log.entriesAfter(seq, most, waitMs)),
    nodes: () => checked('nodes', ANSWERS.nodes, log.nodes()),
    forget: (nodes) => log.forget(nodes),
  };
}
