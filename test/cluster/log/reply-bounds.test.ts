/** What answers of Redis may have, at the limit and one past it, wherever the stream is cut. */

import t from 'tap';
import { MAX_REPLY_BYTES, MAX_REPLY_VALUES, ReplyBounds } from '../../../src/cluster/log/reply-bounds.js';
import { Random } from '../../kit/random.js';

/** Null: nothing is wrong. */
function faultOf(stream: string | Buffer, pieceBytes = 65_536): string | null {
  const bounds = new ReplyBounds();
  const bytes = Buffer.from(stream as string);
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) bounds.push(bytes.subarray(at, at + pieceBytes));
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

const [TOO_LONG, TOO_MANY, NO_RESP] = [/more than 67108864 bytes/, /more than 1000000 values/, /not RESP 2/];

t.test('bytes: as soon as they are announced, of all values together', async (t) => {
  const most = MAX_REPLY_BYTES - '$67108852\r\n\r\n'.length;
  t.equal(faultOf(`$${most}\r\n`), null);
  t.match(faultOf(`$${most + 1}\r\n`), TOO_LONG);
  t.match(faultOf('$500000000\r\n'), TOO_LONG);
  const half = `$${MAX_REPLY_BYTES / 2 - 100}\r\n${'x'.repeat(MAX_REPLY_BYTES / 2 - 100)}\r\n`;
  t.equal(faultOf(`*2\r\n${half}${half}`), null);
  t.match(faultOf(`*3\r\n${half}${half}${half}`), TOO_LONG);
  t.equal(faultOf(`${half}${half}${half}`), null, 'three answers');
});

t.test('values: of all lists in an answer', async (t) => {
  t.equal(faultOf(`*${MAX_REPLY_VALUES}\r\n`), null);
  t.match(faultOf(`*${MAX_REPLY_VALUES + 1}\r\n`), TOO_MANY);
  t.match(faultOf('*4294967295\r\n'), TOO_MANY);
  const nested = (lists: number) => '*1000\r\n'.repeat(lists);
  t.equal(faultOf(nested(1000)), null);
  t.match(faultOf(nested(1001)), TOO_MANY);
  t.equal(faultOf('*2\r\n:1\r\n:2\r\n'.repeat(MAX_REPLY_VALUES)), null, 'of many answers');
});

t.test('lines', async (t) => {
  t.equal(faultOf(`+${'x'.repeat(8189)}\r\n`), null);
  for (const pieceBytes of [1, 100, 65_536]) {
    t.match(faultOf(`+${'x'.repeat(8190)}\r\n`, pieceBytes), /a line of more than 8192 bytes/);
    t.match(faultOf('x'.repeat(100_000), pieceBytes), /a line of more than 8192 bytes/);
  }
  // The client would end the line elsewhere, read another length, or is not asked for such a type.
  for (const line of [
    '+a\rx*99999999\r\n',
    '+a\n',
    '$ 5\r\n',
    '$5x\r\n',
    '$-2\r\n',
    '*-01\r\n',
    '$+5\r\n',
    '*1e9\r\n',
  ]) {
    t.match(faultOf(line), NO_RESP, JSON.stringify(line));
  }
  for (const type of '_#(,!=~%>|\0') t.match(faultOf(`${type}1\r\n`), NO_RESP, JSON.stringify(type));
});

t.test('by seed: whatever is within the bounds passes, cut anywhere', async (t) => {
  const random = new Random();
  const value = (depth: number): string => {
    const kind = random.int(0, depth > 3 ? 5 : 7);
    if (kind === 0) return ':-12\r\n';
    if (kind === 1) return random.chance(0.5) ? '$-1\r\n' : '*-1\r\n';
    if (kind === 2) return '+OK\r\n';
    if (kind === 3) return '-ERR no $100 *100\r\n';
    if (kind < 6) {
      const text = '$9\r\n*9\r\n'.repeat(random.int(0, 3));
      return `$${text.length}\r\n${text}\r\n`;
    }
    const all = Array.from({ length: random.int(0, 4) }, () => value(depth + 1));
    return `*${all.length}\r\n${all.join('')}`;
  };
  for (let i = 0; i < 2000; i++) {
    const stream = Array.from({ length: random.int(1, 4) }, () => value(0)).join('');
    const fault = faultOf(stream, random.int(1, 20));
    if (fault !== null) t.fail(`seed ${random.seed}: ${fault}: ${JSON.stringify(stream)}`);
    // It is still at the beginning of an answer: a length of its own counts.
    if (faultOf(`${stream}*${MAX_REPLY_VALUES}\r\n`, 7) !== null)
      t.fail(`seed ${random.seed}: ${JSON.stringify(stream)}`);
  }
});

t.test('one that was broken stays so', async (t) => {
  const bounds = new ReplyBounds();
  t.throws(() => bounds.push(Buffer.from('?\r\n')), NO_RESP);
  t.throws(() => bounds.push(Buffer.from('+OK\r\n')), NO_RESP);
});
