/**
 * Many requests in one packet from a client that does not read: what is cheap to send must not be dear to serve. On a server that
 * answers each as it is parsed, 800 histories hold the loop for 16 s and 460 MB.
 */

import { type Attack, connect, wait } from './attack.js';

const REQUESTS = 800;
const CLIENTS = 5;

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

/** The same request hundreds of times at once, from a few clients that never read, and one that does. */
function pipeline(request: string, requests = REQUESTS): Attack {
  return async (port, random, signal) => {
    const bytes = Buffer.from(request.repeat(requests), 'latin1');
    for (let i = 0; i < CLIENTS; i++) connect(port, random, signal, { reads: i === 0 }).write(bytes);
    await wait(60_000, signal);
  };
}

export const pipelinedHistory = pipeline(get('/metadata/channel/prey/history.json?limit=1000'));
export const pipelinedDocuments = pipeline(get('/openapi.json'));
export const pipelinedPages = pipeline(get('/docs'));
export const pipelinedMisses = pipeline(get('/nothing/at/all'));
export const pipelinedPolls = pipeline(get('/metadata/channel/prey.json'), 4000);
export const pipelinedStations = pipeline(get('/metadata/station/arena.json?type=all'), 2000);
export const pipelinedUncached = pipeline(get('/metadata/channel/prey.json', 'Accept-Encoding: gzip, br\r\n'), 2000);

/** Ten clients that read what they ask for, one after the other: ordinary people who like history. */
export const greedyReaders: Attack = async (port, random, signal) => {
  const request = get('/metadata/channel/prey/history.json?limit=1000');
  for (let i = 0; i < 10; i++) {
    let left = 0;
    let head = '';
    const socket = connect(port, random, signal, {
      onData: (chunk) => {
        if (left === 0) {
          head += chunk.toString('latin1');
          const end = head.indexOf('\r\n\r\n');
          if (end < 0) return;
          left = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) - (head.length - end - 4);
          head = '';
        } else left -= chunk.length;
        if (left <= 0) {
          left = 0;
          socket.write(request);
        }
      },
    });
    socket.write(request);
  }
  await wait(60_000, signal);
};
