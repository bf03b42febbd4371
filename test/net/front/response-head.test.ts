/** Heads of answers as servers send them: what is made of each, and that it depends on the bytes only, at every split. */

import t from 'tap';
import { readResponseHead } from '../../../src/net/front/response-head.js';

const BODY = '\r\n\nHTTP/1.0 200 OK\r\n\r\nbody';
/** As sent, and as it is handed on; null: it is not, and another follows. */
const HEADS: readonly (readonly [sent: string, strict: string | null])[] = [
  ['HTTP/1.1 200 OK\r\nA: b\r\n\r\n', 'HTTP/1.1 200 \r\nA: b\r\n\r\n'],
  ['ICY 200 OK\r\nicy-metaint:16000\r\n\r\n', 'HTTP/1.1 200 \r\nicy-metaint: 16000\r\n\r\n'],
  ['ICY 200 OK\nicy-metaint:16000\n\n', 'HTTP/1.1 200 \r\nicy-metaint: 16000\r\n\r\n'],
  ['ICY 404 Resource Not Found\r\n\r\n', 'HTTP/1.1 404 \r\n\r\n'],
  ['HTTP/1.0 200\nA:b\r\n\n', 'HTTP/1.1 200 \r\nA: b\r\n\r\n'],
  ['HTTP/1.1 204\r\n\r\n', 'HTTP/1.1 204 \r\n\r\n'],
  ['HTTP/1.2\t200 \r\n\r\n', 'HTTP/1.1 200 \r\n\r\n'],
  ['\r\n\nHTTP/1.0  200 OK\r\r\nA: b\r\r\n\r\r\n', 'HTTP/1.1 200 \r\nA: b\r\n\r\n'],
  ['ICY 200 OK\r\nicy-notice1 :<BR>a: b<BR>\r\n\r\n', 'HTTP/1.1 200 \r\nicy-notice1: <BR>a: b<BR>\r\n\r\n'],
  ['ICY 200 OK\r\nA: \t b\t \r\nB:\r\n\r\n', 'HTTP/1.1 200 \r\nA: b\r\nB: \r\n\r\n'],
  // In UTF-8 the last byte of `à` is a blank of Latin-1.
  ['ICY 200 OK\r\nA: l\xc3\xa0 \r\n\r\n', 'HTTP/1.1 200 \r\nA: l\xc3\xa0\r\n\r\n'],
  ['ICY 200 OK\r\nA: one\r\n two\n\tthree\r\n\r\n', 'HTTP/1.1 200 \r\nA: one two three\r\n\r\n'],
  ['ICY 200 OK\r\nno colon\r\n: no name\r\na b: c\r\nA: b\r\n\r\n', 'HTTP/1.1 200 \r\nA: b\r\n\r\n'],
  ['ICY 200 OK\r\nA: b\0\x01c\x7f\r\nB: caf\xe9\rd\r\n\r\n', 'HTTP/1.1 200 \r\nA: b c\r\nB: caf\xe9 d\r\n\r\n'],
  [
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n',
  ],
  ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 'HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\n'],
  ['HTTP/1.1 100 Continue\r\n\r\n', null],
  ['HTTP/1.1 103 Early Hints\nA: a\n\n', null],
  ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', 'HTTP/1.1 101 \r\nUpgrade: x\r\n\r\n'],
];

t.test('every head at every split: not before it is whole, and then the same whatever follows', async (t) => {
  for (const [sent, strict] of HEADS) {
    const headBytes = sent.length;
    const bytes = Buffer.from(sent + BODY, 'latin1');
    for (let split = 0; split <= bytes.length; split++) {
      const found = readResponseHead(bytes.subarray(0, split));
      for (const seen of [1, split - 3, split - 2, split - 1, headBytes - 1]) {
        if (seen < 0 || seen > split || seen >= headBytes) continue;
        const again = readResponseHead(bytes.subarray(0, split), seen);
        if (JSON.stringify(again) !== JSON.stringify(found))
          t.fail(`${JSON.stringify(sent)} at ${split}, seen ${seen}`);
      }
      if (split < headBytes) {
        if (found !== 'more') t.fail(`${JSON.stringify(sent)} at ${split}: ${JSON.stringify(found)}`);
      } else if (typeof found === 'string') t.fail(`${JSON.stringify(sent)} at ${split}: ${found}`);
      else if (found.endAt !== headBytes || (found.head?.toString('latin1') ?? null) !== strict) {
        t.fail(`${JSON.stringify(sent)} at ${split}: ${found.endAt}, ${found.head}`);
      }
    }
    t.pass(JSON.stringify(sent));
  }
});

t.test('what is no HTTP is wrong as soon as its first line is there', async (t) => {
  for (const line of [
    'SSH-2.0-OpenSSH',
    'hunter2',
    'ICY OK',
    'ICY  2000 OK',
    'HTTP/1.1 20',
    'HTTP 200 OK',
    ' ICY 200 OK',
    'icy200',
  ]) {
    for (let split = 0; split <= line.length; split++) {
      t.equal(readResponseHead(Buffer.from(line.slice(0, split))), 'more');
    }
    t.equal(readResponseHead(Buffer.from(`${line}\n`)), 'wrong', line);
  }
});
