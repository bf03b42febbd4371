/**
 * The send queues of the machine's TCP connections: the tx_queue column of /proc/net/tcp and tcp6 (proc(5)), the bytes of a connection
 * that its other end has not acknowledged. Linux only. Node's thread pool reads the table a page at a time; the event loop scans
 * a page in one go, and makes strings only of lines with a queue.
 *
 *      0: 0100007F:1F40 0100007F:D431 01 0003AA80:00000000 …
 *         └────── endpoints ────────┘    └tx_queue┘             8 + 1 + 4 hexadecimal digits an end; tcp6: 32 + 1 + 4
 *
 * Used by backlog.ts alone.
 */

import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { addressBytes } from '../../base/ip.js';

const COLON = 0x3a;
const LINE_FEED = 0x0a;
const ZERO = 0x30;
const TX_DIGITS = 8;
/** From the endpoints' last digit to the tx_queue's first: blank, two digits of state, blank. */
const STATE_CHARACTERS = 4;
const BUFFER_BYTES = 65_536;
const SWAPPED = endianness() === 'LE';

/** One of Linux's two tables, and the length of its endpoints. */
export interface Table {
  readonly path: string;
  readonly endpointsLength: number;
}

export const TABLES: readonly Table[] = [
  { path: '/proc/net/tcp', endpointsLength: 27 },
  { path: '/proc/net/tcp6', endpointsLength: 75 },
];

/** Both ends of a connected socket as the tables write them; null: not connected. */
export function endpointsOf(socket: Socket): string | null {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localAddress === undefined || localPort === undefined) return null;
  if (remoteAddress === undefined || remotePort === undefined) return null;
  return `${end(localAddress, localPort)} ${end(remoteAddress, remotePort)}`;
}

/** Calls `onQueue` for each connection with a queue; resolves with the length of the table, bytes. Rejects if it cannot be read. */
export async function readQueues(
  { path, endpointsLength }: Table,
  onQueue: (endpoints: string, bytes: number) => void,
): Promise<number> {
  const file = await open(path);
  try {
    const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    let fill = 0;
    for (let length = 0; ; ) {
      const { bytesRead } = await file.read(buffer, fill, BUFFER_BYTES - fill, null);
      if (bytesRead === 0) return length;
      length += bytesRead;
      fill += bytesRead;
      const used = scan(buffer.subarray(0, fill), endpointsLength, onQueue);
      buffer.copyWithin(0, used, fill);
      fill -= used;
    }
  } finally {
    await file.close();
  }
}

/** Scans the complete lines in `text` and returns their length, bytes. The header line matches no queue. */
function scan(text: Buffer, endpointsLength: number, onQueue: (endpoints: string, bytes: number) => void): number {
  let from = 0;
  for (;;) {
    const next = text.indexOf(LINE_FEED, from) + 1;
    if (next === 0) return from;
    const at = text.indexOf(COLON, from) + 2;
    const txAt = at + endpointsLength + STATE_CHARACTERS;
    if (at > 1 && txAt + TX_DIGITS < next && !isNothing(text, txAt)) {
      const bytes = Number.parseInt(text.toString('latin1', txAt, txAt + TX_DIGITS), 16);
      onQueue(text.toString('latin1', at, at + endpointsLength), bytes);
    }
    from = next;
  }
}

function isNothing(text: Buffer, at: number): boolean {
  for (let i = at; i < at + TX_DIGITS; i++) if (text[i] !== ZERO) return false;
  return true;
}

/** An address as 32-bit words in the machine's own order, and a port. */
function end(address: string, port: number): string {
  const bytes = addressBytes(address);
  if (SWAPPED) bytes.swap32();
  return `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}
