/**
 * Addresses that are not public. Without this check an upstream could redirect our requests to a router or a database behind our
 * firewall.
 *
 * Invariant: connections are made only to addresses that `publicOnly` has checked, without a second lookup. Sources: the IANA
 * special-purpose registries for IPv4 and IPv6, RFC 4291 (mapped), RFC 6052 and 8215 (NAT64).
 */

import { isIP, type LookupFunction } from 'node:net';
import { AddressList } from '../../base/ip.js';

/** Does not hold the address, which may belong to another network. */
export const PRIVATE_REASON = 'its address is private, which needs allowPrivate';

const PRIVATE_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];
/** Parts of 2000::/3 that are not public: protocol assignments with Teredo, documentation, 6to4. */
const PRIVATE_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** Prefixes of IPv6 addresses that end with an IPv4 address: mapped, and NAT64's well-known one. */
const HOLDS_IPV4 = ['::ffff:', '64:ff9b::'];

const PRIVATE = new AddressList([
  ...PRIVATE_IPV4,
  ...PRIVATE_IPV6,
  ...HOLDS_IPV4.flatMap((prefix) => PRIVATE_IPV4.map((range) => inIpv6(prefix, range))),
]);
/** All other IPv6 addresses are local, reserved or multicast. */
const ALLOCATED = new AddressList(['2000::/3', ...HOLDS_IPV4.map((prefix) => inIpv6(prefix, '0.0.0.0/0'))]);

function inIpv6(prefix: string, range: string): string {
  const [address, bits] = range.split('/');
  return `${prefix}${address}/${96 + Number(bits)}`;
}

/** @param address an IP address, IPv6 without brackets. With a zone it counts as private, and so does text that is not an address. */
export function isPrivate(address: string): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes('%')) return true;
  return PRIVATE.has(address) || (version === 6 && !ALLOCATED.has(address));
}

/** A lookup without private addresses; it fails if none is left. */
export function publicOnly(lookup: LookupFunction): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      const all = typeof found === 'string' ? [{ address: found, family: isIP(found) }] : (found ?? []);
      const open = all.filter(({ address }) => !isPrivate(address));
      if (error !== null) callback(error, '');
      else if (open.length === 0) callback(new Error(PRIVATE_REASON), '');
      else if (options.all) callback(null, open);
      else callback(null, open[0]!.address, open[0]!.family);
    });
  };
}
