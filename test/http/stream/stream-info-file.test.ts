/** stream-meta.info, version 2: headers of a stream, and streaminfo.json; what cannot stand in a header is refused where it is configured. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadConfig } from '../../../src/config/load.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { ask } from '../../kit/wire.js';

t.jobs = 4;

const channel = (info: string, more = '') =>
  `{ ${more} streamInfo: ${info}, sources: [{ type: file, path: ${DEMO_AUDIO} }] }`;

function yaml(channels: string, rest = ''): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
${rest}
stations: { house: { channels: {
  plain: { sources: [{ type: file, path: ${DEMO_AUDIO} }] },
  ${channels} } } }
`;
}

const ALL = `{ mainStreamUrl: 'https://main.example/a', logo: 'https://x.example/l.png', countryCode: AT, subdivisionCode: AT-1,
  languageCodes: [de, eng], indexMetadata: true, doNotIndex: false, geoLatLong: [48.21, -16.37] }`;

async function infoOf(t: Parameters<typeof ask>[0], port: number, path: string): Promise<Record<string, string>> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  await answer.body?.cancel();
  const headers = [...answer.headers].filter(([name]) => name.startsWith('icy-') && !NAMES_1.has(name));
  const exposed = answer.headers.get('access-control-expose-headers') ?? '';
  for (const [name] of headers) t.ok(exposed.includes(name), `${name} is exposed`);
  return Object.fromEntries(headers);
}

const NAMES_1 = new Set(['icy-name', 'icy-genre', 'icy-url', 'icy-description', 'icy-pub', 'icy-br', 'icy-metaint']);

t.test('all of it, as headers and as a file', async (t) => {
  const { port, base } = await startServer(t, yaml(`live: ${channel(ALL, "name: 'Ü', url: 'https://home.example',")}`));
  const headers = {
    'icy-version': '2',
    'icy-main-stream-url': 'https://main.example/a',
    'icy-logo': 'https://x.example/l.png',
    'icy-country-code': 'AT',
    'icy-country-subdivison-code': 'AT-1',
    'icy-language-codes': 'de,eng',
    'icy-geo-lat-long': '48.21,-16.37',
    'icy-index-metadata': '1',
    'icy-do-not-index': '0',
  };
  t.strictSame(await infoOf(t, port, '/live'), headers);
  t.strictSame(await infoOf(t, port, '/plain'), {}, 'nothing where nothing is set');
  const file = await (await fetch(`${base}/streaminfo.json`)).json();
  t.strictSame(file, {
    ...headers,
    'icy-version': 2,
    'icy-index-metadata': 1,
    'icy-do-not-index': 0,
    'icy-name': 'Ü',
    'icy-url': 'https://home.example',
  });
  for (const path of ['/listen/live/streaminfo.json', '/streaminfo.json?mount=/live'])
    t.strictSame(await (await fetch(base + path)).json(), file);
  for (const path of ['/listen/plain/streaminfo.json', '/listen/none/streaminfo.json', '/streaminfo.json?mount=/plain'])
    t.equal((await ask(t, port, `GET ${path} HTTP/1.1`)).status, 404, path);
});

t.test('what is known already need not be said, and a reload changes it', async (t) => {
  const folder = tempFolder(t);
  const logo = join(folder, 'logo.png');
  writeFileSync(logo, 'x');
  const text = yaml(
    `live: ${channel('{ countryCode: DE }', "mounts: ['/live.mp3'],")}`,
    `streams: { publicUrl: 'https://rädio.example/x/' }
page: { logo: ${logo} }`,
  );
  const server = await startServer(t, text);
  const known = {
    'icy-version': '2',
    'icy-main-stream-url': 'https://xn--rdio-loa.example/x/live.mp3',
    'icy-logo': 'https://xn--rdio-loa.example/x/web/logo',
    'icy-country-code': 'DE',
  };
  t.strictSame(await infoOf(t, server.port, '/live'), known);
  await server.reload(text.replace('DE', 'AT').replace(`page: { logo: ${logo} }`, ''));
  const { 'icy-logo': _, ...rest } = known;
  t.strictSame(await infoOf(t, server.port, '/live'), { ...rest, 'icy-country-code': 'AT' });
});

const BAD: Readonly<Record<string, RegExp>> = {
  '{ countryCode: Austria }': /countryCode: must be an ISO 3166-1 country/,
  '{ countryCode: AT, subdivisionCode: DE-BY }': /subdivisionCode: must be a subdivision of countryCode/,
  '{ languageCodes: [German] }': /languageCodes\[0\]: must be an ISO 639 language/,
  '{ languageCodes: [] }': /languageCodes: must be a list of 1 to 16 items/,
  '{ geoLatLong: [91, 0] }': /geoLatLong\[0\]: must be a number of degrees from -90 to 90/,
  '{ geoLatLong: [0] }': /geoLatLong: must be a list of latitude and longitude/,
  "{ logo: 'https://x.example/ä.png' }":
    /logo: must be an http:\/\/ or https:\/\/ URL of at most 1024 ASCII characters/,
  '{ logo: "https://x.example/a\\r\\nX: y" }': /logo: must be an http/,
  "{ mainStreamUrl: 'ftp://x.example/' }": /mainStreamUrl: must be an http/,
};

for (const [info, problem] of Object.entries(BAD)) {
  t.test(`${info} is refused`, async (t) => {
    const file = join(tempFolder(t), 'airsplice.yaml');
    writeFileSync(file, yaml(`live: ${channel(info)}`));
    t.throws(() => loadConfig(file, {}), { message: problem });
  });
}
