/**
 * What an attack is, and what attackers share. An attack is bounded in time (`signal`) and count, opens its connections from loopback
 * addresses of its own (any of 127/8 can be a client's on Linux), and leaves none behind. It rejects where the server did to the
 * attacker itself what it must not; what it does to others is the crowd's to say (kit/crowd.ts).
 */

import net from 'node:net';
import type { Random } from '../kit/random.js';

/** @param port the first of the arena's (arena.ts) */
export type Attack = (port: number, random: Random, signal: AbortSignal) => Promise<void>;

/** How a connection treats what it is sent. */
interface Manner {
  /** The client's address; default: any of 127.66/16. */
  readonly from?: string;
  /** False: never reads, so that the kernel's buffers fill. Default true. */
  readonly reads?: boolean;
  readonly onData?: (chunk: Buffer) => void;
}

/** 127.66.x.y: none of the crowd's. */
export function anyAddress(random: Random): string {
  return `127.66.${random.int(0, 255)}.${random.int(1, 254)}`;
}

/** A connection that is gone when the signal says so; errors are nobody's business. */
export function connect(port: number, random: Random, signal: AbortSignal, manner: Manner = {}): net.Socket {
  const socket = net.connect({
    host: '127.0.0.1',
    port,
    localAddress: manner.from ?? anyAddress(random),
    noDelay: true,
  });
  const end = () => socket.destroy();
  socket.on('error', () => undefined);
  if (manner.reads === false) socket.pause();
  else socket.on('data', manner.onData ?? (() => undefined));
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  socket.on('close', () => signal.removeEventListener('abort', end));
  return socket;
}

/** Resolves after so many ms, or at once when the signal says so. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => {
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      done();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener('abort', over, { once: true });
  });
}

/** Until the signal: `act` again and again, `everyMs` apart, at most `most` times. */
export async function again(
  signal: AbortSignal,
  everyMs: number,
  most: number,
  act: (n: number) => void | Promise<void>,
): Promise<void> {
  for (let n = 0; n < most && !signal.aborted; n++) {
    await act(n);
    await wait(everyMs, signal);
  }
}

/** Sends in pieces cut at random places, with a turn of the loop between; then, as chance wills, ends, resets, or stays. */
export async function sendInPieces(
  socket: net.Socket,
  bytes: Buffer,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  for (let at = 0; at < bytes.length && !signal.aborted && !socket.destroyed; ) {
    const to = at + (random.chance(0.3) ? bytes.length : random.int(1, 1 << random.int(0, 12)));
    socket.write(bytes.subarray(at, to));
    at = to;
    await wait(random.int(0, 3), signal);
  }
  if (random.chance(0.3)) socket.end();
  else if (random.chance(0.4)) socket.resetAndDestroy();
}

/** What came on a connection until it closed, was quiet for `quietMs`, or the signal came. */
export async function exchange(
  port: number,
  random: Random,
  signal: AbortSignal,
  bytes: string,
  quietMs = 500,
): Promise<{ readonly got: string; readonly closed: boolean }> {
  let got = '';
  let lastMs = performance.now();
  const onData = (chunk: Buffer) => {
    got += chunk.toString('latin1');
    lastMs = performance.now();
  };
  const socket = connect(port, random, signal, { onData });
  socket.write(Buffer.from(bytes, 'latin1'));
  while (!socket.destroyed && !signal.aborted && performance.now() - lastMs < quietMs) await wait(10, signal);
  const closed = socket.destroyed;
  socket.destroy();
  return { got, closed };
}
