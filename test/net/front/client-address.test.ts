/** Whose request it is: plain addresses, lists of trusted proxies, headers read from the right, and nothing that an untrusted peer can make up. */

import { Socket } from 'node:net';
import t from 'tap';
import { Proxies, type ProxyHeaderName, setClient } from '../../../src/net/front/client-address.js';
import { Random } from '../../kit/random.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

/** A connection from there. */
function from(address: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: address });
  return socket;
}

function client(
  peer: string,
  header: string | undefined,
  trusted: string[],
  head: ProxyHeaderName = 'x-forwarded-for',
): string {
  return new Proxies(trusted, head).clientOf(from(peer), (name) =>
    name === head ? header : 'for=203.0.113.66, 203.0.113.66',
  );
}

t.test('X-Forwarded-For from the right, one step for each trusted proxy', async (t) => {
  const trusted = ['10.0.0.0/8', '192.0.2.1', '2001:db8:5::/48'];
  for (const [peer, header, expected] of [
    ['198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['10.0.0.2', undefined, '10.0.0.2'],
    ['10.0.0.2', '203.0.113.9', '203.0.113.9'],
    ['::ffff:10.0.0.2', '203.0.113.9', '203.0.113.9'],
    ['10.0.0.2', '1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['10.0.0.2', '1.1.1.1, 203.0.113.9,10.9.9.9 , 192.0.2.1', '203.0.113.9'],
    ['10.0.0.2', '1.1.1.1, 10.9.9.9, 192.0.2.2, 10.0.0.1', '192.0.2.2'],
    ['10.0.0.2', '10.0.0.4, 10.0.0.3', '10.0.0.4'],
    ['2001:db8:5:9::1', '2001:DB8:77::1', '2001:db8:77::1'],
    ['2001:db8:6::1', '203.0.113.9', '2001:db8:6::1'],
    ['10.0.0.2', '203.0.113.9:4711', '203.0.113.9'],
    ['10.0.0.2', '[2001:db8:77::1]:4711', '2001:db8:77::1'],
    ['10.0.0.2', '[2001:db8:77::1]', '2001:db8:77::1'],
    ['10.0.0.2', '203.0.113.9, unknown', '10.0.0.2'],
    ['10.0.0.2', '203.0.113.9, ', '10.0.0.2'],
    ['10.0.0.2', '203.0.113.9, _hidden, 10.0.0.9', '10.0.0.9'],
    ['10.0.0.2', '', '10.0.0.2'],
    ['10.0.0.2', '999.1.1.1', '10.0.0.2'],
    ['10.0.0.2', '203.0.113.9/32', '10.0.0.2'],
  ] as const) {
    t.equal(client(peer, header, trusted), expected, `${peer} says ${header}`);
  }
  t.equal(client('10.0.0.2', ','.repeat(8000), trusted), '10.0.0.2');
  t.equal(client('127.0.0.1', '203.0.113.9', []), '127.0.0.1', 'none is trusted unless it is said');
});

t.test('Forwarded, where that is the head; then the other is not looked at', async (t) => {
  const trusted = ['10.0.0.0/8'];
  for (const [header, expected] of [
    ['for=203.0.113.9', '203.0.113.9'],
    ['for="[2001:db8:77::1]:4711";proto=https', '2001:db8:77::1'],
    ['proto=https; For = 203.0.113.9 ;by=10.0.0.2', '203.0.113.9'],
    ['for=1.1.1.1, for=203.0.113.9;proto=http, for=10.0.0.9', '203.0.113.9'],
    ['for=203.0.113.9, for=unknown', '10.0.0.2'],
    ['for=203.0.113.9, for=_SEVKISEK', '10.0.0.2'],
    ['by=203.0.113.9', '10.0.0.2'],
    ['for="203.0.113.9:_edge";proto=https', '203.0.113.9'],
    ['for="[2001:db8:77::1]:_edge"', '2001:db8:77::1'],
    // The host is what the client has sent: `;`, `=` and `,` may stand in one.
    ['proto=http;host="x;for=198.51.100.66";for=203.0.113.9', '203.0.113.9'],
    ['host="x,for=198.51.100.66";for=203.0.113.9', '203.0.113.9'],
    ['for=203.0.113.9;host="x,for=198.51.100.66"', '203.0.113.9'],
    ['for=203.0.113.9;host="\\",for=198.51.100.66"', '203.0.113.9'],
    ['for=1.1.1.1;host="x, for=203.0.113.9', '203.0.113.9'],
    ['for=203.0.113.9;for=198.51.100.66', '10.0.0.2'],
    ['host="x;for=198.51.100.66;for=203.0.113.9', '10.0.0.2'],
    ['xfor=203.0.113.9', '10.0.0.2'],
    [undefined, '10.0.0.2'],
  ] as const) {
    t.equal(client('10.0.0.2', header, trusted, 'forwarded'), expected, header ?? 'nothing');
  }
});

t.test('what a proxy sent at the beginning of the connection counts as its peer', async (t) => {
  const proxies = new Proxies(['10.0.0.0/8'], 'x-forwarded-for');
  const socket = from('10.0.0.2');
  setClient(socket, '203.0.113.9');
  t.equal(
    proxies.clientOf(socket, () => '1.1.1.1'),
    '203.0.113.9',
    'a client does not become a proxy by it',
  );
  setClient(socket, '10.0.0.7');
  t.equal(
    proxies.clientOf(socket, () => '1.1.1.1'),
    '1.1.1.1',
    'a proxy behind a proxy',
  );
});

t.test('at a server: several lines and several proxies, of both families, by either way in', async (t) => {
  const { port } = await startServer(
    t,
    demoYaml('proxies: { trusted: [127.0.0.0/8, "2001:db8:5::/48"] }\nlimits: { listenersPerAddress: 1 }'),
  );
  const status = async (kept: boolean, ...lines: string[]) => {
    const wire = new Wire(t, port);
    if (kept) await wire.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n').take(1);
    const from = wire.got.length;
    const headers = lines.map((line) => `X-Forwarded-For: ${line}\r\n`).join('');
    wire.send(`GET /demo HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    await until(() => wire.got.includes('\r\n\r\n', from), 10_000);
    return Number(wire.got.slice(from).split(' ')[1]);
  };
  for (const [i, kept] of [false, true].entries()) {
    const claims = (client: string) => ['198.51.100.1', client, '127.0.0.9, [2001:db8:5::2]:443', '127.0.0.1:80'];
    t.equal(await status(kept, ...claims(`[2001:db8:77:${i}::1]:4711`)), 200);
    t.equal(await status(kept, ...claims(`2001:db8:77:${i}::2`)), 503, 'a /64 is one address');
    t.equal(await status(kept, ...claims(`2001:db8:77:${i + 8}::1`)), 200, 'the one beside it is another');
    t.equal(await status(kept, ...claims(`192.0.2.${i}`)), 200);
    t.equal(await status(kept, `192.0.2.${i}`), 503, 'by another way');
    t.equal(await status(kept, `192.0.2.${i}, 203.0.113.${i}`), 200, 'only what a trusted proxy says');
  }
});

t.test('whatever strangers write, their own address stays or a trusted one was there to say another', async (t) => {
  const random = new Random();
  const pieces = [
    '1.1.1.1',
    '10.0.0.1',
    '10.255.0.3',
    ',',
    ', ',
    'for=',
    '"',
    '[::1]',
    ':80',
    'unknown',
    ';',
    '\0',
    '::ffff:10.0.0.1',
  ];
  for (let i = 0; i < 3000; i++) {
    const header = Array.from({ length: random.int(0, 8) }, () => pieces[random.int(0, pieces.length - 1)]!).join('');
    for (const head of ['x-forwarded-for', 'forwarded'] as const) {
      if (client('198.51.100.1', header, ['10.0.0.0/8'], head) !== '198.51.100.1')
        t.fail(`seed ${random.seed}: ${JSON.stringify(header)}`);
      const got = client('10.0.0.2', `${header}, for=203.0.113.9`, ['10.0.0.0/8'], 'forwarded');
      if (got !== '203.0.113.9') t.fail(`seed ${random.seed}: ${JSON.stringify(header)} gave ${got}`);
    }
  }
  t.pass(`seed ${random.seed}`);
});
