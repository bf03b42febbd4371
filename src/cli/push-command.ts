/**
 * `airsplice push CHANNEL --artist A --song S`: pushes a title as a playout system does. The token is read from the environment, which lists of
 * processes do not show. Exit code 1 if the server rejects it, with every invalid field.
 */

import { printable } from '../base/printable.js';
import { titleLine } from '../metadata/record.js';
import { type RunCommand, readKey, textOf, UsageError } from './command.js';
import { readProblem, readPushedRecord } from './recording/records.js';
import { answerOf, readJson, serverUrl } from './server.js';

const TOKEN = 'AIRSPLICE_TOKEN';

export const push: RunCommand = async (line, signal) => {
  const url = serverUrl(line);
  const channel = readKey(line.operands[0] ?? '');
  const [artist, song] = [textOf(line, 'artist'), textOf(line, 'song')];
  if (artist === undefined && song === undefined) throw new UsageError('--artist or --song is required');
  const token = process.env[TOKEN];
  if (!token) throw new UsageError(`the environment variable ${TOKEN} is not set`);
  const { status, text } = await answerOf(`${url}/metapush/${channel}`, signal, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      artist: artist ?? '',
      song: song ?? '',
      duration: textOf(line, 'duration') ?? 0,
      tracktype: line.values['next'] ? 'next' : 'now',
    }),
  });
  if (status === 200) {
    process.stdout.write(`${channel}: ${printable(titleLine(readPushedRecord(readJson(text))))}\n`);
    return 0;
  }
  const { detail, errors } = readProblem(readJson(text));
  const fields = errors.map(({ field, message }) => `  ${printable(`${field}: ${message}`)}\n`).join('');
  process.stderr.write(`airsplice: ${status}: ${printable(detail)}\n${fields}`);
  return 1;
};
