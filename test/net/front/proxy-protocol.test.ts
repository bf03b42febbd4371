/** The PROXY protocol: its two heads at every split point, what is no head, who may send one, and that the client's address counts everywhere. */

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { loadConfig } from '../../../src/config/load.js';
import { type ProxyHeader, readProxyHeader } from '../../../src/net/front/proxy-protocol.js';
import { bestOfThree } from '../../kit/best-of-three.js';
import { PEM } from '../../kit/certificate.js';
import { keepLines } from '../../kit/log-lines.js';
import { isLong } from '../../kit/long.js';
import { LoopDelay } from '../../kit/loop-delay.js';
import { Random } from '../../kit/random.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { until } from '../../kit/until.js';
import { accepted, arrived, Wire } from '../../kit/wire.js';

t.jobs = 5;

const digest = (text: string) => createHash('sha256').update(text).digest('hex');
const yaml = (address = '', extra = '', trusted = '127.0.0.1, "::1"') => `
addresses: [{ host: 127.0.0.1, port: 0, proxyProtocol: true ${address} }]
proxies: { trusted: [${trusted}] }
${extra}
stations:
  house:
    channels:
      demo: { pushTokens: ['sha256:${digest('right')}'], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
      studio: { sources: [{ type: encoder, password: 'sha256:${digest('secret')}' }] }
`;

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const GET = Buffer.from('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');

/** @param length said in the head, where it is a lie */
function v2(command: number, family: number, addresses: Buffer, tlvs = Buffer.alloc(0), length?: number): Buffer {
  const fixed = Buffer.from([command, family, 0, 0]);
  fixed.writeUInt16BE(length ?? addresses.length + tlvs.length, 2);
  return Buffer.concat([SIGNATURE, fixed, addresses, tlvs]);
}
const four = (from: string) => Buffer.from([...from.split('.').map(Number), 10, 0, 0, 2, 0xdc, 4, 1, 0xbb]);
const six = Buffer.concat([
  Buffer.from('20010db8007700000000000000000009', 'hex'),
  Buffer.alloc(16, 1),
  Buffer.alloc(4),
]);
// PP2_TYPE_AUTHORITY, PP2_TYPE_NOOP and a made-up one.
const TLVS = Buffer.concat([
  Buffer.from([0x02, 0, 9]),
  Buffer.from('radio.org'),
  Buffer.from([0x04, 0, 3, 0, 0, 0]),
  Buffer.from([0xea, 0, 0]),
]);

const HEADS: readonly (readonly [string, Buffer, string | null])[] = [
  ['v1 TCP4', Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.2 56324 443\r\n'), '203.0.113.9'],
  ['v1 TCP6', Buffer.from('PROXY TCP6 2001:DB8:77::9 ::1 1 65535\r\n'), '2001:db8:77::9'],
  ['v1 UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n'), null],
  ['v1 UNKNOWN with rubbish', Buffer.from('PROXY UNKNOWN ffff:f... 1 2\r\n'), null],
  ['v1, the longest', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(91)}\r\n`), null],
  ['v2 TCP4', v2(0x21, 0x11, four('203.0.113.9')), '203.0.113.9'],
  ['v2 TCP6 with TLVs', v2(0x21, 0x21, six, TLVS), '2001:db8:77::9'],
  ['v2 TCP4 with TLVs', v2(0x21, 0x11, four('203.0.113.9'), TLVS), '203.0.113.9'],
  [
    'v2 mapped IPv4',
    v2(0x21, 0x21, Buffer.concat([Buffer.alloc(10), Buffer.from([255, 255, 203, 0, 113, 9]), six.subarray(16)])),
    '203.0.113.9',
  ],
  ['v2 LOCAL', v2(0x20, 0x00, Buffer.alloc(0)), null],
  ['v2 LOCAL with addresses, to be ignored', v2(0x20, 0x11, four('203.0.113.9')), null],
  ['v2 UNSPEC', v2(0x21, 0x00, Buffer.alloc(0), TLVS), null],
  ['v2 UDP', v2(0x21, 0x12, four('203.0.113.9')), null],
  ['v2 UNIX', v2(0x21, 0x31, Buffer.alloc(216, 0x2f)), null],
  ['v2, the longest', v2(0x21, 0x11, four('203.0.113.9'), Buffer.alloc(8192 - 28)), '203.0.113.9'],
];

const WRONG: readonly (readonly [string, Buffer])[] = [
  ['no head', GET],
  ['v1 in lower case', Buffer.from('proxy TCP4 203.0.113.9 10.0.0.2 1 2\r\n')],
  ['v1 with LF only', Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.2 1 2\n')],
  ['v1 with two blanks', Buffer.from('PROXY TCP4  203.0.113.9 10.0.0.2 1 2\r\n')],
  ['v1 with an IPv6 address in TCP4', Buffer.from('PROXY TCP4 ::1 10.0.0.2 1 2\r\n')],
  ['v1 with an IPv4 address in TCP6', Buffer.from('PROXY TCP6 203.0.113.9 ::1 1 2\r\n')],
  ['v1 with a port too high', Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.2 1 65536\r\n')],
  ['v1 without ports', Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.2\r\n')],
  ['v1 UDP4', Buffer.from('PROXY UDP4 203.0.113.9 10.0.0.2 1 2\r\n')],
  ['v1, one byte too long', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(92)}\r\n`)],
  ['v2 of version 1', v2(0x11, 0x11, four('203.0.113.9'))],
  ['v2 with an unknown command', v2(0x22, 0x11, four('203.0.113.9'))],
  ['v2 too short for its family', v2(0x21, 0x21, four('203.0.113.9'))],
  ['v2, one byte too long', v2(0x21, 0x11, four('203.0.113.9'), Buffer.alloc(8192 - 27))],
  ['v2 with a broken signature', Buffer.concat([SIGNATURE.subarray(0, 11), Buffer.from('X'), Buffer.alloc(20)])],
];

/** At a server; all of them where the head stands for its version. */
const CUTS_APART = isLong ? 1 : 5;
const CUT_EVERYWHERE = ['v1 TCP4', 'v2 TCP6 with TLVs'];

const read = (bytes: Buffer) => readProxyHeader(bytes, 8192);

t.test('heads at every split point, with and without bytes behind them', { buffered: true }, async (t) => {
  for (const [name, head, address] of HEADS) {
    for (let cut = 0; cut < head.length; cut++) {
      if (read(head.subarray(0, cut)) !== 'more') t.fail(`${name} cut at ${cut}: ${read(head.subarray(0, cut))}`);
    }
    for (const rest of [Buffer.alloc(0), Buffer.from('G'), GET, Buffer.from('PROXY UNKNOWN\r\n')]) {
      const got = read(Buffer.concat([head, rest])) as ProxyHeader;
      t.equal(got.address, address, name);
      t.equal(String(got.rest), String(rest), `${name}: what is behind it`);
    }
  }
  for (const [name, bytes] of WRONG) {
    const first = [...bytes].findIndex((_, i) => read(bytes.subarray(0, i + 1)) === 'wrong');
    t.ok(first >= 0, `${name}: known at byte ${first}`);
    for (let at = first; at < bytes.length; at++) {
      if (read(bytes.subarray(0, at + 1)) !== 'wrong') t.fail(`${name}: right again at ${at}`);
    }
  }
  const random = new Random();
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.concat([
      random.chance(0.5) ? SIGNATURE : Buffer.from('PROXY '),
      random.bytes(random.int(0, 60)),
    ]);
    const said = read(bytes);
    if (typeof said === 'object' && said.rest.length >= bytes.length - 14)
      t.fail(`seed ${random.seed}: ${bytes.toString('hex')}`);
  }
});

/** The status of a request that says by its wrong token for whom it counts, or how the connection ended. */
async function push(t: Test, port: number, head: Buffer | string): Promise<number | 'closed'> {
  const wire = new Wire(t, port).send(head).send('GET /metapush/demo/wrong HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => wire.closed || wire.answers().length > 0, 5000);
  wire.socket.destroy();
  return wire.answers()[0]?.status ?? 'closed';
}

t.test('at a server: every split point, and everything behind it is served', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml());
  for (const [i, [name, head]] of HEADS.filter(([, { length }]) => length < 300).entries()) {
    const apart = CUT_EVERYWHERE.includes(name) ? 1 : CUTS_APART;
    const all = Array.from({ length: head.length + 2 }, (_, cut) => cut);
    const cuts = all.filter((cut) => (cut + i) % apart === 0);
    await Promise.all(
      cuts.map(async (cut) => {
        const all = Buffer.concat([head, GET]);
        const wire = new Wire(t, port).send(all.subarray(0, cut));
        await arrived(wire.socket);
        const [answer] = await wire.send(all.subarray(cut)).take(1, 15_000);
        if (answer!.status !== 200) t.fail(`${name} cut at ${cut}: ${answer!.status}`);
      }),
    );
  }
  const slow = new Wire(t, port);
  for (const byte of Buffer.concat([v2(0x21, 0x21, six, TLVS), GET])) {
    slow.send(Buffer.from([byte]));
    await new Promise((done) => setImmediate(done));
  }
  t.equal((await slow.take(1))[0]!.status, 200, 'byte by byte');
  for (const [name, bytes] of WRONG) {
    const wire = new Wire(t, port).send(bytes);
    await wire.untilClosed();
    // A request is told why; nothing of it is served.
    if (/^(GET|POST|SOURCE) \//.test(bytes.toString('latin1'))) t.match(wire.got, /^HTTP\/1\.1 400 /, name);
    else t.equal(wire.got, '', name);
  }
  await until(() => accepted(port).length === 0, 5000);
});

t.test(
  'the address of the head counts: wrong secrets, watchers, listeners, encoders',
  { buffered: true },
  async (t) => {
    const limits =
      'limits: { wrongSecretsPerMinute: 1, secretQueue: 0, watchersPerAddress: 1, listenersPerAddress: 1 }';
    const { port } = await startServer(t, yaml('', limits));
    const as = (address: string) => `PROXY TCP${address.includes(':') ? '6' : '4'} ${address} ${address} 1 2\r\n`;
    t.equal(await push(t, port, as('203.0.113.1')), 403);
    t.equal(await push(t, port, as('203.0.113.1')), 429);
    t.equal(await push(t, port, as('203.0.113.2')), 403, 'another client of the same proxy');
    t.equal(await push(t, port, as('2001:db8::1')), 403);
    t.equal(await push(t, port, as('2001:db8::ffff:1')), 429, 'a /64 is one client');
    t.equal(await push(t, port, as('2001:db8:0:1::1')), 403);
    t.equal(await push(t, port, v2(0x20, 0, Buffer.alloc(0))), 403, 'the proxy for itself');
    t.equal(await push(t, port, 'PROXY UNKNOWN\r\n'), 429, 'and again');

    const status = async (head: string, request: string) => {
      const wire = new Wire(t, port).send(head).send(request);
      await until(
        () => wire.got.includes('\r\n\r\n'),
        10_000,
        () => request,
      );
      return Number(wire.got.split(' ')[1]);
    };
    const encoder = `SOURCE /studio HTTP/1.0\r\nAuthorization: Basic ${btoa('source:wrong')}\r\n\r\n`;
    t.equal(await status(as('203.0.113.1'), encoder), 429);
    t.equal(await status(as('203.0.113.3'), encoder), 401);
    const sse = 'GET /metadata/sse/channel/demo HTTP/1.1\r\nHost: x\r\n\r\n';
    const listen = 'GET /demo HTTP/1.1\r\nHost: x\r\n\r\n';
    for (const request of [sse, listen]) {
      t.equal(await status(as('203.0.113.1'), request), 200);
      t.equal(await status(as('203.0.113.1'), request), 503);
      t.equal(await status(as('203.0.113.2'), request), 200);
      t.equal(await status(as('2001:db8::1'), request), 200);
      t.equal(await status(as('2001:db8::2'), request), 503);
    }
  },
);

t.test('a head may be as long as the configuration says, also after a reload', { buffered: true }, async (t) => {
  const { port, reload } = await startServer(t, yaml('', 'limits: { headBytes: 256 }'));
  const long = Buffer.concat([v2(0x21, 0x11, four('203.0.113.9'), Buffer.from([4, 1, 44, ...Buffer.alloc(300)])), GET]);
  const cut = new Wire(t, port).send(long);
  await cut.untilClosed();
  t.equal(cut.got, '');
  await reload(yaml('', 'limits: { headBytes: 1024 }'));
  const wire = new Wire(t, port).send(long);
  await wire.untilClosed();
  t.match(wire.got, /^HTTP\/1\.1 200 /);
});

t.test('trusted peers only; elsewhere none; ops for none unless named', { buffered: true }, async (t) => {
  const mistrusting = await startServer(t, yaml('', '', '192.0.2.0/24'));
  t.equal(await push(t, mistrusting.port, 'PROXY UNKNOWN\r\n'), 'closed', 'a peer that is not trusted');
  t.equal(await push(t, mistrusting.port, ''), 'closed');

  const plain = await startServer(t, yaml().replace(', proxyProtocol: true', ''));
  t.equal(await push(t, plain.port, ''), 403);
  for (const [name, head] of HEADS) t.not(await push(t, plain.port, head), 403, `${name} where none is expected`);

  const { port } = await startServer(t, yaml());
  const metrics = async (at: number, head: string) => {
    const wire = new Wire(t, at).send(`${head}GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n`);
    return (await wire.take(1))[0]!.status;
  };
  t.equal(await metrics(port, 'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n'), 404, 'whatever address is given');
  t.equal(await metrics(port, 'PROXY UNKNOWN\r\n'), 404, 'nor the proxy for itself');
  const named = await startServer(t, yaml(', roles: [ops]'));
  t.equal(await metrics(named.port, 'PROXY TCP4 203.0.113.1 127.0.0.1 1 2\r\n'), 200);
});

t.test('slow heads have a deadline, TLS comes behind the head', { buffered: true }, async (t) => {
  const { port } = await startServer(t, yaml('', 'limits: { headSeconds: 0.5 }'));
  const bestMs = await bestOfThree(900, async () => {
    const late = new LoopDelay(t);
    const startedMs = performance.now();
    const silent = new Wire(t, port);
    const begun = new Wire(t, port).send('PROXY TCP4 ');
    const trickling = new Wire(t, port).send('PROXY UNKNOWN ');
    const trickle = setInterval(() => trickling.send('x'), 50);
    t.teardown(() => clearInterval(trickle));
    for (const wire of [silent, begun, trickling]) await wire.untilClosed();
    const tookMs = performance.now() - startedMs;
    t.ok(tookMs > 450, `after ${Math.round(tookMs)} ms`);
    return tookMs - late.totalMs;
  });
  t.ok(bestMs < 900, `after ${Math.round(bestMs)} ms`);

  const pem = `tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem }`;
  const secured = await startServer(
    t,
    yaml(`, ${pem}`, 'limits: { wrongSecretsPerMinute: 1, secretQueue: 0, headSeconds: 2 }'),
  );
  const ask = async (head: string) => {
    const wire = new Wire(t, secured.port).send(head);
    // In one packet with the head, or after it.
    const socket = tls.connect({
      socket: wire.socket,
      ca: readFileSync(`${PEM}one.cert.pem`),
      servername: '',
      checkServerIdentity: () => undefined,
    });
    t.teardown(() => socket.destroy());
    let got = '';
    socket.on('error', () => undefined).on('data', (chunk) => (got += chunk));
    socket.write('GET /metapush/demo/wrong HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => got.includes('\r\n') || socket.destroyed, 5000);
    return Number(got.split(' ')[1]);
  };
  t.equal(await ask('PROXY TCP4 203.0.113.1 127.0.0.1 1 2\r\n'), 403);
  t.equal(await ask('PROXY TCP4 203.0.113.1 127.0.0.1 1 2\r\n'), 429);
  t.equal(await ask('PROXY TCP4 203.0.113.2 127.0.0.1 1 2\r\n'), 403, 'the address is known inside TLS');
  t.equal(await push(t, secured.port, 'PROXY TCP4 203.0.113.3 127.0.0.1 1 2\r\n'), 'closed', 'in the clear: refused');
});

t.test('an address that believes heads says whom', { buffered: true }, async (t) => {
  const path = join(tempFolder(t), 'config.yaml');
  const problem = (text: string) => {
    writeFileSync(path, text);
    try {
      loadConfig(path, {});
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.equal(problem(yaml()), '');
  t.match(problem(yaml('', '', '')), /:2:\d+: addresses\[0\]\.proxyProtocol: needs proxies\.trusted/);
  for (const wrong of ['10.0.0.0/33', '10.0.0', '::/129', 'localhost', '10.0.0.1/', '"fe80::1%eth0"', '10.0.0.0/8/8'])
    t.match(problem(yaml('', '', wrong)), /proxies\.trusted\[0\]: must be an IP address or a network/, wrong);
  for (const right of ['10.0.0.0/32', '0.0.0.0/0', '"::/0"', '"2001:db8::/128"'])
    t.equal(problem(yaml('', '', right)), '');
});

t.test('where it is not read: answered, and not a wrong password', { buffered: true }, async (t) => {
  const certificate = `tls: { certFile: ${PEM}one.cert.pem, keyFile: ${PEM}one.key.pem`;
  const stations = yaml('', 'limits: { wrongSecretsPerMinute: 1, secretQueue: 0 }').split('\n').slice(2).join('\n');
  const host = 'host: 127.0.0.1, port: 0';
  const addresses = `[{ ${host} }, { ${host}, ${certificate}, sharePort: true } }, { ${host}, ${certificate} } }]`;
  const { log, lines } = keepLines();
  const { app, port } = await startServer(t, `addresses: ${addresses}\n${stations}`, undefined, log);
  const [, shared, secure] = app.ports as [number, number, number];
  const reason = 'a PROXY header, which this address does not read (proxyProtocol)';
  const heads = HEADS.filter(([, head]) => head.length < 300).map(([, head]) => head);
  for (const at of [port, shared]) {
    for (const head of heads) {
      const wire = new Wire(t, at).send(Buffer.concat([head, GET]));
      const [answer] = await wire.take(1);
      t.same([answer!.status, answer!.body], [400, `${reason}\n`], String(head.subarray(0, 12)));
      await wire.untilClosed();
    }
  }
  for (const head of heads) {
    const wire = new Wire(t, secure).send(Buffer.concat([head, GET]));
    await wire.untilClosed();
    t.equal(wire.got, '', 'TLS alone');
  }
  const named = lines.filter((line) => line.message === 'connection closed');
  t.match(named[0], { address: '127.0.0.1', reason, status: 400 });
  t.same(new Set(named.map((line) => line['reason'])), new Set([reason]));
  t.same(
    lines.filter(({ message }) => message === 'encoder refused'),
    [],
    'no password',
  );
  t.equal(await push(t, port, ''), 403, 'no strike against the address');
  // The limit is there.
  t.equal(await push(t, port, ''), 429);
});

t.test('a missing header, and a peer that is not trusted, are logged', { buffered: true }, async (t) => {
  const missing = keepLines();
  const { port } = await startServer(t, yaml(), undefined, missing.log);
  for (const first of [GET, Buffer.from('hackme\r\n'), Buffer.from([22, 3, 1])]) {
    const wire = new Wire(t, port).send(first);
    await wire.untilClosed();
    if (first === GET) t.match(wire.got, /^HTTP\/1\.1 400 .*\r\n\r\nno PROXY header, which this address must have/s);
    else t.equal(wire.got, '', 'no request');
  }
  const reason = 'no PROXY header, which this address must have (proxyProtocol)';
  t.match(
    missing.lines.find((line) => line.message === 'connection closed'),
    { address: '127.0.0.1', reason, status: 400 },
  );
  const twice = new Wire(t, port).send('PROXY UNKNOWN\r\nPROXY UNKNOWN\r\n');
  t.equal((await twice.take(1))[0]!.status, 400, 'one too many');
  const foreign = keepLines();
  const { port: other } = await startServer(t, yaml('', '', '192.0.2.1'), undefined, foreign.log);
  await new Wire(t, other).send(Buffer.concat([HEADS[0]![1], GET])).untilClosed();
  t.match(
    foreign.lines.find((line) => line.message === 'connection closed'),
    { address: '127.0.0.1', status: 403, reason: /^not one of proxies.trusted/ },
  );
});
