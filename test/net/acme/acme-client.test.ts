/** Orders of an authority that is away, broken or hostile: each ends in words of bounded length, within its time. The real one: test/e2e/acme.test.ts. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type OrderRequest, orderCertificate } from '../../../src/net/acme/acme-client.js';
import { pairOf } from '../../../src/net/acme/acme-files.js';
import { newKey } from '../../../src/net/acme/acme-key.js';
import { OrderRefused, retryAfterMs } from '../../../src/net/acme/order-refused.js';
import { ONE, PEM } from '../../kit/certificate.js';
import { type AuthorityStep, FakeAuthority } from '../../kit/fake-authority.js';
import { pause } from '../../kit/pause.js';
import { missing } from '../../kit/program.js';
import { tempFolder } from '../../kit/temp-folder.js';

const ACCOUNT = newKey();

const requestTo = (authority: FakeAuthority, more: Partial<OrderRequest> = {}): OrderRequest => ({
  directoryUrl: authority.directory,
  domains: ['a.test'],
  email: 'office@example.org',
  ca: undefined,
  eab: undefined,
  accountKey: ACCOUNT,
  signal: new AbortController().signal,
  ...more,
});

/** Why it brought none. */
async function refused(request: OrderRequest): Promise<OrderRefused> {
  const outcome = await orderCertificate(request).catch((error: unknown) => error);
  if (!(outcome instanceof OrderRefused)) throw new Error(`not refused: ${outcome}`);
  return outcome;
}

t.test('garbage at each step', async (t) => {
  const steps: readonly AuthorityStep[] = ['dir', 'nonce', 'account', 'order', 'authz', 'finalize', 'cert'];
  const garbage: readonly (readonly [string, number, string])[] = [
    ['no JSON', 200, '<html>\u0000\u001b[2J hello'],
    ['an empty body', 200, ''],
    ['other JSON', 200, '[1]'],
    ['null', 200, 'null'],
    ['a failure', 500, '{"type":"urn:x","detail":"\u202e out of order"}'],
    [
      'URLs of other kinds',
      200,
      '{"newNonce":"file:///etc/passwd","newAccount":3,"finalize":"x","authorizations":["gopher://x"],"status":"ready"}',
    ],
  ];
  for (const step of steps) {
    for (const [what, status, body] of garbage) {
      const authority = await FakeAuthority.open(t);
      authority.answers[step] = (response) =>
        response.writeHead(status, { 'Replay-Nonce': '', Location: `${authority.url}/poll` }).end(body);
      const { message } = await refused(requestTo(authority));
      t.ok(message.length > 0 && message.length <= 302, `${step}, ${what}: ${message}`);
      t.notMatch(message, /[\p{Cc}\p{Cf}]|PRIVATE/u);
      t.ok(authority.asked.length < 20, `${step}, ${what}: asked ${authority.asked.length} times`);
    }
  }
});

t.test('it is away, never answers, answers without end, is cut, is broken off', async (t) => {
  const authority = await FakeAuthority.open(t);
  t.match(await refused(requestTo(authority, { directoryUrl: 'http://127.0.0.1:9/dir' })), { message: /ECONNREFUSED/ });
  authority.answers.order = () => undefined;
  t.match(await refused(requestTo(authority, { requestMs: 200 })), { message: 'no answer in time' });
  authority.answers.order = (response) => void response.writeHead(201).write('{');
  t.match(await refused(requestTo(authority, { requestMs: 200 })), { message: 'no answer in time' });
  authority.answers.order = (response) => void response.end('x'.repeat(256 * 1024 + 1));
  t.match(await refused(requestTo(authority)), { message: 'the answer is longer than 262144 bytes' });
  authority.answers.order = (response) => void response.writeHead(201, { 'X-Long': 'x'.repeat(20_000) }).end();
  t.match(await refused(requestTo(authority)), { message: /head/ });
  authority.answers.order = (response) => void response.socket!.destroy();
  t.ok((await refused(requestTo(authority))).message);
  const stop = new AbortController();
  authority.answers.order = () => stop.abort();
  t.match(await refused(requestTo(authority, { signal: stop.signal })), { message: 'it was broken off' });
});

t.test('when it wants to be asked again', async (t) => {
  const authority = await FakeAuthority.open(t);
  authority.answers.order = (response) =>
    void response.writeHead(429, { 'Retry-After': '1200' }).end('{"detail":"too many certificates already issued"}');
  t.match(await refused(requestTo(authority)), { message: /too many certificates/, afterMs: 1_200_000 });
  t.equal(authority.asked.filter((step) => step === 'order').length, 1, 'it is not asked again at once');
  t.equal(retryAfterMs(undefined, 0), 0);
  t.equal(retryAfterMs('soon', 0), 0);
  t.equal(retryAfterMs('-5', 0), 0);
  t.equal(retryAfterMs('86400', 0), 86_400_000);
  t.equal(retryAfterMs('86401', 0), 86_400_000, 'not more than a day');
  t.equal(retryAfterMs('99999999999', 0), 86_400_000);
  t.equal(retryAfterMs('Thu, 01 Jan 1970 00:10:00 GMT', 0), 600_000);
  t.equal(retryAfterMs('Thu, 01 Jan 1970 00:10:00 GMT', 900_000), 0);
});

t.test('what it refuses, in its own words', async (t) => {
  const authority = await FakeAuthority.open(t);
  authority.status = 'pending';
  authority.answers.poll = (response) => void response.end(JSON.stringify(authority.order('invalid')));
  const challenge = {
    type: 'http-01',
    url: `${authority.url}/chal`,
    token: 'x',
    error: { detail: 'connection refused' },
  };
  const authz = { status: 'pending', identifier: { type: 'dns', value: 'a.test' }, challenges: [challenge] };
  authority.answers.authz = (response) => void response.end(JSON.stringify(authz));
  authority.answers.chal = (response) => void response.end('{}');
  t.match(await refused(requestTo(authority)), { message: 'a.test: connection refused' });
  authority.answers.authz = (response) =>
    void response.end(JSON.stringify({ ...authz, challenges: [{ type: 'dns-01' }] }));
  t.match(await refused(requestTo(authority)), { message: 'the authority offers no HTTP-01 for a.test' });
});

t.test('many proofs are looked at one after the other, and too many not at all', async (t) => {
  const authority = await FakeAuthority.open(t);
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const asks = (count: number) => {
    authority.asked.length = 0;
    authority.answers.order = (response) => {
      const authorizations = Array<string>(count).fill(`${authority.url}/authz`);
      response.writeHead(201, { Location: `${authority.url}/poll` });
      response.end(JSON.stringify({ ...authority.order(), authorizations }));
    };
  };
  let [open, most] = [0, 0];
  authority.answers.authz = (response) => {
    most = Math.max(most, ++open);
    void pause(5).then(() => {
      open--;
      response.end(JSON.stringify({ status: 'valid', identifier: { type: 'dns', value: 'a.test' }, challenges: [] }));
    });
  };
  const asked = () => authority.asked.filter((step) => step === 'authz').length;
  asks(100);
  t.match(await refused(requestTo(authority)), { message: /^the certificate from the authority cannot be used/ });
  t.strictSame([asked(), most, warnings], [100, 1, []]);
  asks(5000);
  t.match(await refused(requestTo(authority)), { message: 'the authority asks for 5000 proofs' });
  t.equal(asked(), 0);
});

t.test('a certificate that clients could not use', { skip: missing('openssl') }, async (t) => {
  const authority = await FakeAuthority.open(t);
  authority.chain = ONE.cert.toString();
  t.match(await refused(requestTo(authority)), { message: /cannot be used: .*mismatch/ }, 'of another key');
  // Of the right key: whatever it is for, it is signed for this name.
  const folder = tempFolder(t);
  const at = (name: string) => join(folder, name);
  let name = '';
  authority.answers.finalize = (response, { csr }) => {
    writeFileSync(at('csr'), Buffer.from(String(csr), 'base64url'));
    writeFileSync(at('names'), `subjectAltName=DNS:${name}`);
    const by = ['-CA', `${PEM}one.cert.pem`, '-CAkey', `${PEM}one.key.pem`, '-set_serial', '1', '-days', '1'];
    const args = ['x509', '-req', '-inform', 'DER', '-in', at('csr'), ...by, '-extfile', at('names')];
    authority.chain = execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
    response.end(JSON.stringify(authority.order('valid')));
  };
  name = 'b.test';
  t.match(await refused(requestTo(authority)), { message: 'the certificate from the authority is not for a.test' });
  name = 'a.test';
  const pem = await orderCertificate(requestTo(authority));
  t.ok(pairOf(pem));
  t.match(pem, /^-----BEGIN CERTIFICATE-----.*-----BEGIN PRIVATE KEY-----/s);
});
