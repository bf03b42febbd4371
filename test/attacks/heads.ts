/** Heads that say two things at once, that never end, that are none; and what stands before a head: TLS, PROXY. */

import { FORGER_PASSWORD, PROXY, PROXY_PEER, TLS } from './arena.js';
import { type Attack, again, connect, exchange, sendInPieces, wait } from './attack.js';

const BASIC = `Authorization: Basic ${Buffer.from('source:wrong').toString('base64')}\r\n`;
const SMUGGLED = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

/** Of each service, a request whose end two readers see in two places, and behind the first of them another request. */
const CONFLICTS = [
  'POST /admin/metadata',
  'POST /admin.cgi',
  'POST /metapush/prey/x',
  'GET /metadata/channel/prey.json',
].flatMap((line) =>
  [
    `Content-Length: 0\r\nContent-Length: ${SMUGGLED.length}\r\n`,
    `Content-Length: ${SMUGGLED.length}\r\nContent-Length: 0\r\n`,
    `Content-Length: ${SMUGGLED.length}\r\nTransfer-Encoding: chunked\r\n`,
    `Content-Length : ${SMUGGLED.length}\r\n`,
    `Content-Length: ${SMUGGLED.length}\r\nX: a\0b\r\n`,
    'Content-Length: +0\r\n',
    `Content-Length: 0, ${SMUGGLED.length}\r\n`,
  ].map((heads) => `${line} HTTP/1.1\r\nHost: x\r\n${BASIC}${heads}\r\n`),
);

/** One answer at most, and the connection closed: else a proxy before us and we disagree on whose answer is whose. */
export const conflictingLengths: Attack = async (port, random, signal) => {
  for (const head of CONFLICTS) {
    if (signal.aborted) return;
    const { got } = await exchange(port, random, signal, head + SMUGGLED);
    const answers = got.split(/(?=HTTP\/1\.[01] \d\d\d )/).length;
    if (answers > 1 && /HTTP\/1\.1 200 OK/.test(got))
      throw new Error(`${JSON.stringify(head)} smuggled: ${JSON.stringify(got)}`);
  }
};

export const hugeHeads: Attack = (port, random, signal) =>
  again(signal, 30, 1000, () => {
    const heads = [
      `GET /${'a'.repeat(60_000)} HTTP/1.1\r\n`,
      `GET /prey HTTP/1.1\r\n${'X: y\r\n'.repeat(5000)}`,
      `GET /prey?${'a=b&'.repeat(7000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /metadata/channel/prey.json?${'%41'.repeat(9000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /prey HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${','.repeat(30_000)}\r\n\r\n`,
      `GET /prey HTTP/1.1\r\nHost: x\r\nCookie: ${'a=b; '.repeat(6000)}\r\n\r\n`,
      `PUT /forged HTTP/1.1\r\n${'ice-name: x\r\n'.repeat(2000)}`,
      `GET /admin.cgi?pass=${FORGER_PASSWORD}&mode=updinfo&${'song=x&'.repeat(4000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      'a'.repeat(100_000),
      '\r\n'.repeat(50_000),
    ];
    connect(port, random, signal, { reads: random.chance(0.8) }).write(heads[random.int(0, heads.length - 1)]!);
  });

/** Anything, in pieces. */
export const garbage: Attack = (port, random, signal) =>
  again(signal, 15, 3000, () => {
    const at = [port, port + 1, port + TLS, port + PROXY][random.int(0, 3)]!;
    const socket = connect(at, random, signal, at === port + PROXY ? { from: PROXY_PEER } : {});
    void sendInPieces(socket, random.bytes(random.int(1, 3000)), random, signal);
  });

/** What begins like a handshake: broken records, hellos cut short, handshakes never finished, plain text behind them. */
export const tlsGarbage: Attack = (port, random, signal) =>
  again(signal, 10, 4000, () => {
    const socket = connect(port + TLS, random, signal, { reads: random.chance(0.7) });
    const length = random.int(0, 20_000);
    const record = Buffer.concat([
      Buffer.from([0x16, 3, random.int(0, 4), length >> 8, length & 255]),
      random.bytes(Math.min(length, 600)),
    ]);
    socket.write(record);
    if (random.chance(0.3)) socket.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
    void wait(random.int(0, 1000), signal).then(() => (random.chance(0.5) ? socket.resetAndDestroy() : socket.end()));
  });

/** Right ones, broken ones, of clients that change with each connection, and heads where none may be. */
export const proxyHeads: Attack = (port, random, signal) =>
  again(signal, 10, 4000, () => {
    const v2 = Buffer.concat([
      Buffer.from('0d0a0d0a000d0a515549540a', 'hex'),
      Buffer.from([random.int(0x1f, 0x22), random.int(0, 0x22), random.int(0, 3), random.int(0, 255)]),
      random.bytes(random.int(0, 300)),
    ]);
    const { [random.int(0, 4)]: head } = [
      `PROXY TCP4 10.${random.int(0, 255)}.${random.int(0, 255)}.1 127.0.0.1 1 80\r\n`,
      'PROXY UNKNOWN\r\n',
      `PROXY TCP6 ${':'.repeat(random.int(1, 50))} ::1 1 80\r\n`,
      `PROXY TCP4 ${'1'.repeat(random.int(1, 200))}`,
      v2.toString('latin1'),
    ];
    const trusted = random.chance(0.8);
    const socket = connect(trusted ? port + PROXY : port, random, signal, trusted ? { from: PROXY_PEER } : {});
    const request = 'GET /prey HTTP/1.1\r\nHost: x\r\n\r\n';
    void sendInPieces(socket, Buffer.from(head + request, 'latin1'), random, signal);
  });
