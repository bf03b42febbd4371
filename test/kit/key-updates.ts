/**
 * One side of a TLS 1.3 connection that changes its key as often as a test asks. Node makes the handshake, over a connection from here; the
 * KeyUpdates (RFC 8446, 4.6.3) are made here, from the secret in its key log, before they are sent, so that sending them costs nothing.
 */

import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { ONE } from './certificate.js';

const KEY_UPDATE = 24;
const HANDSHAKE = 22;
const APPLICATION_DATA = 23;
const TAG_BYTES = 16;
const TERMS = { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' } as const;

/** A connection after the handshake, whose further records are made here instead of by Node. */
export interface KeyUpdater {
  /** The TCP socket. */
  readonly socket: Socket;
  /** The received text, decrypted. */
  readonly got: () => string;
  /** The next KeyUpdates, one per record. @param isAsking whether the other side must update its key too */
  updates(count: number, isAsking: boolean): Buffer;
  /** These bytes, one per record. */
  bytes(all: Buffer | string): Buffer;
}

/** @param first text that Node sends before; for a server, the answer to the first bytes */
export async function keyUpdater(socket: Socket, role: 'client' | 'server', first: string): Promise<KeyUpdater> {
  let secret: Buffer = Buffer.alloc(0);
  let isOver = false;
  let got = '';
  let flights = 0;
  /** Number of records so far with the key of the secret. */
  let records = 0;
  const pipe = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      // A server's first flight uses the handshake's keys, and so does a client's second.
      if (role === 'server' && flights > 1) records += recordsIn(chunk);
      if (!isOver) socket.write(chunk);
      done();
    },
  });
  socket.on('data', (chunk) => {
    flights++;
    pipe.push(chunk);
  });
  const secure =
    role === 'client'
      ? tls.connect({ socket: pipe, rejectUnauthorized: false, ...TERMS })
      : new tls.TLSSocket(pipe, { isServer: true, secureContext: tls.createSecureContext({ ...ONE, ...TERMS }) });
  secure.on('error', () => undefined).on('data', (chunk: Buffer) => (got += chunk.toString('latin1')));
  secure.on('keylog', (line) => {
    const [label, , hex] = line.toString('latin1').trim().split(' ');
    if (label === `${role.toUpperCase()}_TRAFFIC_SECRET_0`) secret = Buffer.from(hex!, 'hex');
  });
  const isClosed = once(socket, 'close').then(() => Promise.reject(new Error('closed within the handshake')));
  await Promise.race([once(secure, role === 'client' ? 'secureConnect' : 'data'), isClosed]);
  isClosed.catch(() => undefined);
  if (first !== '') await new Promise((done) => secure.write(first, done));
  if (role === 'client' && first !== '') records++;
  isOver = true;
  const record = (type: number, content: readonly number[]) => {
    const head = Buffer.from([APPLICATION_DATA, 3, 3, 0, content.length + 1 + TAG_BYTES]);
    const iv = expand(secret, 'iv', 12);
    iv.writeUInt32BE((iv.readUInt32BE(8) ^ records++) >>> 0, 8);
    const cipher = createCipheriv('aes-128-gcm', expand(secret, 'key', 16), iv).setAAD(head);
    return [head, cipher.update(Buffer.from([...content, type])), cipher.final(), cipher.getAuthTag()];
  };
  const update = (isAsking: boolean) => {
    const made = record(HANDSHAKE, [KEY_UPDATE, 0, 0, 1, isAsking ? 1 : 0]);
    secret = expand(secret, 'traffic upd', 32);
    records = 0;
    return made;
  };
  return {
    socket,
    got: () => got,
    updates: (count, isAsking) => Buffer.concat(Array.from({ length: count }, () => update(isAsking)).flat()),
    bytes: (all) => Buffer.concat([...Buffer.from(all)].flatMap((byte) => record(APPLICATION_DATA, [byte]))),
  };
}

/** A client of a port of this machine. */
export function keyUpdaterAt(port: number, first: string): Promise<KeyUpdater> {
  return keyUpdater(
    net.connect(port, '127.0.0.1').on('error', () => undefined),
    'client',
    first,
  );
}

function recordsIn(bytes: Buffer): number {
  let records = 0;
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) records++;
  return records;
}

/** HKDF-Expand-Label without a context (RFC 8446, 7.1). */
function expand(secret: Buffer, label: string, bytes: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, bytes, name.length]), name, Buffer.from([0, 1])]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, bytes);
}
