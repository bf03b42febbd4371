/**
 * Parses and formats IP addresses: as sockets report them (IPv4 in IPv6, with a zone), in the form for comparisons, and by network for limits
 * and logs. Pure functions.
 */

import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net';

/** The form of an address for comparisons and output: IPv4 in IPv6 as IPv4, IPv6 in canonical form without a zone. Other text: "". */
export function plainAddress(text: string | undefined): string {
  const address = withoutZone(text ?? '');
  const version = isIP(address);
  if (version !== 6) return version === 4 ? address : '';
  return unmapped(new SocketAddress({ address, family: 'ipv6' }).address);
}

/**
 * The canonical form of an address or a network: 192.0.2.0/24 for 192.0.2.7/24, 2001:db8::1 for 2001:DB8:0::1/128.
 * @param text a valid one
 */
export function plainNetwork(text: string): string {
  const [address = '', prefix] = text.split('/');
  const bytes = addressBytes(address);
  const bits = prefix === undefined ? 8 * bytes.length : Number(prefix);
  for (let i = 0; i < bytes.length; i++) bytes[i]! &= 0xff00 >> Math.min(8, Math.max(0, bits - 8 * i));
  const family = bytes.length === 4 ? 'ipv4' : 'ipv6';
  const written = family === 'ipv4' ? bytes.join('.') : hexGroups(bytes).join(':');
  const plain = new SocketAddress({ address: written, family }).address;
  return bits === 8 * bytes.length ? unmapped(plain) : `${plain}/${bits}`;
}

/** Whether this is a loopback address, as sockets report it or as plainAddress returns it. */
export function isLoopback(address: string): boolean {
  const plain = unmapped(withoutZone(address));
  return plain === '::1' || (plain.startsWith('127.') && isIPv4(plain));
}

/**
 * The key of limits per address: an IPv4 address, or the first 64 bits of an IPv6 address, since one customer has all addresses below.
 * @param address as the socket reports it; undefined: the peer has gone
 */
export function originOf(address: string | undefined): string {
  const plain = unmapped(withoutZone(address ?? ''));
  return plain.includes(':') ? `${hexWords(plain).slice(0, 4).join(':')}::/64` : plain;
}

/**
 * An address without the bits that distinguish one household from its neighbours: an IPv4 address by its /24, an IPv6 address by its /48.
 * @param address as the system writes it; other text becomes `-`
 */
export function anonymized(address: string): string {
  const plain = unmapped(withoutZone(address));
  const version = isIP(plain);
  if (version === 0) return '-';
  if (version === 4) return plain.replace(/\d+$/, '0');
  const network = hexWords(plain).slice(0, 3);
  while (network.at(-1) === '0') network.pop();
  return `${network.join(':')}::`;
}

/** The 4 or 16 bytes of an address. @param address a valid one; IPv6 in any form; a zone is ignored */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return v4Bytes(address);
  const [head, tail] = withoutZone(address).split('::').map(groupBytes);
  const bytes = Buffer.alloc(16);
  bytes.set(head!);
  if (tail !== undefined) bytes.set(tail, 16 - tail.length);
  return bytes;
}

/** A list of addresses and networks (192.0.2.0/24). */
export class AddressList {
  readonly #list = new BlockList();
  /** Saves the check, which makes an object from the address and costs more than the rest of a push's head. */
  #isEmpty = true;

  /** @param ranges valid ones */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#add(range);
  }

  /** @param address without a zone; other text is not on the list */
  has(address: string): boolean {
    if (this.#isEmpty) return false;
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, familyOf(version));
  }

  #add(range: string): void {
    this.#isEmpty = false;
    const [address = '', bits] = range.split('/');
    const family = familyOf(isIP(address));
    if (bits === undefined) this.#list.addAddress(address, family);
    else this.#list.addSubnet(address, Number(bits), family);
  }
}

function familyOf(version: number): 'ipv4' | 'ipv6' {
  return version === 4 ? 'ipv4' : 'ipv6';
}

function withoutZone(address: string): string {
  return address.replace(/%.*/, '');
}

function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/** The eight words of an IPv6 address. */
function hexWords(address: string): string[] {
  return hexGroups(addressBytes(address));
}

function hexGroups(bytes: Buffer): string[] {
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
}

function v4Bytes(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number));
}

function groupBytes(text: string): Buffer {
  const groups = text === '' ? [] : text.split(':');
  return Buffer.concat(
    groups.map((group) => (group.includes('.') ? v4Bytes(group) : Buffer.from(group.padStart(4, '0'), 'hex'))),
  );
}

/** A host as in a URL: an IPv6 address in brackets. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** The host of a URL, an IPv6 address without brackets. */
export function hostOf(url: string | URL): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
