/**
 * The scripts that Redis runs for us (`*.lua` beside this file): each is atomic, whichever node asks. They run on Redis 6.2 and later, and on Valkey.
 *
 *   epoch   which life of the data this is; another one: it was flushed, or restored from a backup
 *   meta    seq: the number of the log's last entry; stamp: the last that a record was given (feed/sequence.ts)
 *   version channel → version          last  channel → `stamp JSON`, what all agree on          done  `node channel` → id of the last change of it
 *   owner   channel → who feeds it, as JSON: node, url, epoch, until, renewed, rank, before (the owner before it), facts (their version)
 *   facts   channel → what listeners' nodes must know of its audio, as the owner has said it last
 *   node    node → when it was here last, unix milliseconds, and its url
 *   log     a stream with the id `seq-0`: c channel ('' : a bell, see LEASE), v version, p id, n node, s stamp (0: no record), o what all agree on, h history
 */

import { readFileSync } from 'node:fs';
import { codeFile } from '../../base/own-files.js';
import { FIRST_PLAUSIBLE_MS } from '../../base/steady-time.js';
import { mostMomentMs, mostVersion } from '../../metadata/record-schema.js';
import { MAX_LEASE_MS } from './shared-log.js';

/** What the scripts go by, as nodes do (metadata/record-schema.ts). */
const LIMITS = {
  FIRST_PLAUSIBLE_MS,
  CENTURY_MS: mostMomentMs(0) - FIRST_PLAUSIBLE_MS,
  /** Of versions: the highest, and how many more than a node knows. */
  MAX_VERSION: mostVersion(0),
  MAX_VERSIONS_MISSED: mostVersion(2 ** 50) - 2 ** 50,
  /** Of what is counted. */
  MAX_COUNT: (2 ** 52).toFixed(0),
  MAX_LEASE_MS,
};

/** Read at once: what stands there later may be of another version of the program. */
export const SCRIPTS = { hello: script('hello'), commit: script('commit'), lease: script('lease') };

function script(name: string): string {
  const limits = Object.entries(LIMITS).map(([limit, value]) => `local ${limit} = ${value}\n`);
  return [...limits, textOf('shared'), textOf(name)].join('');
}

function textOf(name: string): string {
  return readFileSync(codeFile(`cluster/log/${name}.lua`), 'utf8');
}
