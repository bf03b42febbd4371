import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import t from 'tap';
import { parse } from 'yaml';
import { z } from 'zod';
import { encoderHookSchema, hookSchema } from '../../src/config/access-config.js';
import { clusterSchema } from '../../src/config/cluster-config.js';
import { directorySchema } from '../../src/config/listed/directories-config.js';
import { checkConfig, loadConfig, remakeConfig } from '../../src/config/load.js';
import { planReload } from '../../src/config/plan.js';
import { configSchema } from '../../src/config/schema.js';
import { secretMatches } from '../../src/config/secret.js';
import { PEM } from '../kit/certificate.js';

const TLS = { certFile: `${PEM}one.cert.pem`, keyFile: `${PEM}one.key.pem` };
const ENV = {
  WAVE_PUSH_TOKEN: 'push me',
  WAVE_STUDIO_PASSWORD: 'let me in',
  WAVE_UPSTREAM_PASSWORD: 'let us in',
  WAVE_SIGNING_KEY: 'a key that is as long as it has to be',
  WAVE_WEBHOOK_SECRET: 'a secret of at least 24 bytes',
  WAVE_CLUSTER_SECRET: 'a secret that all machines of a cluster know',
  WAVE_TUNEIN_KEY: 'let us tell',
  WAVE_MASTODON_TOKEN: 'let us post',
  WAVE_ADMIN_PASSWORD: 'let me see',
  WAVE_ACME_KEY: 'bGV0IHVzIGhhdmUgYSBjZXJ0aWZpY2F0ZQ',
  WAVE_CERT_FILE: TLS.certFile,
  WAVE_KEY_FILE: TLS.keyFile,
};
const RECORDS = [
  'admin.users',
  'stations',
  'stations.*.channels',
  'stations.*.channels.*.icy.etypes',
  'stations.*.channels.*.webhooks[].parameters',
  'streams.headers',
  'streams.showsOnReading',
  'streams.endsOnFormatChange',
];

type Json = Record<string, unknown>;

/** Every option of the schema as `stations.*.channels.*.sources[encoder].user`. */
function schemaPaths(schema: Json, path = ''): string[] {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  const members = properties.flatMap(([name, member]) => [at(name), ...schemaPaths(member, at(name))]);
  const variants = ((schema['oneOf'] ?? schema['anyOf'] ?? []) as Json[]).flatMap((variant) => {
    const type = (variant['properties'] as Record<string, Json> | undefined)?.['type']?.['const'];
    return schemaPaths(variant, type === undefined ? path : path.replace('[]', `[${type}]`));
  });
  const items = schema['items'] ? schemaPaths(schema['items'] as Json, `${path}[]`) : [];
  const values = RECORDS.includes(path) ? schemaPaths(schema['additionalProperties'] as Json, at('*')) : [];
  return [...members, ...variants, ...items, ...values];
}

/** The same of a file. */
function filePaths(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => filePaths(item, `${path}[${item.type ?? ''}]`));
  if (typeof value !== 'object' || value === null) return [];
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  return Object.entries(value).flatMap(([name, member]) =>
    RECORDS.includes(path) ? filePaths(member, at('*')) : [at(name), ...filePaths(member, at(name))],
  );
}

t.test('config/example.yaml explains every option of the schema, and no other', async (t) => {
  const schema = z.toJSONSchema(configSchema({ env: {}, folder: '/' }), { io: 'input' });
  const inSchema = new Set(schemaPaths(schema as Json));
  const inFile = new Set(filePaths(parse(readFileSync('config/example.yaml', 'utf8'))));
  t.ok(inSchema.size > 70, `found ${inSchema.size} options`);
  t.strictSame([...inSchema].sort(), [...inFile].sort());
});

t.test('config/example.yaml is valid as it stands, and mostly the defaults', async (t) => {
  const {
    stations,
    signedUrls,
    alerts,
    admin,
    cluster,
    page,
    order: __,
    ...config
  } = loadConfig('config/example.yaml', ENV);
  const {
    stations: _,
    alerts: alertDefaults,
    admin: adminDefaults,
    page: pageDefaults,
    ...defaults
  } = configSchema({
    env: {},
    folder: resolve('config'),
  }).parse({});
  t.strictSame(config, {
    ...defaults,
    addresses: [
      { ...defaults.addresses[0], shoutcastPort: 8001 },
      {
        host: '127.0.0.1',
        port: 8002,
        roles: ['poll', 'ops'],
        tls: { ...TLS, sharePort: false },
        proxyProtocol: false,
      },
      {
        host: '127.0.0.1',
        port: 8443,
        tls: {
          acme: {
            domains: ['radio.wave.example', 'listen.wave.example'],
            email: 'office@wave.example',
            directoryUrl: 'https://acme-v02.api.letsencrypt.org/directory',
            caFile: TLS.certFile,
            eab: { keyId: 'wave', key: createSecretKey(Buffer.from(ENV.WAVE_ACME_KEY, 'base64url')) },
          },
        },
      },
    ],
    shoutcastListenUrls: 'wave-live',
    encoderHook: encoderHookSchema().parse({ url: 'http://127.0.0.1:9000/streamers' }),
    directories: [directorySchema().parse({ url: 'https://dir.xiph.org/cgi-bin/yp-cgi' })],
    listenerHook: hookSchema().parse({ url: 'http://127.0.0.1:9000/listeners' }),
    limits: {
      ...defaults.limits,
      listenersPerAddress: 500,
      connectionsPerAddress: 2500,
      reservedConnections: 100,
    },
    legacy: { deprecatedOn: '2024-01-01', sunsetOn: '2027-12-31', successor: 'https://api.example.com/' },
    streams: {
      ...defaults.streams,
      maxListenSeconds: 86_400,
      overflowUrl: 'https://second.wave.example/{mount}',
      publicUrl: 'https://radio.wave.example',
      headers: { 'X-Station-Channel': '{channelkey}' },
    },
  });
  const { name, text, logo, links, frameAncestors, ...otherPage } = page;
  t.strictSame({ name: '', text: '', links: [], frameAncestors: [], ...otherPage }, pageDefaults);
  t.equal(logo, resolve('config/demo/logo.svg'));
  t.ok(name !== '' && text !== '' && links.length === 1 && frameAncestors.length === 1);
  const { webhooks, ...otherAlerts } = alerts;
  t.strictSame({ webhooks: [], ...otherAlerts }, alertDefaults);
  t.match(webhooks, [{ format: 'json', channels: ['wave-live'] }]);
  t.equal(webhooks[0]!.secret?.symmetricKeySize, ENV.WAVE_WEBHOOK_SECRET.length);
  t.strictSame({ ...admin, users: {} }, adminDefaults);
  t.strictSame(admin.users['ann']?.rights, ['read', 'titles', 'operate']);
  const { url, node, tapes, caFile, ...rest } = cluster!;
  t.equal(caFile, TLS.certFile);
  const own = clusterSchema({ env: {}, folder: '/' }).parse({ url, node });
  t.strictSame({ url, node, ...rest }, own);
  t.equal(tapes?.secret.symmetricKeySize, ENV.WAVE_CLUSTER_SECRET.length);
  t.equal(signedUrls?.keys[0]?.symmetricKeySize, ENV.WAVE_SIGNING_KEY.length);
  const channel = stations['wave']?.channels['wave-live'];
  t.equal(secretMatches(channel?.pushTokens ?? [], 'push me'), true);
  t.strictSame(
    channel?.sources.map(({ type }) => type),
    ['encoder', 'pull', 'file'],
  );
  t.throws(
    () => loadConfig('config/example.yaml', {}),
    /pushTokens.0.: \w+ is not set[\s\S]*\n.*password: \w+ is not set/,
  );
});

t.test('config/demo.yaml: three channels that play by themselves, on this machine only', async (t) => {
  const config = loadConfig('config/demo.yaml', {});
  t.strictSame(config.addresses, [{ host: '127.0.0.1', port: 8000 }]);
  t.equal(config.data.folder, resolve('config/data'));
  const channels = config.stations['demo']?.channels ?? {};
  t.strictSame(
    Object.entries(channels).map(([key, { mounts, bitrateKbps, sources }]) => [
      key,
      mounts,
      bitrateKbps,
      sources.map(({ type }) => type),
    ]),
    [
      ['demo', ['/demo.mp3'], 128, ['file']],
      ['studio', ['/studio.mp3'], undefined, ['encoder', 'file']],
      ['relay', ['/relay.mp3'], undefined, ['file']],
    ],
  );
  for (const [key, { pushTokens }] of Object.entries(channels)) t.ok(secretMatches(pushTokens, `${key}-token`));

  const moved = loadConfig('config/demo.yaml', { HOST: '::1', PORT: '9001', DATA: '/srv/air' });
  t.strictSame(moved.addresses, [{ host: '::1', port: 9001 }]);
  t.equal(moved.data.folder, '/srv/air');
  t.equal(moved.streams.publicUrl, 'http://127.0.0.1:9001');
  t.throws(
    () => loadConfig('config/demo.yaml', { HOST: '0.0.0.0' }),
    /^config.demo.yaml:8:11: addresses.0..host: is open to other machines/,
  );
});

t.test('another process makes the same of each option', async (t) => {
  const { config, checked } = checkConfig('config/example.yaml', ENV);
  const remade = remakeConfig(deserialize(serialize(checked)), ENV);
  t.strictSame(planReload(config, remade).changes, []);
});
