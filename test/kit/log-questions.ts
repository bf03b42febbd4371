/** What a node asks of what all nodes have in common (src/cluster/log/shared-log.ts), with what a test does not care for filled in. */

import type { AskedLease, Commit, Joining, LeaseQuestion } from '../../src/cluster/log/log-schema.js';

export function joining(said: Partial<Joining> = {}): Joining {
  return { freshEpoch: 'fresh', epoch: '', seq: 0, id: '', lastStamp: 0, ...said };
}

/** Of the version behind `before`. */
export function commitOf(said: Partial<Commit> = {}): Commit {
  const { before = 0 } = said;
  return {
    epoch: '',
    channel: 'x',
    before,
    version: before + 1,
    hasRecord: false,
    lastStamp: 0,
    ordered: '{}',
    history: '[]',
    id: '1',
    node: 'a',
    logEntries: 1000,
    ...said,
  };
}

export function leaseQuestion(node: string, url: string, ...leases: readonly AskedLease[]): LeaseQuestion {
  return { node, url, run: url, lastsMs: 5000, staleMs: 800, leases };
}

export function askedLease(channel: string, said: Partial<AskedLease> = {}): AskedLease {
  return { channel, wish: 1, rank: 0, facts: '', known: null, ...said };
}

/** All that a node may ask of an origin, with its arguments. */
export function questionsOf(channel: string) {
  return {
    timeMs: [],
    epoch: [],
    hello: [joining()],
    commit: [commitOf({ channel })],
    lease: [leaseQuestion('a', 'http://a', askedLease(channel))],
    last: [['a', 'b']],
    entriesAfter: [0, 2, 3],
    nodes: [],
    forget: [['a', 'b']],
  };
}
