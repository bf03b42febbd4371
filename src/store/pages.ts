/**
 * Whether the pages of an LMDB file are consistent. lmdb 3.5.6 trusts their headers and the list of free pages when it writes, and dies
 * by signal where they are damaged; none of its own functions checks them before. So this reads the file as mdb.c lays it out, and
 * changes nothing. Invariant checked: each page belongs to one thing only: a tree (of the free pages, the root, or a database named in
 * the root), a value too long for its leaf, or the free list.
 *
 *   meta      page header │ magic 4 │ … │ database of free pages 48 │ root database 48 │ last page 8 │ transaction 8
 *   database  page size 4, in the first only │ … │ its root page, at 40
 *   free      n │ n numbers of 8 bytes: a free page, or -k and the first of k free pages, or 0 for nothing
 *
 *   page      header: number 8 │ its transaction 8 │ – 2 │ flags 2 │ room: from 2, to 2 (pages of one value: their count 4)
 *             then the offset of each node, 2 each │ room │ the nodes up to the page's end; offsets count from the header's end
 *   node      low 2 │ high 2 │ flags 2 │ key's length 2 │ key │ value, padded to an even length
 *   leaf      low and high are the value's length. The value is itself, or a database, or: its first page 8 │ transaction 8 │ pages 8
 *   branch    low, high and flags are the number of a page; no value
 *
 * Called by store-check.ts before anything listens: its reads are synchronous, of a file that no other process has open.
 */

import { closeSync, openSync, readSync } from 'node:fs';

const HEADER_BYTES = 24;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
/** Flags of a node in a leaf: a value that has pages of its own; a value that is a database. */
const BIG = 1;
const DATABASE = 2;

/** The flags that say what kind of page it is. */
const KINDS = 0xff;
const NODE_BYTES = 8;
const BIG_BYTES = 24;

const META_BYTES = 160;
const DATABASE_BYTES = 48;
const NO_PAGE = -1;
/** 8 TiB. */
const MAX_PAGES = 2 ** 31;

interface PageHeader {
  readonly pageNumber: number;
  readonly transaction: number;
  readonly kind: number;
  /** The number of a value's own pages. */
  readonly pages: number;
}

interface PageNode {
  /** The page below; in a branch only. */
  readonly child: number;
  readonly flags: number;
  /** The length of the value, wherever it is stored. */
  readonly bytes: number;
  /** The part of the value in the leaf. */
  readonly value: Buffer;
}

type OnValue = (value: PageNode) => void;

class PageFile {
  readonly #file: number;
  #pageBytes = 0;
  #lastPage = 0;
  #transaction = 0;
  /** 1 for each page that belongs to something. */
  #taken = new Uint8Array(0);

  constructor(file: number) {
    this.#file = file;
  }

  check(): void {
    const first = this.#bytes(0, META_BYTES);
    this.#pageBytes = first.readUInt32LE(48);
    const second = this.#bytes(this.#pageBytes, META_BYTES);
    const meta = number(first, 152) > number(second, 152) ? first : second;
    this.#lastPage = number(meta, 144);
    this.#transaction = number(meta, 152);
    if (this.#lastPage < 1 || this.#lastPage >= MAX_PAGES) throw new Error(`its last page is ${this.#lastPage}`);
    this.#taken = new Uint8Array(this.#lastPage + 1);
    this.#take(0, 2, 'meta');

    this.#tree(number(meta, 88), (node) => {
      if (node.flags === BIG) this.#free(this.#bytes(this.#big(node) * this.#pageBytes + HEADER_BYTES, node.bytes));
      else this.#free(this.#plain(node));
    });
    this.#tree(number(meta, 136), (named) => {
      if (named.flags !== DATABASE || named.bytes !== DATABASE_BYTES) this.#value(named);
      else this.#tree(number(named.value, 40), (node) => this.#value(node));
    });
  }

  #tree(root: number, onValue: OnValue): void {
    if (root === NO_PAGE) return;
    this.#take(root, 1, 'tree');
    const page = this.#bytes(root * this.#pageBytes, this.#pageBytes);
    const { kind } = this.#header(page, root);
    if (kind !== LEAF && kind !== BRANCH) throw new Error(`page ${root} is none of a tree`);
    for (const node of nodesOf(page)) {
      if (kind === BRANCH) this.#tree(node.child, onValue);
      else onValue(node);
    }
  }

  #value(node: PageNode): void {
    if (node.flags === BIG) this.#big(node);
    else this.#plain(node);
  }

  #plain(node: PageNode): Buffer {
    if (node.flags !== 0) throw new Error(`there is a value with flags ${node.flags}`);
    return node.value;
  }

  /** @returns the first page of the value */
  #big({ value, bytes }: PageNode): number {
    const [first, pages] = [number(value, 0), number(value, 16)];
    // More pages than it needs if a longer value was there before.
    if (pages * this.#pageBytes < HEADER_BYTES + bytes)
      throw new Error(`${pages} pages cannot hold a value of ${bytes} bytes`);
    this.#take(first, pages, 'value');
    const head = this.#header(this.#bytes(first * this.#pageBytes, HEADER_BYTES), first);
    if (head.kind !== OVERFLOW || head.pages !== pages)
      throw new Error(`page ${first} is none of a value of ${pages} pages`);
    return first;
  }

  #free(list: Buffer): void {
    const count = list.length < 8 ? -1 : number(list, 0);
    if (count < 0 || (count + 1) * 8 > list.length) throw new Error('the list of free pages is longer than itself');
    let pages = 1;
    for (let i = 1; i <= count; i++) {
      const entry = number(list, i * 8);
      if (pages > 1 && entry <= 0) break;
      if (entry > 0) this.#take(entry, pages, 'free');
      pages = entry < 0 ? -entry : 1;
    }
    if (pages > 1) throw new Error(`the list of free pages has ${pages} pages that begin nowhere`);
  }

  #header(bytes: Buffer, pageNumber: number): PageHeader {
    const head = headerOf(bytes);
    if (head.pageNumber !== pageNumber) throw new Error(`page ${pageNumber} says that it is page ${head.pageNumber}`);
    if (head.transaction < 0 || head.transaction > this.#transaction) {
      throw new Error(`page ${pageNumber} is of transaction ${head.transaction}`);
    }
    return head;
  }

  /** Throws if a page belongs to two things, which also ends a cycle. */
  #take(first: number, count: number, what: string): void {
    if (first < 0 || count < 1 || first + count - 1 > this.#lastPage) {
      throw new Error(`there is no page ${first}${count === 1 ? '' : ` with ${count - 1} behind it`} (${what})`);
    }
    for (let page = first; page < first + count; page++) {
      if (this.#taken[page] === 1) throw new Error(`page ${page} is taken twice (${what})`);
      this.#taken[page] = 1;
    }
  }

  #bytes(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    if (readSync(this.#file, bytes, 0, length, at) < length) throw new Error('it ends too soon');
    return bytes;
  }
}

/** Throws an Error with the reason if the file is not one that lmdb would have written. @param path of a file that lmdb can open */
export function checkPages(path: string): void {
  const file = openSync(path, 'r');
  try {
    new PageFile(file).check();
  } finally {
    closeSync(file);
  }
}

/** @param bytes those of the header, or more */
function headerOf(bytes: Buffer): PageHeader {
  return {
    pageNumber: number(bytes, 0),
    transaction: number(bytes, 8),
    kind: bytes.readUInt16LE(18) & KINDS,
    pages: bytes.readUInt32LE(20),
  };
}

/** Throws an Error if the nodes do not fill the space that the header declares. @param page a complete branch or leaf */
function nodesOf(page: Buffer): PageNode[] {
  const { pageNumber, kind } = headerOf(page);
  const body = page.subarray(HEADER_BYTES);
  const [from, to] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  if (from % 2 !== 0 || from > to || to > body.length)
    throw new Error(`page ${pageNumber} has room from ${from} to ${to}`);
  const nodes: PageNode[] = [];
  let filled = 0;
  for (let i = 0; i < from; i += 2) {
    const at = body.readUInt16LE(i);
    const within = (end: number) => {
      if (at < to || end > body.length) throw new Error(`page ${pageNumber} has a node where it has none`);
    };
    within(at + NODE_BYTES);
    const [bytes, flags] = [body.readUInt32LE(at), body.readUInt16LE(at + 4)];
    const valueAt = at + NODE_BYTES + body.readUInt16LE(at + 6);
    const valueBytes = kind === BRANCH ? 0 : flags === BIG ? BIG_BYTES : bytes;
    within(valueAt + valueBytes);
    nodes.push({ child: bytes + flags * 2 ** 32, flags, bytes, value: body.subarray(valueAt, valueAt + valueBytes) });
    const length = valueAt + valueBytes - at;
    filled += length + (length % 2);
  }
  if (filled !== body.length - to)
    throw new Error(`page ${pageNumber} has nodes of ${filled} bytes in ${body.length - to}`);
  return nodes;
}

/** A number of 8 bytes. */
function number(bytes: Buffer, at: number): number {
  return Number(bytes.readBigInt64LE(at));
}
