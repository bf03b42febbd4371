/** Certificates of addresses: files, or an authority; what must be together. */

import t from 'tap';
import { acmeCertificates, certificateFiles, certificateName } from '../../../src/config/addresses/tls.js';
import { ConfigError, loadConfig } from '../../../src/config/load.js';
import { PEM } from '../../kit/certificate.js';

const FILES = `certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem`;
const PLAIN = '{ host: 127.0.0.1, port: 80 }';
const KEY = 'bGV0IHVzIGhhdmUgYSBjZXJ0aWZpY2F0ZQ';

/** The problems, or null: it can be used. */
function problems(addresses: string, env: NodeJS.ProcessEnv = {}): string | null {
  try {
    loadConfig('x.yaml', env, `addresses: [${addresses}]\n`);
    return null;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}
const withTls = (tls: string, port = 443) => `{ host: 127.0.0.1, port: ${port}, tls: { ${tls} } }`;
const withAcme = (acme: string, env: NodeJS.ProcessEnv = {}) =>
  problems(`${PLAIN}, ${withTls(`acme: { ${acme} }`)}`, env);

t.test('either files or an authority', async (t) => {
  t.equal(problems(withTls(FILES)), null);
  t.equal(withAcme('domains: [a.test]'), null);
  t.match(problems(withTls('')), /needs certFile and keyFile, or acme/);
  t.match(problems(withTls(`certFile: ${PEM}one.cert.pem`)), /tls\.keyFile: is missing/);
  t.match(problems(withTls(`keyFile: ${PEM}one.key.pem`)), /tls\.certFile: is missing/);
  t.match(problems(`${PLAIN}, ${withTls(`${FILES}, acme: { domains: [a.test] }`)}`), /not both/);
});

t.test('domains', async (t) => {
  const label = 'x'.repeat(63);
  for (const good of [
    'a',
    'a.test',
    'xn--mnchen-3ya.de',
    `${label}.test`,
    `${label}.${label}.${label}.${'y'.repeat(61)}`,
  ]) {
    t.equal(withAcme(`domains: ['${good}']`), null, good);
  }
  for (const bad of [
    '',
    'A.test',
    '*.a.test',
    '127.0.0.1',
    '::1',
    'a..test',
    '-a.test',
    'a_b.test',
    'a.test.',
    'a.test:80',
    'http://a.test',
    'münchen.de',
    `x${label}.test`,
    `${label}.${label}.${label}.${'y'.repeat(62)}`,
  ]) {
    t.match(withAcme(`domains: ['${bad}']`), /must be a host name in lower case/, bad);
  }
  const many = (count: number) => Array.from({ length: count }, (_, i) => `a${i}.test`).join();
  t.equal(withAcme(`domains: [${many(100)}]`), null);
  t.match(withAcme(`domains: [${many(101)}]`), /1 to 100 items/);
  t.match(withAcme('domains: []'), /1 to 100 items/);
  t.match(withAcme('domains: [a.test, a.test]'), /each host once/);
});

t.test('e-mail, directory, account', async (t) => {
  t.equal(withAcme("domains: [a.test], email: 'office@a.test', directoryUrl: 'https://ca.test/dir'"), null);
  for (const bad of ['office', 'a@b,c@d', 'a@b?x', '@b', 'a b@c']) {
    t.match(withAcme(`domains: [a.test], email: '${bad}'`), /must be an e-mail address/, bad);
  }
  t.match(withAcme("domains: [a.test], directoryUrl: 'ftp://ca.test'"), /http/);
  const eab = "domains: [a.test], eab: { keyId: one, key: 'env:MAC' }";
  t.equal(withAcme(eab, { MAC: KEY }), null);
  for (const bad of [undefined, '', 'too-short', `${KEY}+/`, `${KEY}===`]) {
    const problem = withAcme(eab, bad === undefined ? {} : { MAC: bad });
    t.match(problem, /that contains the authority's key/);
    if (bad) t.notMatch(problem, bad);
  }
});

t.test('the addresses together', async (t) => {
  const acme = (domains: string, more = '') => `acme: { domains: [${domains}] }${more}`;
  t.match(problems(withTls(acme('a.test'))), /needs an address without tls \(or with sharePort\)/);
  t.equal(problems(withTls(acme('a.test', ', sharePort: true'))), null);
  t.equal(problems([PLAIN, withTls(acme('a.test, b.test')), withTls(acme('b.test, a.test'), 8443)].join()), null);
  t.equal(problems([PLAIN, withTls(acme('a.test')), withTls(acme('b.test'), 8443)].join()), null);
  const overlap = problems([PLAIN, withTls(acme('a.test, b.test')), withTls(acme('c.test, b.test'), 8443)].join());
  t.match(overlap, /addresses\[?.?2\]?\.tls\.acme\.domains.*is already in another certificate \(addresses\.1\)/);
});

t.test('names of files', async (t) => {
  const directoryUrl = 'https://ca.test/dir';
  const [one, two] = [
    { domains: ['b.test', 'a.test'], directoryUrl },
    { domains: ['a.test', 'b.test'], directoryUrl },
  ];
  t.equal(certificateName(one), certificateName(two));
  t.not(certificateName(one), certificateName({ ...one, directoryUrl: 'https://other.test/dir' }));
  t.not(certificateName(one), certificateName({ ...one, domains: ['a.test'] }));
  const long = `${'x'.repeat(63)}.${'x'.repeat(63)}.${'x'.repeat(63)}.test`;
  t.ok(certificateName({ domains: [long], directoryUrl }).length < 200);
  t.equal(acmeCertificates([{ tls: { acme: one } }, { tls: { acme: two } }, {}]).size, 1);
  const { certFile, keyFile, isOwn } = certificateFiles({ acme: one }, '/data');
  t.match(certFile, /^\/data\/acme\/a\.test-[0-9a-f]{12}\/certificate\.pem$/);
  t.equal(certFile, keyFile);
  t.ok(isOwn);
});

t.test('a port is taken once, wherever that is said', async (t) => {
  const of = (...addresses: string[]) => problems(addresses.map((each) => `{ ${each} }`).join());
  const two = (a: string, b: string) => of(`host: '${a}', port: 9000`, `host: '${b}', port: 9000, roles: [ops]`);
  for (const [a, b] of [
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', '127.0.0.1'],
    ['0.0.0.0', '::'],
    ['::1', '::'],
    ['localhost', 'LocalHost'],
  ] as const) {
    t.match(two(a, b), /^x\.yaml:1:\d+: addresses\[1\]\.port: is taken by addresses\[0\]\.port$/, `${a} ${b}`);
  }
  for (const [a, b] of [
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.1', '::1'],
    ['0.0.0.0', '::1'],
  ] as const)
    t.equal(two(a, b), null, `${a} ${b}`);
  t.equal(of('host: 127.0.0.1, port: 0', 'host: 127.0.0.1, port: 0'), null, 'any free one');
  t.match(of('host: 127.0.0.1, port: 9000, shoutcastPort: 9000'), /shoutcastPort: is taken by addresses\[0\]\.port$/);
  const next = of('host: 127.0.0.1, port: 9000, shoutcastPort: 9001', 'host: 127.0.0.1, port: 9001');
  t.match(next, /addresses\[1\]\.port: is taken by addresses\[0\]\.shoutcastPort$/);
  t.equal(of('host: 127.0.0.1, port: 9000', 'host: 127.0.0.1, port: 9001'), null, 'what is not said makes way');
});
