/** `airsplice help [COMMAND]` and `airsplice version`. */

import { ownVersion } from '../../base/own-files.js';
import { type RunCommand, UsageError } from '../command.js';
import { COMMANDS, commandMeant, commandNamed } from '../commands.js';
import { helpOf, overview } from '../terminal/help.js';

export const help: RunCommand = async ({ operands: [name] }) => {
  const command = name === undefined ? undefined : commandNamed(name);
  if (name !== undefined && command === undefined)
    throw new UsageError(`unknown command "${name}"${commandMeant(name)}`);
  process.stdout.write(command === undefined ? overview(COMMANDS) : helpOf(command));
  return 0;
};

export const version: RunCommand = async () => {
  process.stdout.write(`airsplice ${ownVersion()} (Node.js ${process.versions.node})\n`);
  return 0;
};
