/** Requests that must be refused, by turns: each must be answered with its status, or be closed. Owned by bench/soak/life.ts. */

import { connect } from 'node:net';

/** The server waits 30 s for a request. */
const PATIENCE_MS = 60_000;
const LONG_HEAD_BYTES = 40_000;

interface BadRequest {
  readonly text: string;
  /** Of the answer's first line; null: closed without one. */
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

/** Resolves with what was wrong, or null. @param index which of them */
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
    // A reset too: what it had still to read was thrown away.
    socket.on('error', () => end('closed'));
    socket.on('close', () => end('closed'));
    socket.write(text, 'latin1');
  });
}
