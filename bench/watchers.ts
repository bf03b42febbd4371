/**
 * The reader process of the fan-out: WebSocket readers on raw sockets, each checked. Every reader must get the messages 1, 2, 3 …
 * in order and with the same bytes as the others; anything else ends the process with code 1. It only connects to 127.0.0.1 and ends by itself.
 * Prints `ready`, `got N` when the last reader has message N, and at the end a line of JSON. Owned by bench/fanout.ts.
 *
 *   watchers.ts PORT PATH READERS MESSAGES clear|tls
 */

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { nowMs, readStamp } from './stamp.js';
import { percentiles } from './statistics.js';
import { UPGRADE_HEADS, Watcher } from './watcher.js';

/** Maximum number of connections being opened, since a server's listen queue may be short. */
const CONNECTING = 64;
const PER_LOCAL_ADDRESS = 1000;
const LIFE_MS = 600_000;

const [portText, path, readersText, messagesText, security] = process.argv.slice(2);
const [port, readers, messages] = [Number(portText), Number(readersText), Number(messagesText)];
const shared = Buffer.allocUnsafeSlow(65_536);
const delaysMs: number[] = [];
/** For each message: its bytes, when the first reader had it, and how many readers have it. */
const seen: { bytes: Buffer; firstMs: number; count: number }[] = [];
const spansMs: number[] = [];
let [begun, ready, arrivedMs] = [0, 0, 0];

setTimeout(() => fail('not done in time'), LIFE_MS).unref();
while (begun < Math.min(CONNECTING, readers)) open(begun++);

function open(index: number): void {
  const localAddress = `127.0.0.${2 + Math.floor(index / PER_LOCAL_ADDRESS)}`;
  const name = `reader ${index}`;
  let last = 0;
  const watcher = new Watcher({
    onOpen() {
      if (++ready === readers) process.stdout.write('ready\n');
      if (begun < readers) open(begun++);
    },
    onMessage(payload) {
      const read = readStamp(payload);
      if (read?.number !== last + 1) return fail(`${name}: message ${read?.number} after ${last}`);
      last++;
      take(last, read.sentMs, payload, name);
    },
    onPing: (pong) => socket.write(pong),
    onFault: (text) => fail(`${name}: ${text}`),
  });
  const push = (bytes: Buffer) => {
    arrivedMs = nowMs();
    watcher.push(bytes);
    return true;
  };
  const place = { host: '127.0.0.1', port, localAddress };
  const onread = { buffer: shared, callback: (length: number) => push(shared.subarray(0, length)) };
  const isSecure = security === 'tls';
  const socket: Socket = isSecure ? connectTls({ ...place, rejectUnauthorized: false }) : connect({ ...place, onread });
  if (isSecure) socket.on('data', push);
  socket.once(isSecure ? 'secureConnect' : 'connect', () =>
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${UPGRADE_HEADS}\r\n`),
  );
  socket.once('error', (error) => fail(`${name}: ${error.message}`));
  socket.once('close', () => fail(`${name}: closed by the server`));
}

function take(number: number, sentMs: number, payload: Buffer, name: string): void {
  delaysMs.push(arrivedMs - sentMs);
  const message = (seen[number] ??= { bytes: Buffer.from(payload), firstMs: arrivedMs, count: 0 });
  if (!message.bytes.equals(payload)) fail(`${name}: message ${number} differs from the others'`);
  if (++message.count < readers) return;
  spansMs.push(arrivedMs - message.firstMs);
  if (number < messages) return void process.stdout.write(`got ${number}\n`);
  const { user, system } = process.cpuUsage();
  process.stdout.write(
    `got ${number}\n${JSON.stringify({
      deliveries: delaysMs.length,
      messageBytes: message.bytes.length,
      delayMs: percentiles(delaysMs),
      spanMs: percentiles(spansMs),
      ownCpuSeconds: (user + system) / 1e6,
    })}\n`,
    () => process.exit(0),
  );
}

function fail(text: string): void {
  process.stderr.write(`${text}\n`, () => process.exit(1));
}
