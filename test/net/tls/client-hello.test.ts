/** How much of a ClientHello has come: in one record, in many, in any pieces, at the limit, and what is none. */

import { Duplex } from 'node:stream';
import tls from 'node:tls';
import t from 'tap';
import { readClientHello } from '../../../src/net/tls/client-hello.js';

const MAX_BYTES = 16_384;

/** What Node's own client begins with. */
async function realHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const pipe: Duplex = new Duplex({ read: () => undefined, write: (chunk: Buffer) => resolve(chunk) });
    tls.connect({ socket: pipe }).on('error', () => undefined);
  });
}

const record = (fragment: Buffer, type = 0x16) =>
  Buffer.concat([Buffer.from([type, 3, 1, fragment.length >> 8, fragment.length & 255]), fragment]);
/** A message of so many bytes, its head counted in. */
const message = (bytes: number, type = 1) => {
  const whole = Buffer.alloc(bytes);
  whole.writeUInt32BE(bytes - 4);
  whole[0] = type;
  return whole;
};
/** One message in records of so many bytes each. */
const cut = (whole: Buffer, bytes: number) =>
  Buffer.concat(
    Array.from({ length: Math.ceil(whole.length / bytes) }, (_, i) =>
      record(whole.subarray(i * bytes, (i + 1) * bytes)),
    ),
  );

t.test('whole at its last byte, and not before', async (t) => {
  const real = await realHello();
  for (const [what, bytes] of [
    ['of Node', real],
    ['in records of one byte', cut(message(20), 1)],
    ['in two records, cut within the head of the message', cut(message(100), 97)],
    ['of 16 KB', cut(message(MAX_BYTES), 16_384)],
    ['of 16 KB in 32 records', cut(message(MAX_BYTES), 512)],
    ['empty', record(message(4))],
  ] as const) {
    t.equal(readClientHello(bytes, MAX_BYTES), 'whole', what);
    for (let end = 0; end < bytes.length; end += end < 200 || bytes.length - end < 200 ? 1 : 97)
      if (readClientHello(bytes.subarray(0, end), MAX_BYTES) !== 'more') t.fail(`${what}: ${end} bytes of it`);
  }
});

t.test('what is none, or too much, is known as soon as it shows', async (t) => {
  for (const [what, bytes] of [
    ['text', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['another type of record', record(message(100), 0x17)],
    ['another version', Buffer.from([0x16, 2, 0])],
    ['another message', record(message(100, 2)).subarray(0, 6)],
    ['an empty record', Buffer.from([0x16, 3, 1, 0, 0])],
    ['a record of more than 16 KB', Buffer.from([0x16, 3, 1, 0x40, 1])],
    ['one byte too long', cut(message(MAX_BYTES + 1), 16_384).subarray(0, 9)],
    ['33 records', cut(message(33), 1)],
    ['something behind it', record(Buffer.concat([message(100), Buffer.alloc(1)])).subarray(0, 9)],
  ] as const)
    t.equal(readClientHello(bytes, MAX_BYTES), 'wrong', what);
  t.equal(readClientHello(cut(message(32), 1), MAX_BYTES), 'whole', '32 records');
});
