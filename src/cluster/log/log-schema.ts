/** The requests of a node to the shared log (shared-log.ts), and the answers. Both are checked by the receiver: an origin, or a node. */

import * as z from 'zod';
import { NODE_NAME } from '../../config/cluster-config.js';
import { MAX_MOMENT_MS } from '../../metadata/record-schema.js';
import { MAX_NAME } from '../titles/ordered-schema.js';

/** Maximum number of channels, or nodes, in one message; some nodes may be gone and not forgotten yet. */
const MAX_NAMES = 200_000;
export const MAX_URL = 1024;
/** Maximum length of a value, in characters: a channel's state with all held pushes, within a message of the link (../../link/wire/wire.ts). */
const MAX_TEXT = 64 * 1024 * 1024;
/** Maximum length of the facts of a channel, in characters. */
export const MAX_FACTS = 1024 * 1024;
/** Maximum of epochs, and of versions of facts, which follow the clock of Redis. */
const MAX_NUMBER = 10 ** 15;
/** Maximum of one read of the log: more entries, and a longer wait, than a node asks for (../titles/node-link.ts). */
const MAX_ENTRIES = 1000;
const MAX_WAIT_MS = 60_000;

const name = z.string().max(MAX_NAME);
const names = z.array(name).max(MAX_NAMES).readonly();
const counted = z.int().min(0);
const number = counted.max(MAX_NUMBER);
const facts = z.string().max(MAX_FACTS);

/** A node that joins. */
const joining = z.object({
  /** The new epoch, used if there is none to continue. */
  freshEpoch: name,
  /** The epoch that the node knows, its position in that log, and the id of the change there; `''`: none. */
  epoch: name,
  seq: counted,
  id: name,
  /** The last stamp that it knows (feed/sequence.ts). */
  lastStamp: counted,
});

const joinAnswer = z.object({
  epoch: name,
  /** The number of the log's last entry. */
  seq: counted,
  /** Whether the node's position is still in the log. */
  goesOn: z.boolean(),
});

/** A change. */
const commit = z.object({
  epoch: name,
  channel: name,
  /** The version on which it was decided, and the one that it makes. */
  before: counted,
  version: counted,
  /** Whether it gets a stamp, and the last stamp that the node knows. */
  hasRecord: z.boolean(),
  lastStamp: counted,
  /** The common state, and entries of the history, encoded (../titles/log-entry.ts). */
  ordered: z.string(),
  history: z.string(),
  id: name,
  node: name,
  /** How many entries the log keeps at least. */
  logEntries: counted,
});

const commitAnswer = z.object({
  /** `ok`: it is in the log; `stale`: the channel has another version; `done`: it was in the log already; `epoch`: the epoch is another. */
  verdict: z.enum(['ok', 'stale', 'done', 'epoch']),
  /** The number of the log's last entry; `stale`: that version; `epoch`: 0. */
  number: counted,
});

const askedLease = z.object({
  channel: name,
  /**
   * 0: does not want it. 1: only if no node has it. 2: a source is on air here, or about to be. 3: the same, and the owner cannot be reached.
   * 4: keeps the leases that it has, and is away for a moment.
   */
  wish: z.literal([0, 1, 2, 3, 4]),
  /** Rank of the source on air; lower is better. */
  rank: z.number(),
  /** The facts of the channel's audio, if it is fed here (../tapes/remote-facts.ts); `''`: unchanged. */
  facts,
  /** The version of the facts that the node knows; null: none, or it has the lease itself. */
  known: number.nullable(),
});

/** A node asks which nodes feed the channels, and renews its own leases. */
const leaseQuestion = z.object({
  node: name,
  /** The URL at which it serves its tapes. */
  url: z.string().max(MAX_URL),
  /** Of the process that asks: if two nodes have one name, another process asks in that name. */
  run: z.string().min(1).max(MAX_NAME),
  /** How long a lease lasts, and how long without a renewal if its owner cannot be reached either. */
  lastsMs: z.number(),
  staleMs: z.number(),
  leases: z.array(askedLease).max(MAX_NAMES).readonly(),
});

const owner = z.union([z.literal(''), z.string().regex(NODE_NAME)]);
const url = z.union([z.literal(''), z.url({ protocol: /^https?$/ }).max(MAX_URL)]);
export const leaseSchema = z.object({
  /** The owner, and the one before; `''`: none. */
  node: owner,
  url,
  beforeNode: owner,
  beforeUrl: url,
  /** Rises with each change of owner. */
  epoch: number,
  /** The facts; `''`: the node knows them already. */
  version: number,
  facts,
});

/** An entry of the log (scripts.ts): its id, and texts by name. */
const rawEntry = z.object({ id: z.string(), fields: z.record(z.string(), z.string()) });
const pairs = z.array(z.tuple([name, z.string().max(MAX_TEXT)])).max(MAX_NAMES);

/** The requests, with their arguments. */
export const QUESTIONS = {
  timeMs: z.tuple([]),
  epoch: z.tuple([]),
  hello: z.tuple([joining]),
  commit: z.tuple([commit]),
  lease: z.tuple([leaseQuestion]),
  last: z.tuple([names]),
  entriesAfter: z.tuple([counted, z.int().min(1).max(MAX_ENTRIES), counted.max(MAX_WAIT_MS)]),
  nodes: z.tuple([]),
  forget: z.tuple([names]),
};

export const ANSWERS = {
  timeMs: z.number().min(0).max(MAX_MOMENT_MS),
  epoch: name.nullable(),
  hello: joinAnswer,
  commit: commitAnswer,
  /** In the order of the request. Each is checked by itself, by the node that has asked (../tapes/leases.ts). */
  lease: z.object({
    leases: z.array(z.custom<Lease>()).max(MAX_NAMES).readonly(),
    /** Another node used the same name a moment ago. */
    isNameTaken: z.boolean(),
  }),
  last: pairs,
  entriesAfter: z.array(rawEntry),
  nodes: pairs,
};

export type Joining = z.output<typeof joining>;
export type JoinAnswer = z.output<typeof joinAnswer>;
export type Commit = z.output<typeof commit>;
export type CommitAnswer = z.output<typeof commitAnswer>;
export type AskedLease = z.output<typeof askedLease>;
export type LeaseQuestion = z.output<typeof leaseQuestion>;
export type Lease = z.output<typeof leaseSchema>;
export type LeaseAnswer = z.output<typeof ANSWERS.lease>;
export type RawEntry = z.output<typeof rawEntry>;
