/** Makes a small file in MaxMind's format (MaxMind DB file format 2.0): networks and their values. */

import { isIPv4 } from 'node:net';
import { addressBytes } from '../../src/base/ip.js';

type Value = string | number | { readonly [key: string]: Value };
type Node = [Node | number | null, Node | number | null];

const SEPARATOR = Buffer.alloc(16);
const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');

/** @param networks such as 192.0.2.0/24 or 2001:db8::/32, not nested @returns the file */
export function mmdb(networks: Readonly<Record<string, Value>>): Buffer {
  const root: Node = [null, null];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [network, value] of Object.entries(networks)) {
    const [address = '', bits] = network.split('/');
    const v4 = isIPv4(address);
    const bytes = v4 ? Buffer.concat([Buffer.alloc(12), addressBytes(address)]) : addressBytes(address);
    put(root, bytes, Number(bits) + (v4 ? 96 : 0), offset);
    const encoded = encode(value);
    data.push(encoded);
    offset += encoded.length;
  }
  const nodes: Node[] = [];
  const number = (node: Node): void => {
    nodes.push(node);
    for (const side of node) if (Array.isArray(side)) number(side);
  };
  number(root);
  const at = new Map(nodes.map((node, i) => [node, i]));
  const tree = Buffer.alloc(nodes.length * 6);
  nodes.forEach((node, i) => {
    node.forEach((side, right) => {
      const record = side === null ? nodes.length : Array.isArray(side) ? at.get(side)! : nodes.length + 16 + side;
      tree.writeUIntBE(record, i * 6 + right * 3, 3);
    });
  });
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_790_000_000,
    database_type: 'Test-Country',
    ip_version: 6,
    node_count: nodes.length,
    record_size: 24,
  });
  return Buffer.concat([tree, SEPARATOR, ...data, MARKER, metadata]);
}

function put(root: Node, bytes: Buffer, bits: number, data: number): void {
  let node = root;
  for (let i = 0; ; i++) {
    const side = (bytes[i >> 3]! >> (7 - (i % 8))) & 1;
    if (i === bits - 1) {
      node[side] = data;
      return;
    }
    const next = node[side];
    if (Array.isArray(next)) node = next;
    else node[side] = node = [null, null];
  }
}

function encode(value: Value): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([(2 << 5) | bytes.length]), bytes]);
  }
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([Buffer.from([(6 << 5) | 4]), bytes]);
  }
  const members = Object.entries(value).flatMap(([key, member]) => [encode(key), encode(member)]);
  return Buffer.concat([Buffer.from([(7 << 5) | Object.keys(value).length]), ...members]);
}
