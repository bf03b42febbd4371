/** Heads that two readers could take for two different requests: 400 and closed, by every acceptor, and nothing behind them is answered. */

import t from 'tap';
import { demoYaml, startServer } from '../kit/server.js';
import { ask, Wire } from '../kit/wire.js';

t.jobs = 8;

const { port } = await startServer(t, demoYaml());

const BASIC = `Authorization: Basic ${Buffer.from('source:demo-source').toString('base64')}\r\n`;
const TITLE = '/admin.cgi?pass=demo-source&mode=updinfo&song=';
const SMUGGLED = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n';

const BEGINNINGS: Readonly<Record<string, string>> = {
  'a title': `GET ${TITLE}smuggler HTTP/1.1\r\nHost: x\r\n`,
  'a title with Basic': `GET /admin/metadata?mount=/studio&mode=updinfo&song=smuggler HTTP/1.1\r\nHost: x\r\n${BASIC}`,
  'a title as a form': `POST ${TITLE}smuggler HTTP/1.1\r\nHost: x\r\n`,
  'an encoder, PUT': `PUT /studio.mp3 HTTP/1.1\r\nHost: x\r\n${BASIC}`,
  'an encoder, SOURCE': `SOURCE /studio.mp3 HTTP/1.0\r\n${BASIC}`,
  'a listener': 'GET /demo.mp3 HTTP/1.1\r\nHost: x\r\n',
  'a poll': 'GET /metadata/channel/demo.json HTTP/1.1\r\nHost: x\r\n',
  'anything else': 'POST /metapush/demo/demo-token HTTP/1.1\r\nHost: x\r\n',
};

const HEADS: Readonly<Record<string, string>> = {
  'two lengths': `Content-Length: 0\r\nContent-Length: ${SMUGGLED.length}\r\n`,
  'two lengths, the other way': `Content-Length: ${SMUGGLED.length}\r\ncontent-length: 0\r\n`,
  'the same length twice': `Content-Length: 0\r\nContent-Length: 0\r\n`,
  'a length and chunks': `Content-Length: ${SMUGGLED.length}\r\nTransfer-Encoding: chunked\r\n`,
  'chunks and a length': `Transfer-Encoding: chunked\r\nContent-Length: 0\r\n`,
  'two hosts': 'Host: y\r\nhost: localhost\r\n',
  'two transfer codings': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: xchunked\r\n',
  'two transfer codings, the other way': 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n',
  'a blank before the colon': `Content-Length : ${SMUGGLED.length}\r\n`,
  'a tab before the colon': `Transfer-Encoding\t: chunked\r\n`,
  'a header that goes on in a second line': 'Transfer-Encoding:\r\n chunked\r\n',
  'and by a tab': 'X: y\r\n\tz\r\n',
  'a NUL': 'X: a\0b\r\n',
  'a control character': 'X: a\x01b\r\n',
  'a delete': 'X: a\x7fb\r\n',
  'a control character in a name': 'X\x02: a\r\n',
  'a bare CR': `X: a\rContent-Length: ${SMUGGLED.length}\r\n`,
};

for (const [name, begin] of Object.entries(BEGINNINGS)) {
  t.test(name, async (t) => {
    await Promise.all(
      Object.entries(HEADS).map(async ([what, head]) => {
        const wire = new Wire(t, port).send(`${begin}${head}\r\n${SMUGGLED}`);
        await wire.untilClosed(20_000);
        t.match(wire.got, /^HTTP\/1\.[01] 400 /, what);
        t.notMatch(wire.got, /ready/, `${what}: nothing behind it is answered`);
      }),
    );
    const titled = await ask(t, port, 'GET /metadata/channel/studio.json HTTP/1.1');
    t.notMatch(titled.body, /smuggler/, 'nor is it done');
  });
}

t.test('a transfer coding that is not known', async (t) => {
  for (const [name, begin] of Object.entries(BEGINNINGS)) {
    for (const coding of ['xchunked', 'gzip', 'gzip, chunked', 'chunked, gzip', 'chunkedx']) {
      const wire = new Wire(t, port).send(`${begin}Transfer-Encoding: ${coding}\r\n\r\n${SMUGGLED}`);
      await wire.untilClosed(20_000);
      t.match(wire.got, /^HTTP\/1\.[01] (400|501) /, `${name}: ${coding}`);
      t.notMatch(wire.got, /ready/, `${name}: ${coding}: nothing behind it is answered`);
    }
  }
});

t.test('with two hosts no client passes for this machine itself, nor for a WebSocket', async (t) => {
  for (const hosts of ['Host: localhost\r\nHost: example.com\r\n', 'Host: example.com\r\nHost: localhost\r\n']) {
    const upgrade =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    for (const text of [
      `GET /metrics HTTP/1.1\r\n${hosts}\r\n`,
      `GET /metadata/channel/demo HTTP/1.1\r\n${hosts}${upgrade}\r\n`,
    ]) {
      const wire = new Wire(t, port).send(text);
      await wire.untilClosed(20_000);
      t.match(wire.got, /^HTTP\/1\.1 400 /, text);
    }
  }
});

t.test('behind a loose head of a title nothing is answered', async (t) => {
  const loose: Readonly<Record<string, string>> = {
    'LF alone': `GET ${TITLE}a HTTP/1.1\nHost: x\n\n`,
    'CR CR LF': `GET ${TITLE}a HTTP/1.0\r\r\nHost: x\r\r\n\r\r\n`,
    'one LF among CRLF': `GET ${TITLE}a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n`,
    'no Host': `GET ${TITLE}a HTTP/1.1\r\n\r\n`,
    'a blank in the path': `GET ${TITLE}a b HTTP/1.1\r\nHost: x\r\n\r\n`,
    'a line without a colon': `GET ${TITLE}a HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n`,
    'a head twice': `GET ${TITLE}a HTTP/1.1\r\nHost: x\r\nA: b\r\nA: c\r\n\r\n`,
    'kept alive in so many words': `GET ${TITLE}a HTTP/1.0\nConnection: keep-alive\n\n`,
  };
  for (const [what, bytes] of Object.entries(loose)) {
    const wire = new Wire(t, port).send(bytes + SMUGGLED);
    await wire.untilClosed(20_000);
    t.match(wire.got, /^HTTP\/1\.1 200 OK\r\n[\s\S]*update successful/, what);
    t.notMatch(wire.got, /ready/, what);
  }
  const exact = new Wire(t, port).send(`GET ${TITLE}a HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n${SMUGGLED}`);
  t.equal((await exact.take(2))[1]!.body, 'ready\n', 'behind an exact one, as ever');
});
