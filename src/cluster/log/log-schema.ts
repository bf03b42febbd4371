/** What a node asks of what all nodes have in common (shared-log.ts), and the answers: checked where they come in, at an origin and at a node. */

import * as z from 'zod';
import { NODE_NAME } from '../../config/cluster-config.js';
import { MAX_MOMENT_MS } from '../../metadata/record-schema.js';
import { MAX_NAME } from '../titles/ordered-schema.js';

/** Channels, or nodes, in one message; nodes may be some that are not forgotten yet. */
const MAX_NAMES = 200_000;
const MAX_URL = 1024;
/** Of one value, in characters: a channel's state with all the pushes that it holds, within a message of the link (../../link/wire/wire.ts). */
const MAX_TEXT = 64 * 1024 * 1024;
/** Of the facts of a channel, in characters. */
export const MAX_FACTS = 1024 * 1024;
/** Of epochs, and versions of facts: they follow the clock of Redis. */
const MAX_NUMBER = 10 ** 15;
/** Of one read of the log: more entries, and a longer wait, than a node asks for (../titles/node-link.ts). */
const MAX_ENTRIES = 1000;
const MAX_WAIT_MS = 60_000;

const name = z.string().max(MAX_NAME);
const names = z.array(name).max(MAX_NAMES).readonly();
const counted = z.int().min(0);
const number = counted.max(MAX_NUMBER);
const facts = z.string().max(MAX_FACTS);

/** A node that joins. */
const joining = z.object({
  /** Of a life of the data that begins here where none goes on. */
  freshEpoch: name,
  /** The epoch that the node knows, how far it has read the log there, and the id of the change at that place; `''`: none. */
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
  /** The node's place is in the log still. */
  goesOn: z.boolean(),
});

/** A change. */
const commit = z.object({
  epoch: name,
  channel: name,
  /** The version on which it was decided, and the one that it makes. */
  before: counted,
  version: counted,
  /** Whether it is given a stamp, and the last one that the node knows. */
  hasRecord: z.boolean(),
  lastStamp: counted,
  /** What all agree on, and entries of the history, as `encode` makes them (../titles/log-entry.ts). */
  ordered: z.string(),
  history: z.string(),
  id: name,
  node: name,
  /** How many entries the log keeps at least. */
  logEntries: counted,
});

const commitAnswer = z.object({
  /** It is in the log; the channel has another version; it was in the log already; it is another life of the data. */
  verdict: z.enum(['ok', 'stale', 'done', 'epoch']),
  /** The number of the log's last entry; `stale`: that version; `epoch`: 0. */
  number: counted,
});

const askedLease = z.object({
  channel: name,
  /**
   * 0: not to have it. 1: only where nobody has it. 2: a source is on air here, or about to be. 3: the same, and the owner cannot be reached.
   * 4: what the node has it keeps, and is away for a moment.
   */
  wish: z.literal([0, 1, 2, 3, 4]),
  /** Of the source on air; less is better. */
  rank: z.number(),
  /** What there is to know of the channel's audio, where it is fed here (../tapes/remote-facts.ts); `''`: as before. */
  facts,
  /** The version of the facts that the node knows; null: none, or it has the lease itself. */
  known: number.nullable(),
});

/** A node asks who feeds which channel, and renews what it has. */
const leaseQuestion = z.object({
  node: name,
  /** Where it gives its tapes. */
  url: z.string().max(MAX_URL),
  /** How long a lease lasts, and after how long without a renewal an owner that cannot be reached has lost it. */
  lastsMs: z.number(),
  staleMs: z.number(),
  leases: z.array(askedLease).max(MAX_NAMES).readonly(),
});

const owner = z.union([z.literal(''), z.string().regex(NODE_NAME)]);
const url = z.union([z.literal(''), z.url({ protocol: /^https?$/ }).max(MAX_URL)]);
export const leaseSchema = z.object({
  /** Who has it, and the one before; `''`: nobody. */
  node: owner,
  url,
  beforeNode: owner,
  beforeUrl: url,
  /** Another owner has a higher one. */
  epoch: number,
  /** Of the facts; `''`: as the node knows them. */
  version: number,
  facts,
});

/** An entry of the log (scripts.ts): its id, and texts by name. */
const rawEntry = z.object({ id: z.string(), fields: z.record(z.string(), z.string()) });
const pairs = z.array(z.tuple([name, z.string().max(MAX_TEXT)])).max(MAX_NAMES);

/** What a node may ask, and with what. */
export const QUESTIONS = {
  timeMs: z.tuple([]),
  epoch: z.tuple([]),
  hello: z.tuple([joining]),
  commit: z.tuple([commit]),
  lease: z.tuple([leaseQuestion]),
  last: z.tuple([names.nullable()]),
  entriesAfter: z.tuple([counted, z.int().min(1).max(MAX_ENTRIES), counted.max(MAX_WAIT_MS)]),
  nodes: z.tuple([]),
  forget: z.tuple([names]),
};

export const ANSWERS = {
  timeMs: z.number().min(0).max(MAX_MOMENT_MS),
  epoch: name.nullable(),
  hello: joinAnswer,
  commit: commitAnswer,
  /** In the order in which they were asked for; each by itself is checked by who has asked for it (../tapes/leases.ts). */
  lease: z.object({
    leases: z.array(z.custom<Lease>()).max(MAX_NAMES).readonly(),
    /** Another node has asked in this one's name a moment ago. */
    isTwice: z.boolean(),
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
