/**
 * `airsplice token CHANNEL`: makes a push token and prints it once, with the line for the configuration, which has only its SHA-256.
 */

import { makeToken } from '../../setup/made-secret.js';
import { programName } from '../../setup/program-name.js';
import { type RunCommand, readKey } from '../command.js';

export const token: RunCommand = async ({ operands: [operand = ''] }) => {
  const channel = readKey(operand);
  const { plain, option } = makeToken();
  process.stdout.write(`
A new push token for the channel ${channel}. It is shown this once and kept nowhere:

    ${plain}

The configuration gets its digest (under stations, the station, channels, ${channel}):

    pushTokens:
      - ${option}

Two may stand there at once: add the new one, \`${programName()} reload CONFIG\` (of the service: \`systemctl reload airsplice\`), give it to
the playout system, then take the old one out, and reload again.
`);
  return 0;
};
