/**
 * One page of an LMDB file, as mdb.c of lmdb 3.5.6 lays it out:
 *
 *   head    number 8 │ of which transaction 8 │ – 2 │ flags 2 │ room: from 2, to 2 (pages of one value: how many 4)
 *   then    where each node is, 2 each │ room │ the nodes, one behind the other to the page's end; all places count from the head's end
 *   node    low 2 │ high 2 │ flags 2 │ key's length 2 │ key │ value, filled up to an even length
 *   leaf    low and high are the value's length. The value is itself, or a database, or: its first page 8 │ transaction 8 │ pages 8
 *   branch  low, high and flags are the number of a page; no value
 *
 * Used by pages.ts.
 */

export const HEAD_BYTES = 24;
export const BRANCH = 1;
export const LEAF = 2;
export const OVERFLOW = 4;
/** Flags of a node in a leaf: a value that has pages of its own; a value that is a database. */
export const BIG = 1;
export const DATABASE = 2;

/** The flags that tell what kind of page it is; others tell how it was written. */
const KINDS = 0xff;
const NODE_BYTES = 8;
const BIG_BYTES = 24;

export interface Head {
  readonly page: number;
  readonly transaction: number;
  readonly kind: number;
  /** Of one value. */
  readonly pages: number;
}

export interface Node {
  /** The page below; in a branch only. */
  readonly child: number;
  readonly flags: number;
  /** Of the value, wherever it is. */
  readonly bytes: number;
  /** What the leaf holds of it. */
  readonly value: Buffer;
}

/** @param bytes those of the head, or more */
export function headOf(bytes: Buffer): Head {
  return {
    page: number(bytes, 0),
    transaction: number(bytes, 8),
    kind: bytes.readUInt16LE(18) & KINDS,
    pages: bytes.readUInt32LE(20),
  };
}

/** Throws an Error when the nodes do not fill what the page says that they fill. @param page the whole of a branch or leaf */
export function nodesOf(page: Buffer): Node[] {
  const { page: pageNumber, kind } = headOf(page);
  const body = page.subarray(HEAD_BYTES);
  const [from, to] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  if (from % 2 !== 0 || from > to || to > body.length)
    throw new Error(`page ${pageNumber} has room from ${from} to ${to}`);
  const nodes: Node[] = [];
  let filled = 0;
  for (let i = 0; i < from; i += 2) {
    const at = body.readUInt16LE(i);
    const within = (end: number) => {
      if (at < to || end > body.length) throw new Error(`page ${pageNumber} has a node where it has none`);
    };
    within(at + NODE_BYTES);
    const [bytes, flags] = [body.readUInt32LE(at), body.readUInt16LE(at + 4)];
    const valueAt = at + NODE_BYTES + body.readUInt16LE(at + 6);
    const held = kind === BRANCH ? 0 : flags === BIG ? BIG_BYTES : bytes;
    within(valueAt + held);
    nodes.push({ child: bytes + flags * 2 ** 32, flags, bytes, value: body.subarray(valueAt, valueAt + held) });
    const length = valueAt + held - at;
    filled += length + (length % 2);
  }
  if (filled !== body.length - to)
    throw new Error(`page ${pageNumber} has nodes of ${filled} bytes in ${body.length - to}`);
  return nodes;
}

/** A number of 8 bytes. */
export function number(bytes: Buffer, at: number): number {
  return Number(bytes.readBigInt64LE(at));
}
