/**
 * The checker of the metadata benchmark's readers: a good feed passes in any chunking, and what a feed must not send is a fault.
 */

import t from 'tap';
import { readStamp, stamp } from '../../bench/stamp.js';
import { Watcher } from '../../bench/watcher.js';

const HEAD = Buffer.from(
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
);

function frame(first: number, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? [first, length] : [first, 126, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), Buffer.from(text)]);
}

function watch(bytes: Buffer, chunk: number) {
  const got: { opens: number; messages: string[]; pongs: string[]; faults: string[] } = {
    opens: 0,
    messages: [],
    pongs: [],
    faults: [],
  };
  const watcher = new Watcher({
    onOpen: () => got.opens++,
    onMessage: (payload) => got.messages.push(payload.toString()),
    onPing: (pong) => got.pongs.push(pong.toString('hex')),
    onFault: (text) => got.faults.push(text),
  });
  for (let at = 0; at < bytes.length; at += chunk) watcher.push(bytes.subarray(at, at + chunk));
  return got;
}

t.test('a good feed passes in any chunking', async (t) => {
  const texts = ['', 'a'.repeat(125), 'b'.repeat(126), 'c'.repeat(485), 'd'.repeat(65_535)];
  const bytes = Buffer.concat([HEAD, ...texts.map((text) => frame(0x81, text)), frame(0x89, 'hi')]);
  for (const chunk of [1, 2, 3, 5, 127, 1000, bytes.length])
    t.strictSame(watch(chunk === 1 ? bytes.subarray(0, 2000) : bytes, chunk), {
      opens: 1,
      messages: chunk === 1 ? texts.slice(0, 4) : texts,
      pongs: chunk === 1 ? [] : ['8a82000000006869'],
      faults: [],
    });
});

t.test('what a feed must not send is a fault, and nothing is taken after it', async (t) => {
  const bad: [string, Buffer][] = [
    ['a refusal', Buffer.from('HTTP/1.1 503 Service Unavailable\r\n\r\n')],
    ['a wrong key', Buffer.from(HEAD.toString().replace('s3pP', 'S3pP'))],
    ['a close', Buffer.concat([HEAD, frame(0x88, '\x03\xe9')])],
    ['binary', Buffer.concat([HEAD, frame(0x82, 'x')])],
    ['a fragment', Buffer.concat([HEAD, frame(0x01, 'x')])],
    ['a mask', Buffer.concat([HEAD, Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78])])],
    ['a 64-bit length', Buffer.concat([HEAD, Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 1, 0x78])])],
  ];
  for (const [name, bytes] of bad) {
    const got = watch(Buffer.concat([bytes, frame(0x81, 'later')]), bytes.length);
    t.equal(got.faults.length, 1, name);
    t.strictSame(got.messages, [], name);
  }
});

t.test('a stamp is found in the song of a record', async (t) => {
  const read = readStamp(Buffer.from(JSON.stringify({ rawdata: 'x', song: stamp(17) })));
  t.equal(read?.number, 17);
  t.ok(read && read.sentMs > 0);
  t.equal(readStamp(Buffer.from('{"song":"Hello"}')), undefined);
});
