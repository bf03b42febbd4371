/** Watchers and listeners that do what no program should: never read, come and go by the thousand, ask for what a stream is not. */

import { type Attack, again, anyAddress, connect, wait } from './attack.js';

/** Hundreds who watch and listen and take nothing. */
export const deafReaders: Attack = async (port, random, signal) => {
  await again(signal, 10, 600, (n) => {
    const path = ['/metadata/sse/channel/prey', '/metadata/sse/station/arena', '/prey', '/prey?metaid=deaf'][n % 4]!;
    const socket = connect(port, random, signal, { reads: false });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nIcy-MetaData: ${n % 2}\r\n\r\n`);
  });
  await wait(60_000, signal);
};

/** Listeners and watchers that come and go at once, each with a metaid of its own. */
export const joinStorm: Attack = (port, random, signal) =>
  again(signal, 20, 3000, () => {
    for (let i = 0; i < 5; i++) {
      const id = `storm-${random.int(0, 1e9)}`;
      const paths = [`/prey?metaid=${id}`, `/metadata/sse/listener/${id}`, `/crowd?metaid=${id}`, '/crowd'];
      const socket = connect(port, random, signal);
      socket.write(`GET ${paths[random.int(0, 3)]} HTTP/1.1\r\nHost: x\r\nIcy-MetaData: ${random.int(0, 1)}\r\n\r\n`);
      void wait(random.int(0, 200), signal).then(() => (random.chance(0.5) ? socket.resetAndDestroy() : socket.end()));
    }
  });

/** Requests for streams that want none, or a part. */
export const methodFlood: Attack = async (port, random, signal) => {
  const one = anyAddress(random);
  const requests = [
    'HEAD /prey HTTP/1.1\r\nHost: x\r\n\r\n',
    'OPTIONS /prey HTTP/1.1\r\nHost: x\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
    `GET /openapi.json HTTP/1.1\r\nHost: x\r\nRange: bytes=${'0-1,'.repeat(500)}2-3\r\n\r\n`,
    'GET /prey HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\nConnection: close\r\n\r\n',
    `GET /metadata/channel/prey.json HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${'"x",'.repeat(4000)}"y"\r\n\r\n`,
    'TRACE / HTTP/1.1\r\nHost: x\r\n\r\n',
    'HEAD /metadata/channel/prey/history.json?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n',
  ];
  await again(signal, 10, 4000, () => {
    for (let i = 0; i < 4; i++) {
      connect(port, random, signal, { from: one }).end(
        requests[random.int(0, requests.length - 1)]!.repeat(random.int(1, 5)),
      );
    }
  });
};
