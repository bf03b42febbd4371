/**
 * The scripts that Redis runs for us (`*.lua` beside this file): each is atomic, whichever node asks. They run on Redis 6.2 and later, and on Valkey.
 *
 *   epoch   the epoch of the data; it changes when the data was flushed, or restored from a backup
 *   meta    seq: the number of the log's last entry; stamp: the last stamp of a record (feed/sequence.ts)
 *   version channel → version          last  channel → `stamp JSON`, the common state           done  `node channel` → id of its last change
 *   owner   channel → its owner, as JSON: node, url, epoch, until, renewed, rank, before (the former owner), facts (their version)
 *   facts   channel → the facts of its audio, as its owner published them last
 *   node    node → the time of its last request, unix milliseconds, its url and its process
 *   log     a stream with ids `seq-0`: c channel ('': a bell, lease.lua), v version, p id, n node, s stamp (0: no record), o common state, h history
 */

import { readFileSync } from 'node:fs';
import { codeFile } from '../../base/own-files.js';
import { FIRST_PLAUSIBLE_MS } from '../../base/steady-time.js';
import { maxMomentMs, maxVersion } from '../../metadata/record-schema.js';
import { MAX_NAME } from '../titles/ordered-schema.js';
import { MAX_FACTS, MAX_URL } from './log-schema.js';
import { ANSWER_BYTES, MAX_LEASE_MS, MAX_NODES, MAX_VALUE_BYTES } from './shared-log.js';

/** The limits of the scripts, the same as those of the nodes (metadata/record-schema.ts). */
const LIMITS = {
  FIRST_PLAUSIBLE_MS,
  CENTURY_MS: maxMomentMs(0) - FIRST_PLAUSIBLE_MS,
  /** The highest version, and by how much it may exceed the one that a node knows. */
  MAX_VERSION: maxVersion(0),
  MAX_VERSIONS_MISSED: maxVersion(2 ** 50) - 2 ** 50,
  /** Maximum of counters. */
  MAX_COUNT: (2 ** 52).toFixed(0),
  MAX_LEASE_MS,
  MAX_NAME,
  MAX_NODES,
  MAX_FACTS,
  MAX_URL,
  /** What Redis may answer at once, whatever another program has written (reply-bounds.ts). */
  ANSWER_BYTES,
  MAX_VALUE_BYTES,
};

/** Read at the start, since the files may be of another version of the program later. */
export const SCRIPTS = {
  hello: script('hello'),
  commit: script('commit'),
  lease: script('lease'),
  last: script('last'),
  entries: script('entries'),
  nodes: script('nodes'),
};

function script(name: string): string {
  const limits = Object.entries(LIMITS).map(([limit, value]) => `local ${limit} = ${value}\n`);
  return [...limits, textOf('shared'), textOf(name)].join('');
}

function textOf(name: string): string {
  return readFileSync(codeFile(`cluster/log/${name}.lua`), 'utf8');
}
