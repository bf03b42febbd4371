/** `airsplice schema`: prints the JSON Schema of the configuration, as config/airsplice.schema.json has it. */

import { readFileSync } from 'node:fs';
import { jsonSchema } from '../config/json-schema.js';
import type { RunCommand } from './command.js';

export const schema: RunCommand = async () => {
  const example = readFileSync(new URL('../../config/example.yaml', import.meta.url), 'utf8');
  process.stdout.write(`${JSON.stringify(jsonSchema(example), null, 2)}\n`);
  return 0;
};
