/**
 * The floor under every figure: the least that a Node process can do. It answers each GET with one HTTP/1.0 head and each second writes
 * one shared buffer to all sockets in one loop; no titles, no lag, no checks. The buffer is one segment of 16,000 audio bytes (whole frames
 * of silence, the rest an ID3v2 tag, so that it passes all checks of bench/listeners.ts) and an empty block. Started by bench/run.ts.
 *
 *   tsx bench/floor.ts PORT
 */

import { createServer, type Socket } from 'node:net';
import { createHistogram } from 'node:perf_hooks';

/** The tick of airsplice's clock, by which it measures its delay. */
const TICK_MS = 40;
const METAINT = 16_000;
/** MPEG 1 layer III, 128 kb/s, 48 kHz, stereo, without CRC: always 384 bytes. */
const FRAME_HEADER = [0xff, 0xfb, 0x94, 0x00];
const FRAME_BYTES = 384;
const TAG_HEADER_BYTES = 10;
const HEAD = `HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint: ${METAINT}\r\nConnection: close\r\n\r\n`;

const segment = Buffer.alloc(METAINT + 1);
const frames = Math.floor((METAINT - TAG_HEADER_BYTES) / FRAME_BYTES);
for (let frame = 0; frame < frames; frame++) segment.set(FRAME_HEADER, frame * FRAME_BYTES);
const tagAt = frames * FRAME_BYTES;
const padding = METAINT - tagAt - TAG_HEADER_BYTES;
segment.set([...Buffer.from('ID3'), 4, 0, 0, 0, 0, padding >> 7, padding & 0x7f], tagAt);

const lateMicros = createHistogram();
const listeners = new Set<Socket>();
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('close', () => listeners.delete(socket));
  socket.once('data', (request) => {
    if (request.toString('latin1').startsWith('GET /metrics ')) return void socket.end(metrics());
    socket.write(HEAD);
    // Sends the first audio at once, like a server with a burst: it ends the measured time of a join.
    socket.write(segment);
    listeners.add(socket);
  });
});
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
setInterval(() => {
  for (const socket of listeners) socket.write(segment);
}, 1000);

let dueAt = performance.now() + TICK_MS;
setInterval(() => {
  const now = performance.now();
  lateMicros.record(Math.max(1, Math.round((now - dueAt) * 1000)));
  dueAt = now + TICK_MS;
}, TICK_MS);

/** The delay of this event loop, as the metric that airsplice has for it. */
function metrics(): string {
  const lines = [0.5, 0.99, 0.999, 1].map((quantile) => {
    const micros = quantile === 1 ? lateMicros.max : lateMicros.percentile(quantile * 100);
    return `airsplice_event_loop_delay_seconds{quantile="${quantile}"} ${micros / 1e6}\n`;
  });
  return `HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n${lines.join('')}`;
}
