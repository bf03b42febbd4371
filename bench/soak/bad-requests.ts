/** Bad requests, in turn: the server must answer each with its status, or close the connection. Owned by bench/soak/life.ts. */

import { connect } from 'node:net';

/** Longer than the 30 s that the server waits for a request. */
const PATIENCE_MS = 60_000;
const LONG_HEAD_BYTES = 40_000;

interface BadRequest {
  readonly text: string;
  /** Matches the answer's first line; null: closed without an answer. */
  readonly answer: RegExp | null;
}

const BAD: readonly BadRequest[] = [
  { text: 'GET /nothing-here.mp3 HTTP/1.1\r\nHost: x\r\n\r\n', answer: /^HTTP\/1\.[01] 404/ },
  { text: 'POST /metapush/studio/wrong?song=x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n', answer: / 40[134]/ },
  { text: 'PUT /studio HTTP/1.1\r\nHost: x\r\nAuthorization: Basic c291cmNlOng=\r\n\r\n', answer: / 401/ },
  { text: `GET / HTTP/1.1\r\nX: ${'x'.repeat(LONG_HEAD_BYTES)}\r\n\r\n`, answer: / 4\d\d/ },
  { text: 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', answer: / 400/ },
  { text: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 nothing that is TLS', answer: null },
  { text: 'GET /metadata/channel/nothing.json HTTP/1.1\r\nHost: x\r\n\r\n', answer: / 404/ },
  { text: 'GET /studio HTTP/1.1\r\nHost: x\r\nX-Unfinished: ', answer: null },
  { text: 'GET /metadata/channel/studio HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n', answer: / 4\d\d/ },
];

/** Resolves with a fault, or null. @param index of the request */
export function ask(port: number, index: number): Promise<string | null> {
  const { text, answer } = BAD[index % BAD.length]!;
  const name = JSON.stringify(text.slice(0, 60));
  return new Promise((resolve) => {
    let said = '';
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const end = (why: string) => {
      clearTimeout(patience);
      socket.destroy();
      const first = said.split('\r\n')[0]!;
      const isRight = answer === null ? why === 'closed' && said === '' : answer.test(first);
      resolve(isRight ? null : `${name}: ${why}, ${JSON.stringify(first.slice(0, 60))}`);
    };
    const patience = setTimeout(() => end('not answered'), PATIENCE_MS);
    socket.setEncoding('latin1');
    socket.on('data', (part) => {
      said += String(part);
      if (said.includes('\r\n\r\n') && answer !== null) end('answered');
    });
    // Even by a reset, since the server discards unread bytes.
    socket.on('error', () => end('closed'));
    socket.on('close', () => end('closed'));
    socket.write(text, 'latin1');
  });
}
