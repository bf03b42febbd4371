/** `airsplice schema`: prints the JSON Schema of the configuration, the same as config/airsplice.schema.json. */

import { readFileSync } from 'node:fs';
import { packageFile } from '../../base/own-files.js';
import { jsonSchema } from '../../config/json-schema.js';
import type { RunCommand } from '../command.js';

export const schema: RunCommand = async () => {
  const example = readFileSync(packageFile('config/example.yaml'), 'utf8');
  process.stdout.write(`${JSON.stringify(jsonSchema(example), null, 2)}\n`);
  return 0;
};
