import t from 'tap';
import { z } from 'zod';
import { adoptConfig, channelsOf } from '../../src/config/adopt.js';
import { effectOf, RULES } from '../../src/config/effects.js';
import { type LoadedConfig, loadConfig } from '../../src/config/load.js';
import { planReload, planText } from '../../src/config/plan.js';
import { configSchema } from '../../src/config/schema.js';
import { DEMO_AUDIO } from '../kit/server.js';

const ENV = { SIGNING: 'a key that is as long as it has to be', OTHER: 'another key, as long as it has to be' };
const read = (text: string, env: NodeJS.ProcessEnv = ENV): LoadedConfig => loadConfig('config.yaml', env, text);
const BASE = `
stations:
  house:
    name: House
    channels:
      studio:
        pushTokens: [studio-token]
        sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }]
      music: { sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;
const planned = (before: string, after: string, env = ENV) => planReload(read(before), read(after, env));
const lines = (before: string, after: string) => planText(planned(before, after)).split('\n');

type Json = Record<string, unknown>;

/** Each option of the schema down to what has no options of its own, with `*` for keys. */
function optionsOf(schema: Json, path: readonly string[] = []): (readonly string[])[] {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  if (properties.length > 0) return properties.flatMap(([name, member]) => optionsOf(member, [...path, name]));
  const isKeyed = ['stations', 'channels'].includes(path.at(-1)!);
  return isKeyed ? optionsOf(schema['additionalProperties'] as Json, [...path, '*']) : [path];
}

t.test('each option has a rule, and each rule an option', async (t) => {
  const schema = z.toJSONSchema(configSchema({ env: {}, folder: '/' }), { io: 'input' }) as Json;
  const options = optionsOf(schema);
  t.ok(options.length > 100, `${options.length} options`);
  for (const option of options) t.ok(effectOf(option), option.join('.'));
  const all = options.map((option) => `${option.join('.')}.`);
  for (const place of Object.keys(RULES))
    t.ok(
      all.some((option) => option.startsWith(`${place}.`)),
      place,
    );
});

t.test('the same twice: nothing changes, whatever the file looks like', async (t) => {
  t.same(planned(BASE, `# a comment\n${BASE.replace('House', '"House"')}`).changes, []);
  t.equal(planText(planned(BASE, BASE)), 'nothing changes');
  const signed = `signedUrls: { keys: [env:SIGNING] }\n${BASE}`;
  t.same(planned(signed, signed).changes, []);
  const pull = BASE.replace(
    '{ type: file',
    `{ type: pull, url: 'http://u:p@a.example/x', password: env:SIGNING, user: u }, { type: file`,
  );
  t.same(planned(pull, pull).changes, [], 'passwords that are sent are compared, too');
});

t.test('what stands there and what will', async (t) => {
  t.same(lines(BASE, `limits: { listeners: 5 }\nstreams: { lagSeconds: 40 }\n${BASE}`), [
    '~ limits.listeners: 20000 → 5 (for newcomers)',
    '~ streams.lagSeconds: 30 → 40 (from the next tape)',
  ]);
  t.same(lines(BASE, BASE.replace('name: House', 'timezone: Europe/Zurich')), [
    '~ stations.house.name: "House" → "" (at once)',
    '~ stations.house.timezone: "UTC" → "Europe/Zurich" (at once)',
  ]);
  t.same(lines(BASE, BASE.replace('pushTokens', 'fallback: { song: x }\n        pushTokens')), [
    '~ stations.house.channels.studio.fallback: default → {…} (at once)'.replace('~', '+'),
  ]);
  const refused = planned(BASE, `workers: 2\ndata: { folder: elsewhere }\n${BASE}`);
  t.same(
    refused.refused.map(({ path }) => path),
    ['workers', 'data.folder'],
  );
});

t.test('channels come, go, and move between stations', async (t) => {
  const gone = BASE.replace(/ +music:.*\n/, '');
  t.same(lines(BASE, gone), ['- stations.house.channels.music (its listeners and watchers are disconnected cleanly)']);
  t.same(lines(gone, BASE), ['+ stations.house.channels.music (at once)']);
  const moved = BASE.replace('      music:', '  other:\n    channels:\n      music:');
  t.same(lines(BASE, moved), [
    '+ stations.other (at once)',
    '~ stations.other.channels.music (from the station house)',
  ]);
  const turned = BASE.replace(/( +studio:[\s\S]*?)( +music:.*\n)/, '$2$1');
  t.same(lines(BASE, turned), ['~ stations (another order)']);
});

t.test('sources are known by what they are, wherever they stand', async (t) => {
  const place = 'stations.house.channels.studio.sources';
  const [encoder, file] = ['{ type: encoder, password: demo-source }', `{ type: file, path: ${DEMO_AUDIO} }`];
  const having = (...sources: string[]) => BASE.replace(`[${encoder}, ${file}]`, `[${sources.join(', ')}]`);
  const pull = (path: string, more = '') => `{ type: pull, url: 'http://a.example/${path}'${more} }`;
  t.same(lines(BASE, having(file, encoder)), [`~ ${place} (another order of preference)`]);
  t.same(lines(BASE, having(file)), [
    `- ${place}[0]: "encoder" → "none" (a connected encoder is disconnected)`.replaceAll('"', ''),
  ]);
  t.same(lines(BASE, having(encoder.replace('demo-source', 'studio-token'), file)), [
    `~ ${place}[0].password (for the next encoder; a connected one stays)`,
  ]);
  t.same(lines(having(pull('x')), having(pull('x', ', stallSeconds: 20'))), [`~ ${place}[0] (it is pulled again)`]);
  t.same(lines(having(pull('x')), having(pull('x', ', titleOffsetMs: 20'))), [
    `~ ${place}[0].titleOffsetMs: default → 20 (at once)`,
  ]);
  t.same(lines(having(pull('x')), having(pull('y'))), [
    `- ${place}[0]: pull → none (as any change of source)`,
    `+ ${place}[0]: none → pull (as any change of source)`,
  ]);
});

t.test('no secret is shown, in whatever list or map it stands', async (t) => {
  const digest = (name: string) => `sha256:${name.repeat(64)}`;
  const having = (name: 'a' | 'b', word: string) => `
listenerHook: { url: 'http://${word}.example/?key=${word}' }
signedUrls: { keys: [env:${name === 'a' ? 'SIGNING' : 'OTHER'}] }
admin: { users: { bot: { tokens: ['${digest(name)}'] }, ann: { password: '${digest(name)}' } } }
alerts: { webhooks: [{ url: 'https://alerts.example/${word}', secret: 'env:${name === 'a' ? 'SIGNING' : 'OTHER'}' }] }
streams: { headers: { x-key: ${word} } }
${BASE.replace('studio-token', digest(name)).replace('demo-source', digest(name)).replace('music: {', `music: { webhooks: [{ format: tunein, parameters: { partnerKey: ${word}, partnerId: p, id: i } }],`)}`;
  const plan = planned(having('a', 'first'), having('b', 'second'));
  t.same(plan.changes.map(({ path }) => path).sort(), [
    'admin.users.ann.password',
    'admin.users.bot.tokens',
    'alerts.webhooks',
    'listenerHook.url',
    'signedUrls.keys',
    'stations.house.channels.music.webhooks',
    'stations.house.channels.studio.pushTokens',
    'stations.house.channels.studio.sources[0].password',
    'streams.headers.x-key',
  ]);
  const text = planText(plan) + JSON.stringify(plan);
  // As hexadecimal digits, and as JSON has a buffer.
  for (const word of ['aaaa', 'bbbb', '170', '187', 'first', 'second', 'key that', 'another key'])
    t.notOk(text.includes(word), word);
});

t.test('adopted, the configuration is the next one, and its sections and channels are the same objects', async (t) => {
  const live = read(BASE);
  const { limits, streams } = live;
  const studio = channelsOf(live).get('studio');
  const text = `listenerHook: { url: 'http://a.example/' }\nlimits: { listeners: 5 }\n${BASE.replace('      studio:', '  other:\n    channels:\n      studio:').replace('  house:\n    name: House\n    channels:\n  other:', '  other:').replace('sources: [{ type: encoder', 'name: New\n        sources: [{ type: encoder')}`;
  adoptConfig(live, read(text));
  t.same(live, read(text));
  t.equal(live.limits, limits);
  t.equal(live.streams, streams);
  t.equal(limits.listeners, 5);
  t.equal(live.stations['other']!.channels['studio'], studio, 'a channel that moves is the same one');
  t.equal(studio!.name, 'New');
  adoptConfig(live, read(BASE));
  t.same(live, read(BASE), 'and back: options that were set are not any more');
  t.same(planReload(live, read(BASE)).changes, []);
});

t.test('keys that every object inherits are keys like others', async (t) => {
  const keyed = BASE.replace('      music:', '  constructor:\n    channels:\n      toString:');
  const gone = keyed.replace(/ {2}constructor:[\s\S]*$/, '');
  t.same(lines(gone, keyed), [
    '+ stations.constructor (at once)',
    '+ stations.constructor.channels.toString (at once)',
  ]);
  t.same(lines(keyed, gone), [
    '- stations.constructor (its watchers are closed)',
    '- stations.constructor.channels.toString (its listeners and watchers are disconnected cleanly)',
  ]);
  const reading = (name: string) => `streams: { showsOnReading: { ${name}: 1 } }\n${BASE}`;
  t.same(lines(BASE, reading('constructor')), ['+ streams.showsOnReading.constructor: default → 1 (for newcomers)']);
  const live = read(keyed);
  adoptConfig(live, read(gone));
  t.same(live, read(gone));
});
