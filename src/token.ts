/**
 * `npm run token -- CHANNEL`: makes a push token, prints it once, and says what to write into the configuration. The token is kept
 * nowhere; the configuration holds its SHA-256 only. Exit code 2 for a wrong command line.
 */

import { createHash, randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { KEY } from './base/key.js';

/** 256 bits: twice what the contract asks for. */
const TOKEN_BYTES = 32;
const USAGE = 'usage: npm run token -- CHANNEL     (the channel key: 1 to 64 of A-Z a-z 0-9 _ -)';

function readChannel(): string {
  try {
    const [channel, ...more] = parseArgs({ allowPositionals: true }).positionals;
    if (channel !== undefined && KEY.test(channel) && more.length === 0) return channel;
  } catch {
    // An option: there are none.
  }
  process.stderr.write(`${USAGE}\n`);
  return process.exit(2);
}

const channel = readChannel();
const token = randomBytes(TOKEN_BYTES).toString('base64url');
const sha256 = createHash('sha256').update(token, 'utf8').digest('hex');
process.stdout.write(`
A new push token for the channel ${channel}. It is shown this once and kept nowhere:

    ${token}

The configuration gets its digest (under stations, the station, channels, ${channel}):

    pushTokens:
      - sha256:${sha256}

Two may stand there at once: add the new one and restart, give it to the playout system, then take the old one out.
`);
