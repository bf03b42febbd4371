/**
 * The whole server in this process, with connections without a network (Pipe): HTTP, titles of encoders, pushes, event streams, WebSockets, nes,
 * PROXY headers. For any input, every answer must be valid and finite and not a 500, and a client that has sent everything and ended must be
 * released.
 */

import net from 'node:net';
import type { Test } from 'tap';
import { Pipe } from '../front-harness.js';
import { cut, type FuzzTarget } from '../fuzz.js';
import { pause } from '../pause.js';
import { freePorts } from '../process.js';
import type { Random } from '../random.js';
import { demoYaml, startServer } from '../server.js';

const latin = (text: string) => Buffer.from(text, 'latin1');
const BASIC = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}\r\n`;
const PUSH = 'POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
/** Maximum answer to one connection; more than it may request at once. */
const MAX_ANSWERED_BYTES = 128 * 1024 * 1024;
const PATIENCE_MS = 20_000;
const ANSWERS = /^(HTTP\/1\.[01] [1-5]\d\d [\s\S]*|OK2\r\n[\s\S]*|invalid password\r\n|Z\0[\s\S]{4}NAK:[^\0]*\0)?$/;

/** A client's frame, with a mask of zeros. */
function frame(opcode: number, text: string): Buffer {
  const payload = latin(text);
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}

const HTTP_WORDS = [
  ...['\r\n', '\n', '\r\n\r\n', ' ', '\t', ':', '\0', '\xff', '%', '%2e', '%00', '?', '#', '/', '//', '..', '*', ','],
  ...[
    'GET ',
    'HEAD ',
    'POST ',
    'OPTIONS ',
    'PUT ',
    'DELETE ',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    ' HTTP/1.0\r\n',
    ' HTTP/1.1\r\n',
    ' HTTP/2.0\r\n',
    ' ICE/1.0\r\n',
  ],
  ...[
    'Connection: Upgrade\r\nUpgrade: h2c\r\n',
    'Connection: close\r\n',
    'Connection: keep-alive\r\n',
    'Expect: 100-continue\r\n',
    'Host: x\r\n',
  ],
  ...[
    'Content-Length: 5\r\n',
    'Content-Length: 0\r\n',
    'Content-Length: -1\r\n',
    'Content-Length : 3\r\n',
    'Transfer-Encoding: chunked\r\n',
  ],
  ...[
    'Transfer-Encoding: gzip, chunked\r\n',
    'Accept-Encoding: gzip, br, *;q=0\r\n',
    'Range: bytes=0-1\r\n',
    'If-None-Match: "x", W/"y", *\r\n',
  ],
  ...[
    'Icy-MetaData: 1\r\n',
    'X-Forwarded-For: 1.2.3.4\r\n',
    'Origin: http://evil.example\r\n',
    'Last-Event-ID: 1.2.3\r\n',
    BASIC,
    ' folded\r\n',
  ],
  ...[
    'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n',
    '/metadata/channel/demo.json',
    '/metadata/station/demo.json?type=all',
    '/openapi.json',
  ],
  ...[
    '/metadata/channel/demo/history.json?limit=',
    '1e9',
    '-1',
    '99999999999999999999',
    '/metrics',
    'http://x/',
    'metaid=',
    'sync=wire',
  ],
].map(latin);

const get = (path: string, headers = '') => latin(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);

interface Entrance {
  readonly name: string;
  /** The address: 0: all roles, 1: PROXY headers, 2: legacy. */
  readonly at: number;
  readonly seeds: readonly Buffer[];
  readonly words: readonly Buffer[];
}

const ENTRANCES: readonly Entrance[] = [
  {
    name: 'http',
    at: 0,
    seeds: [
      get('/readyz'),
      get('/demo.mp3', 'Icy-MetaData: 1\r\n'),
      get('/metadata/channel/demo.json', 'If-None-Match: "x"\r\n'),
      get('/metadata/station/demo.json?type=all'),
      get('/metadata/channel/demo/history.csv?limit=5'),
      get('/metadata/listener/somebody.json?sync=wire'),
      get('/status-json.xsl'),
      get('/demo.mp3.m3u'),
      get('/docs', 'Accept-Encoding: gzip\r\n'),
      Buffer.concat([get('/readyz'), get('/metadata/channel/demo.txt'), get('/nothing')]),
      // An upgrade while a previous request is unanswered.
      Buffer.concat([get('/readyz'), get('/readyz', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'), get('/readyz')]),
    ],
    words: HTTP_WORDS,
  },
  {
    name: 'title',
    at: 0,
    seeds: [
      get('/admin/metadata?mode=updinfo&mount=/studio&song=a+-+b', BASIC),
      get('/admin.cgi?mode=updinfo&pass=demo-source&song=%FC'),
      latin(
        `POST /admin/metadata HTTP/1.1\r\nHost: x\r\n${BASIC}Content-Length: 37\r\n\r\nmode=updinfo&mount=/studio&song=a-b-c`,
      ),
      latin(
        `POST /admin.cgi HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\nsong=`,
      ),
    ],
    words: [
      ...HTTP_WORDS,
      ...[
        'mode=updinfo',
        '&song=',
        '&charset=utf-16',
        '&charset=x',
        '&url=http://x/y.png',
        '&mount=',
        '&pass=',
        '&x',
        '%CC%81',
        '%CC%96',
        '%C3',
        '+',
      ].map(latin),
    ],
  },
  {
    name: 'push',
    at: 0,
    seeds: [
      latin(`${PUSH}Content-Length: 25\r\n\r\n{"artist":"a","song":"b"}`),
      latin(`${PUSH}Transfer-Encoding: chunked\r\n\r\n19\r\n{"artist":"a","song":"b"}\r\n0\r\n\r\n`),
      get('/metapush/demo/demo-token?song=x&artist=y'),
      get('/metapush/demo?song=x', 'Authorization: Bearer demo-token\r\n'),
      latin('POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n'),
      latin('GET //metapush//demo/demo-token/?song=a \xfc HTTP/1.0 100% HTTP/1.1\r\nHost: x\r\n\r\n'),
      latin(
        'POST /metapush/demo/demo-token?artist=a HTTP/1.1\r\nHost: x\r\nContent-Length: 58\r\n' +
          'Content-Type: multipart/form-data; boundary=b\r\n\r\n' +
          '--b\r\nContent-Disposition: form-data; name=song\r\n\r\nx\r\n--b--',
      ),
    ],
    words: [
      ...HTTP_WORDS,
      ...[
        '{',
        '}',
        '"',
        '"extdata":',
        '[',
        'null',
        '\\u0000',
        'demo-token',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=b',
        '--b',
        ' HTTP/1.',
        ' ',
        'GET //metapush/',
        '"time":1e99,',
        '&x',
        '\xcc\x81',
        '\xcc\x96',
      ].map(latin),
    ],
  },
  {
    name: 'sse',
    at: 0,
    seeds: [
      get('/metadata/sse/channel/demo'),
      get('/metadata/sse/station/demo', 'Last-Event-ID: 1.2\r\n'),
      get('/metadata/sse/listener/somebody?sync=wire&lastEventId=wire.a.b'),
      Buffer.concat([get('/readyz'), get('/metadata/sse/channel/demo')]),
    ],
    words: HTTP_WORDS,
  },
  {
    name: 'websocket',
    at: 0,
    seeds: ['channel/demo', 'station/demo', 'listener/somebody?sync=wire'].flatMap((path) => [
      Buffer.concat([
        latin(`GET /metadata/${path} HTTP/1.1\r\nHost: x\r\n${UPGRADE}`),
        frame(9, 'ping'),
        frame(1, 'hello'),
        frame(8, '\x03\xe8'),
      ]),
      Buffer.concat([get('/readyz'), latin(`GET /metadata/${path} HTTP/1.1\r\nHost: x\r\n${UPGRADE}`), frame(10, '')]),
    ]),
    words: [
      frame(9, 'x'.repeat(125)),
      frame(0, 'x'),
      frame(2, ''),
      frame(8, ''),
      frame(11, ''),
      ...[
        '\x01\x81\0\0\0\0',
        '\x81\xff\0\0\0\0\0\x01\0\0',
        '\x81\xfe\xff\xff',
        '\xc1\x80',
        '\x81\x05hello',
        'Sec-WebSocket-Extensions: permessage-deflate\r\n',
        UPGRADE,
      ].map(latin),
      ...HTTP_WORDS,
    ],
  },
  {
    name: 'nes',
    at: 2,
    seeds: [
      Buffer.concat([
        latin(`GET / HTTP/1.1\r\nHost: x\r\n${UPGRADE}`),
        frame(1, '{"type":"hello","id":1,"version":"2","subs":["/metachannel/demo"]}'),
        frame(1, '{"type":"sub","id":2,"path":"/metastation/demo"}'),
        frame(1, '{"type":"unsub","id":3,"path":"/metastation/demo"}'),
      ]),
      Buffer.concat([
        latin(`GET /?x HTTP/1.1\r\nHost: x\r\n${UPGRADE}`),
        frame(1, '{"type":"ping","id":1}'),
        frame(8, ''),
      ]),
    ],
    words: [
      ...[
        '"type":"sub"',
        '"type":"request"',
        '"id":{}',
        '"path":5',
        '"subs":[1,null]',
        '"__proto__"',
        '{',
        '}',
        '"',
        ',',
        '\\u0000',
        '\0',
      ].map(latin),
      frame(1, '{"type":"hello","id":1,"version":"2"}'),
      frame(1, '[]'),
      frame(2, '{}'),
      ...HTTP_WORDS.slice(0, 10),
    ],
  },
  {
    name: 'proxy',
    at: 1,
    seeds: [
      Buffer.concat([latin('PROXY TCP4 198.51.100.1 10.0.0.2 56324 443\r\n'), get('/readyz')]),
      Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a2111000cc00002010a000002dc0401bb', 'hex'), get('/demo.mp3')]),
      Buffer.concat([latin('PROXY UNKNOWN\r\n'), get('/metadata/channel/demo.json', 'X-Forwarded-For: 1.2.3.4\r\n')]),
    ],
    words: [...['PROXY ', 'TCP6 ', '::1 ', '65536', '\x21\x11', '\xff\xff', '\0\0'].map(latin), ...HTTP_WORDS],
  },
];

/** Started when the first of its targets plays. */
class Server {
  readonly #test: Test;
  #takers: Promise<readonly net.Server[]> | undefined;

  constructor(t: Test) {
    this.#test = t;
  }

  /** Gives a connection to an address. */
  async take(at: number, socket: net.Socket): Promise<void> {
    this.#takers ??= this.#start();
    (await this.#takers)[at]!.emit('connection', socket);
  }

  async #start(): Promise<readonly net.Server[]> {
    const port = await freePorts(4);
    const yaml = demoYaml(`
proxies: { trusted: [192.0.2.0/24] }
legacy: { deprecatedOn: 2024-01-01, sunsetOn: 2027-12-31, successor: https://api.example.com/ }
limits: { pushesPerMinute: 1000000, pushBurst: 1000000, headSeconds: 2 }
streams: { startTimeoutSeconds: 1 }
sources: { pieceSeconds: 1, bodyTimeoutSeconds: 2 }
`).replace(
      /^addresses:.*$/m,
      `addresses:
  - { host: 127.0.0.1, port: ${port}, shoutcastPort: false }
  - { host: 127.0.0.1, port: ${port + 1}, proxyProtocol: true, shoutcastPort: false }
  - { host: 127.0.0.1, port: ${port + 2}, roles: [legacy], shoutcastPort: false }`,
    );
    await startServer(this.#test, yaml);
    const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
    const servers = handles.filter((handle): handle is net.Server => handle instanceof net.Server);
    const portOf = (server: net.Server) => (server.address() as net.AddressInfo | null)?.port;
    return [0, 1, 2].map((n) => servers.find((server) => portOf(server) === port + n)!);
  }
}

async function play(server: Server, at: number, bytes: Buffer, random: Random): Promise<void> {
  const ending = random.chance(0.05) ? 'never' : random.chance(0.2) ? 'reset' : 'fin';
  const address = `192.0.2.${random.int(1, 254)}`;
  const pipe = new Pipe(cut(bytes, random), ending, address);
  pipe.on('error', () => undefined);
  await server.take(at, pipe.socket);
  const endMs = performance.now() + PATIENCE_MS;
  while (!pipe.destroyed && performance.now() < endMs) {
    await pause(2);
    // Leaves endless answers (streams, event streams), as a client does.
    if (pipe.isSpent && (ending === 'never' || pipe.received !== '')) {
      if (ending !== 'fin' || /^content-type: (audio|text\/event-stream)|^upgrade: websocket/im.test(pipe.received))
        pipe.destroy();
    }
    if (pipe.isSpent && ending === 'never') pipe.destroy();
  }
  const isStuck = !pipe.destroyed;
  pipe.destroy();
  if (isStuck) throw new Error(`not let go; was answered ${JSON.stringify(pipe.received.slice(0, 500))}`);
  if (pipe.received.length > MAX_ANSWERED_BYTES) throw new Error(`${pipe.received.length} bytes were answered`);
  if (!ANSWERS.test(pipe.received.slice(0, 1000)) || /^HTTP\/1\.[01] 500/m.test(pipe.received)) {
    throw new Error(`was answered ${JSON.stringify(pipe.received.slice(0, 2000))}`);
  }
  if (endsInTwoPlaces(bytes) && pipe.received.split(/^HTTP\/1\.[01] [2-5]\d\d /m).length > 2) {
    throw new Error(`more than one answer: ${JSON.stringify(pipe.received.slice(0, 2000))}`);
  }
}

/** Whether parsers may disagree on the end of the first request, so that nothing after it may be answered (RFC 9112, 6.3). */
function endsInTwoPlaces(bytes: Buffer): boolean {
  const head = /^[A-Z]+ \/\S* HTTP\/1\.1\r\n(?:[\w-]+:[^\r\n]*\r\n)*\r\n/.exec(bytes.toString('latin1'))?.[0] ?? '';
  const lengths = new Set(head.match(/^content-length:.*$/gim)?.map((line) => line.slice(15).trim()));
  return lengths.size > 1 || (lengths.size === 1 && /^transfer-encoding:/im.test(head));
}

/** @param t ends the server */
export function frontTargets(t: Test): readonly FuzzTarget[] {
  const server = new Server(t);
  return ENTRANCES.map(({ name, at, seeds, words }) => ({
    name,
    seeds,
    words,
    atOnce: 100,
    muchBytes: 5000,
    play: (bytes: Buffer, random: Random) => play(server, at, bytes, random),
  }));
}
