/**
 * HAProxy's PROXY protocol, the header that a TCP proxy puts before a connection: versions 1 (a line of text) and 2 (binary), by
 * the specification of 2020/03/05. Bytes come in any pieces; nothing after the header is consumed.
 *
 *   PROXY TCP4 192.0.2.1 10.0.0.2 56324 443 CR LF                       at most 107 bytes
 *   CR LF CR LF 00 CR LF Q U I T LF │ 2·command │ family │ length(2) │ addresses, then TLVs, which are skipped
 *
 * Pure functions, used by opening.ts, which first checks that the peer is a trusted proxy.
 */

import { isIPv4, isIPv6 } from 'node:net';
import { plainAddress } from '../../base/ip.js';

const V1 = Buffer.from('PROXY ');
/** With the family, since other text that begins with PROXY may be a password (config/secret.ts, misread). */
const V1_STARTS = ['PROXY TCP4 ', 'PROXY TCP6 ', 'PROXY UNKNOWN'].map((text) => Buffer.from(text));
const V1_MAX_BYTES = 107;
const V2 = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const V2_FIXED_BYTES = 16;
const LF = 0x0a;
const LOCAL = 0x20;
const PROXY = 0x21;
const TCP4 = 0x11;
const TCP6 = 0x21;

export interface ProxyHeader {
  /** The client's; null: the proxy's own connection, or unknown (LOCAL, UNKNOWN, another family). */
  readonly address: string | null;
  /** The bytes after the header. */
  readonly rest: Buffer;
}

/**
 * Reads the header from all bytes so far. `more`: it is incomplete; `wrong`: it is none, returned as soon as the fixed parts show it.
 * @param maxBytes the longest header
 */
export function readProxyHeader(bytes: Buffer, maxBytes: number): ProxyHeader | 'more' | 'wrong' {
  if (begins(bytes, V1)) return readText(bytes);
  if (begins(bytes, V2)) return readBinary(bytes, maxBytes);
  return 'wrong';
}

/** Whether these bytes begin with a PROXY header; `more`: they may. */
export function beginsProxied(bytes: Buffer): boolean | 'more' {
  const start = [...V1_STARTS, V2].find((each) => begins(bytes, each));
  if (start === undefined) return false;
  return bytes.length >= start.length || 'more';
}

/** Whether these bytes begin with `start`, or may with more bytes. */
function begins(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
}

function readText(bytes: Buffer): ProxyHeader | 'more' | 'wrong' {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf(LF);
  if (end < 0) return bytes.length < V1_MAX_BYTES ? 'more' : 'wrong';
  const line = bytes.toString('latin1', 0, end + 1);
  const rest = bytes.subarray(end + 1);
  if (/^PROXY UNKNOWN(?: [^\r\n]*)?\r\n$/.test(line)) return { address: null, rest };
  const [, family, from = '', to = '', ...ports] =
    /^PROXY (TCP[46]) (\S+) (\S+) (\d{1,5}) (\d{1,5})\r\n$/.exec(line) ?? [];
  const isAddress = family === 'TCP4' ? isIPv4 : isIPv6;
  if (!isAddress(from) || !isAddress(to) || ports.some((port) => Number(port) > 65_535)) return 'wrong';
  return { address: plainAddress(from), rest };
}

function readBinary(bytes: Buffer, maxBytes: number): ProxyHeader | 'more' | 'wrong' {
  const command = bytes[V2.length];
  if (command !== undefined && command !== LOCAL && command !== PROXY) return 'wrong';
  if (bytes.length < V2_FIXED_BYTES) return 'more';
  const family = bytes[V2.length + 1]!;
  const length = bytes.readUInt16BE(V2.length + 2);
  const addresses = command !== PROXY ? 0 : family === TCP4 ? 12 : family === TCP6 ? 36 : 0;
  if (length < addresses || V2_FIXED_BYTES + length > maxBytes) return 'wrong';
  if (bytes.length < V2_FIXED_BYTES + length) return 'more';
  const rest = bytes.subarray(V2_FIXED_BYTES + length);
  if (addresses === 0) return { address: null, rest };
  const from = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + (family === TCP4 ? 4 : 16));
  return { address: plainAddress(family === TCP4 ? from.join('.') : hextets(from)), rest };
}

/** 16 bytes as an IPv6 address, in any form that plainAddress understands. */
function hextets(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':');
}
