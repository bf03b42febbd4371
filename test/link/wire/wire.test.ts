/** Messages come out as they went in, wherever the stream is cut; what is none is an error, at the limit and one past it. */

import t from 'tap';
import { MessageWriter } from '../../../src/link/wire/message-writer.js';
import { HEADER_BYTES, MAX_MESSAGE_BYTES, MessageReader, WireError, WireReader } from '../../../src/link/wire/wire.js';
import { Random } from '../../kit/random.js';

/** A message of every kind of field, and one that is empty. */
function written(): Buffer {
  const writer = new MessageWriter();
  const message = writer.begin(7).byte(255).whole(2_147_483_647).signed(-2).number(0.1);
  message.text('Motörhead').blob(Buffer.from('blob')).bytes(Buffer.from('rest')).end();
  writer.begin(8).end();
  writer.begin(9).text('').end();
  return writer.take()!;
}

function read(chunks: readonly Buffer[]): unknown[] {
  const messages: unknown[] = [];
  const reader = new WireReader((type, message) => {
    if (type === 7) {
      messages.push([type, message.byte(), message.whole(), message.signed(), message.number(), message.text()]);
      messages.push([message.blob().toString(), message.rest().toString()]);
    } else if (type === 9) messages.push([type, message.text()]);
    else messages.push([type]);
    message.end();
  });
  for (const chunk of chunks) reader.push(chunk);
  return messages;
}

const EXPECTED = [[7, 255, 2_147_483_647, -2, 0.1, 'Motörhead'], ['blob', 'rest'], [8], [9, '']];

t.test('cut in two at every byte, and into single bytes', async (t) => {
  const bytes = written();
  for (let at = 0; at <= bytes.length; at++)
    t.same(read([bytes.subarray(0, at), bytes.subarray(at)]), EXPECTED, `cut at ${at}`);
  t.same(read([...bytes].map((byte) => Buffer.from([byte]))), EXPECTED);
});

t.test('a message as long as one may be, and one that is a byte longer', async (t) => {
  const header = (length: number) => {
    const bytes = Buffer.alloc(HEADER_BYTES);
    bytes.writeUInt32LE(length);
    return bytes;
  };
  let lengths = 0;
  const reader = new WireReader((_type, message) => {
    lengths += message.rest().length;
  });
  reader.push(header(MAX_MESSAGE_BYTES));
  reader.push(Buffer.alloc(MAX_MESSAGE_BYTES));
  t.equal(lengths, MAX_MESSAGE_BYTES);
  t.throws(() => reader.push(header(MAX_MESSAGE_BYTES + 1)), WireError);
});

t.test('fields that are not there, and more than there are', async (t) => {
  const message = (bytes: Buffer) => new MessageReader(bytes, true);
  const long = Buffer.from([255, 255, 255, 255]);
  for (const read of [
    (m: MessageReader) => m.byte(),
    (m: MessageReader) => m.whole(),
    (m: MessageReader) => m.signed(),
    (m: MessageReader) => m.number(),
    (m: MessageReader) => m.text(),
    (m: MessageReader) => m.blob(),
  ]) {
    t.throws(() => read(message(Buffer.alloc(0))), WireError);
  }
  t.throws(() => message(long).text(), WireError, 'a text longer than the message');
  t.throws(() => message(long).blob(), WireError);
  t.throws(() => message(Buffer.from('000000000000f07f', 'hex')).number(), WireError, '+∞');
  t.throws(() => message(Buffer.alloc(1)).end(), WireError);
});

t.test('what is kept of a chunk is a copy, and of a message that was put together no copy', async (t) => {
  const kept: Buffer[] = [];
  const reader = new WireReader((_type, message) => void kept.push(message.rest()));
  const writer = new MessageWriter();
  writer.begin(1).bytes(Buffer.from('audio')).end();
  const chunk = Buffer.from(writer.take()!);
  reader.push(chunk);
  chunk.fill(0);
  t.equal(kept[0]!.toString(), 'audio');
});

t.test('pages: messages of any length, taken at any moment', async (t) => {
  const random = new Random();
  const writer = new MessageWriter();
  const [parts, lengths]: [Buffer[], number[]] = [[], []];
  const take = () => {
    const { waitingBytes } = writer;
    const bytes = writer.take();
    t.equal(bytes?.length ?? 0, waitingBytes);
    if (bytes !== null) parts.push(bytes);
  };
  for (let i = 0; i < 300; i++) {
    const length = random.chance(0.1) ? random.int(10_000, 50_000) : random.int(0, 300);
    lengths.push(length);
    writer.begin(1).whole(i).bytes(Buffer.alloc(length, i));
    writer.end();
    if (random.chance(0.3)) take();
  }
  take();
  let next = 0;
  const reader = new WireReader((_type, message) => {
    const isRight = message.whole() === next && message.rest().equals(Buffer.alloc(lengths[next]!, next));
    if (!isRight) t.fail(`seed ${random.seed}, message ${next}`);
    next++;
  });
  for (const part of parts) reader.push(part);
  t.equal(next, 300, `seed ${random.seed}`);
});
