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
A new push token for the channel ${channel}. It is shown only now and stored nowhere:

    ${plain}

Add its digest to the configuration (under stations, the station, channels, ${channel}):

    pushTokens:
      - ${option}

pushTokens may list two at once: add the new one, \`${programName()} reload CONFIG\` (as a service: \`systemctl reload airsplice\`), enter the token in
the playout system, then remove the old one and reload again.
`);
  return 0;
};
