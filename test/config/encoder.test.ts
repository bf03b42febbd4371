/** What the configuration says of encoders: passwords that SHOUTcast's one line could not carry, and the port beside an address's own. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { shoutcastPortOf } from '../../src/config/addresses/addresses-config.js';
import { ConfigError, type LoadedConfig, loadConfig } from '../../src/config/load.js';
import { misread } from '../../src/config/secret.js';
import { readLogin } from '../../src/http/ingest/shoutcast-password.js';
import { verdict } from '../../src/net/front/first-bytes.js';

const SHA256 = 'sha256:7ad1ec1be8a0f2c0b30a1f1f5a0e7a1c0f7d6a43a3b6c6d4a1d0a7e6b9c3d285';

function load(t: Test, encoder: string, password = 'hackme', addresses = ''): LoadedConfig {
  const text = `${addresses}\nstations: { s: { channels: { c: { sources: [{ type: encoder, ${encoder} }] } } } }`;
  return loadConfig(join(t.testdir({ 'a.yaml': text }), 'a.yaml'), { PASSWORD: password });
}

function problems(t: Test, encoder: string, password?: string, addresses?: string): string[] {
  try {
    load(t, encoder, password, addresses);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (password !== undefined) t.notMatch(error.message, password, 'no password in it');
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
}

const AT = 'stations.s.channels.c.sources[0]';
const COLON = 'must not contain a colon: encoders write user:password';
const BEGINS = 'must not begin with / or !: encoders write /mount:password and !POKE';
const REQUEST = 'must not look like the first line of an HTTP request';
const CONTROL = 'must not contain control characters or line breaks';

t.test('passwords that no SHOUTcast encoder could say are refused where they are known', async (t) => {
  const table: readonly [string, string][] = [
    ['hack:me', COLON],
    ['hackme:', COLON],
    ['/hackme', BEGINS],
    ['!hackme', BEGINS],
    ['GET rich', REQUEST],
    ['SOURCE of joy', REQUEST],
    ['PUT it there', REQUEST],
    ['my radio/1.0', REQUEST],
    ['hackme\n', CONTROL],
    ['\x16hackme', CONTROL],
  ];
  for (const [password, message] of table) {
    t.strictSame(
      problems(t, 'password: env:PASSWORD', password),
      [`${AT}.password: ${message}`],
      JSON.stringify(password),
    );
  }
  for (const password of [
    'hackme',
    'GETrich',
    'Get rich',
    'hack/me!',
    'SOURCE',
    'héllo wörld',
    SHA256,
    'radio/1.0',
    '#1',
  ]) {
    t.strictSame(problems(t, 'password: env:PASSWORD', password), [], password);
  }
  t.strictSame(problems(t, `password: ${SHA256}`), [], 'a digest reveals nothing');
  t.strictSame(problems(t, 'password: demo-source, user: "d:j"'), [`${AT}.user: ${COLON}`]);
});

t.test('what is accepted reaches the SHOUTcast acceptor as a password', async (t) => {
  const words = [
    'GET',
    'PUT',
    'SOURCE',
    ' ',
    '/',
    '!',
    'x',
    'HTTP/1.1',
    '/1.0',
    '#1',
    'é',
    'OPTIONS',
    'PROXY UNKNOWN',
    'metapush',
    '\n',
    '\x7f',
  ];
  let through = 0;
  for (const a of words) {
    for (const b of words) {
      for (const c of words) {
        const password = a + b + c;
        if (misread(password) !== null) continue;
        through++;
        const said = verdict(Buffer.from(`${password}\n`));
        const login = readLogin(password);
        const isRead = login.kind === 'password' && login.mount === null && login.readings[0]?.password === password;
        if (said !== 'shoutcast' || !isRead) t.fail(`${JSON.stringify(password)}: ${said} ${login.kind}`);
      }
    }
  }
  t.ok(through > 500, `${through} passwords`);
});

t.test('shoutcastPort', async (t) => {
  const of = (addresses: string) => {
    const config = load(t, 'password: demo-source', undefined, `addresses: ${addresses}`);
    return config.addresses.map((address) => shoutcastPortOf(address, config.addresses));
  };
  const local = 'host: 127.0.0.1';
  t.same(of(`[{ ${local}, port: 8000 }]`), [8001]);
  t.same(of(`[{ ${local}, port: 8000 }, { ${local}, port: 8001 }, { ${local}, port: 65535 }, { ${local}, port: 0 }]`), [
    ...[undefined, 8002, undefined, undefined],
  ]);
  t.same(of(`[{ ${local}, port: 8000, shoutcastPort: 0 }, { ${local}, port: 8002, shoutcastPort: 9000 }]`), [0, 9000]);
  t.same(of(`[{ ${local}, port: 8000, shoutcastPort: false }]`), [undefined]);
  t.same(of(`[{ ${local}, port: 8000, roles: [stream] }, { ${local}, port: 80, roles: [encoder] }]`), [undefined, 81]);
  const wrong = (address: string) =>
    problems(t, 'password: demo-source', undefined, `addresses: [{ ${local}, port: 1, ${address} }]`);
  for (const value of ['true', '-1', '65536', '8001.5', 'next']) {
    t.match(wrong(`shoutcastPort: ${value}`), [/^addresses\[0\]\.shoutcastPort: must be .* from 0 to 65535/], value);
  }
  t.strictSame(wrong('shoutcastPort: 2, roles: [stream]'), ['addresses[0].shoutcastPort: needs the role encoder']);
});

t.test('an encoder needs a password, or a hook that is asked; directories need a URL', async (t) => {
  const problemOf = (rest: string, source: string, station = '') => {
    const text = `${rest}\nstations: { a: { ${station} channels: { live: { sources: [{ type: encoder${source} }] } } } }`;
    try {
      loadConfig('airsplice.yaml', {}, text);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const hook = "encoderHook: { url: 'http://127.0.0.1:9000/' }";
  const missing = /sources\[0\]\.password: is missing: without an encoderHook an encoder needs it/;
  t.match(problemOf('', ''), missing);
  t.match(problemOf(hook, ', hook: false'), missing);
  t.equal(problemOf(hook, ''), '');
  t.equal(problemOf('', '', `${hook},`), '');
  t.equal(problemOf('', ', password: demo-source'), '');
  t.match(problemOf("encoderHook: { url: 'http://u:p@127.0.0.1/' }", ''), /encoderHook\.url: must be an http/);
  const directories = "directories: [{ url: 'https://dir.example/' }]";
  t.match(problemOf(`${directories}\n${hook}`, ''), /directories: needs streams\.publicUrl/);
  t.equal(problemOf(`${directories}\n${hook}\nstreams: { publicUrl: 'https://radio.example' }`, ''), '');
});
