/** The JSON Schema that editors read: as the file in config has it, held against the zod schema and by ajv against files. */

import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import t from 'tap';
import { parse } from 'yaml';
import { jsonSchema, type SchemaNode } from '../../src/config/json-schema.js';
import { airsplice } from '../kit/command-line.js';

const FILE = 'config/airsplice.schema.json';
const shipped = readFileSync(FILE, 'utf8');
const schema = JSON.parse(shipped) as SchemaNode;
const validate = new Ajv({ allErrors: true, allowUnionTypes: true, formats: { date: true } }).compile(schema);

/** `{NAME}` as the configuration writes it. */
const variable = (text: string): string => text.replace('{', '$' + '{');

/** Where ajv finds something wrong, and by which keyword. */
function faults(value: unknown): string[] {
  return validate(value) ? [] : validate.errors!.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
}

t.test('the file is what the options make (npm run schema writes it)', async (t) => {
  t.strictSame(schema, jsonSchema(readFileSync('config/example.yaml', 'utf8')));
  const { code, out } = await airsplice(['schema']);
  t.strictSame({ code, out }, { code: 0, out: shipped });
});

t.test('the configurations that are shipped pass it, and name it', async (t) => {
  for (const name of ['example', 'demo']) {
    const text = readFileSync(`config/${name}.yaml`, 'utf8');
    t.match(text, /^# yaml-language-server: \$schema=airsplice\.schema\.json\n/);
    t.strictSame(faults(parse(text)), [], name);
  }
});

t.test('what is wrong is found where it stands', async (t) => {
  const channel = (options: object) => ({ stations: { s: { channels: { c: options } } } });
  const at = '/stations/s/channels/c';
  const wrong: [unknown, string][] = [
    [{ adresses: [] }, ' additionalProperties'],
    [{ addresses: [{ host: '::', port: 70_000 }] }, '/addresses/0/port maximum'],
    [{ log: { level: 'loud' } }, '/log/level enum'],
    [{ limits: { listeners: '12' } }, '/limits/listeners type'],
    [channel({ sources: [{ type: 'encoder', passwort: 'x' }] }), `${at}/sources/0 additionalProperties`],
    [channel({ sources: [{ type: 'file' }] }), `${at}/sources/0 required`],
    [channel({ sources: [{ type: 'files', path: 'x' }] }), `${at}/sources/0/type const`],
    [channel({ sources: [], mounts: ['live'] }), `${at}/mounts/0 pattern`],
    [{ stations: { 'a b': { channels: {} } } }, '/stations propertyNames'],
  ];
  for (const [value, fault] of wrong) t.ok(faults(value).includes(fault), `${fault} in ${faults(value)}`);
});

t.test('a variable may stand for every number, switch and choice', async (t) => {
  const value = {
    addresses: [
      {
        host: variable('{HOST}'),
        port: variable('{PORT:-8000}'),
        shoutcastPort: variable('{NEXT}'),
        roles: [variable('{ROLE}')],
      },
    ],
    workers: variable('{WORKERS}'),
    log: { level: variable('{LEVEL:-info}') },
    accessLog: { anonymize: variable('{ANONYMIZE}') },
    streams: { writeSeconds: variable('{WRITE}'), showsOnReading: { x: variable('{SECONDS}') } },
    stations: {
      s: { channels: { c: { sources: [{ type: 'file', path: variable('{FILE}') }], mounts: [variable('/{MOUNT}')] } } },
    },
  };
  t.strictSame(faults(value), []);
  t.not(faults({ workers: '$WORKERS' }).length, 0);
  t.not(faults({ workers: variable('{}') }).length, 0);
});

t.test('editors show what config/example.yaml says', async (t) => {
  const described = shipped.match(/"description": "/g)?.length ?? 0;
  t.ok(described > 160, `${described} options are explained`);
  const text = JSON.stringify(schema);
  const shows = (description: string) => t.ok(text.includes(`"description":"${description}`), description);
  shows('Where the server listens. One entry is enough');
  shows('how long it can still be read after the listener has left"');
  shows('An encoder that connects to this server at any mount of the channel. One per channel."');
  t.notOk(text.includes('yaml-language-server'));
});
