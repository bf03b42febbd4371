/**
 * The header that a TCP proxy puts before a connection: HAProxy's PROXY protocol, versions 1 (a line of text) and 2 (binary), as its
 * public specification of 2020/03/05 says. Bytes come in any pieces; nothing behind the header is taken.
 *
 *   PROXY TCP4 192.0.2.1 10.0.0.2 56324 443 CR LF                       at most 107 bytes
 *   CR LF CR LF 00 CR LF Q U I T LF │ 2·command │ family │ length(2) │ addresses, then TLVs, which are skipped
 *
 * Owned by the opening of a connection (opening.ts), which asks first whether the peer is a trusted proxy.
 */

import { isIPv4, isIPv6 } from 'node:net';
import { plainAddress } from '../../base/ip.js';

const V1 = Buffer.from('PROXY ');
/** With the protocol family: other text that begins with PROXY may be a password (config/secret.ts, misread). */
const V1_STARTS = ['PROXY TCP4 ', 'PROXY TCP6 ', 'PROXY UNKNOWN'].map((text) => Buffer.from(text));
const V1_MOST = 107;
const V2 = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const V2_FIXED = 16;
const LF = 0x0a;
const LOCAL = 0x20;
const PROXY = 0x21;
const TCP4 = 0x11;
const TCP6 = 0x21;

export interface ProxyHeader {
  /** Of the client; null: the proxy speaks for itself, or knows none (LOCAL, UNKNOWN, another family). */
  readonly address: string | null;
  /** The bytes behind the header that came with its end. */
  readonly rest: Buffer;
}

/**
 * Reads the header from all bytes that came so far. `more`: they can still become one; `wrong`: they cannot. What is wrong is said with
 * the first byte that makes it so, as far as a fixed part of the header shows it.
 * @param mostBytes that a header may have
 */
export function readProxyHeader(bytes: Buffer, mostBytes: number): ProxyHeader | 'more' | 'wrong' {
  if (begins(bytes, V1)) return readText(bytes);
  if (begins(bytes, V2)) return readBinary(bytes, mostBytes);
  return 'wrong';
}

/** Whether these bytes begin with a PROXY header; `more`: they may. More bytes change no other answer. */
export function beginsProxied(bytes: Buffer): boolean | 'more' {
  const start = [...V1_STARTS, V2].find((each) => begins(bytes, each));
  if (start === undefined) return false;
  return bytes.length >= start.length || 'more';
}

/** Whether these bytes are, or can become, ones that begin so. */
function begins(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
}

function readText(bytes: Buffer): ProxyHeader | 'more' | 'wrong' {
  const end = bytes.subarray(0, V1_MOST).indexOf(LF);
  if (end < 0) return bytes.length < V1_MOST ? 'more' : 'wrong';
  const line = bytes.toString('latin1', 0, end + 1);
  const rest = bytes.subarray(end + 1);
  if (/^PROXY UNKNOWN(?: [^\r\n]*)?\r\n$/.test(line)) return { address: null, rest };
  const [, family, from = '', to = '', ...ports] =
    /^PROXY (TCP[46]) (\S+) (\S+) (\d{1,5}) (\d{1,5})\r\n$/.exec(line) ?? [];
  const isAddress = family === 'TCP4' ? isIPv4 : isIPv6;
  if (!isAddress(from) || !isAddress(to) || ports.some((port) => Number(port) > 65_535)) return 'wrong';
  return { address: plainAddress(from), rest };
}

function readBinary(bytes: Buffer, mostBytes: number): ProxyHeader | 'more' | 'wrong' {
  const command = bytes[V2.length];
  if (command !== undefined && command !== LOCAL && command !== PROXY) return 'wrong';
  if (bytes.length < V2_FIXED) return 'more';
  const family = bytes[V2.length + 1]!;
  const length = bytes.readUInt16BE(V2.length + 2);
  const addresses = command !== PROXY ? 0 : family === TCP4 ? 12 : family === TCP6 ? 36 : 0;
  if (length < addresses || V2_FIXED + length > mostBytes) return 'wrong';
  if (bytes.length < V2_FIXED + length) return 'more';
  const rest = bytes.subarray(V2_FIXED + length);
  if (addresses === 0) return { address: null, rest };
  const from = bytes.subarray(V2_FIXED, V2_FIXED + (family === TCP4 ? 4 : 16));
  return { address: plainAddress(family === TCP4 ? from.join('.') : hextets(from)), rest };
}

/** 16 bytes as an IPv6 address, in any form that plainAddress understands. */
function hextets(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':');
}
