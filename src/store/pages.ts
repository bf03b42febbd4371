/**
 * Whether the pages of an LMDB file can be believed: lmdb 3.5.6 takes what stands in their heads and in the list of free pages for true
 * when it writes, and dies by signal where it is nonsense; none of its own functions reads it before. So we read it as mdb.c lays it out
 * (a page of it: page.ts), and change nothing. Each page belongs to one thing only: a tree (of the free pages, the root, or a database
 * named in the root), a value too long for its leaf, or the free ones.
 *
 *   meta      page head │ magic 4 │ … │ database of free pages 48 │ root database 48 │ last page 8 │ transaction 8
 *   database  page size 4, in the first only │ … │ its root page, at 40
 *   free      n │ n numbers of 8 bytes: a free page, or -k and the first of k free pages, or 0 for nothing
 *
 * Pure reading of a file that nobody else has open. Called by check.ts, before anything listens: its reads wait for the disk.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import {
  BIG,
  BRANCH,
  DATABASE,
  HEAD_BYTES,
  type Head,
  headOf,
  LEAF,
  type Node,
  nodesOf,
  number,
  OVERFLOW,
} from './page.js';

const META_BYTES = 160;
const DATABASE_BYTES = 48;
const NO_PAGE = -1;
/** 8 TiB. */
const MOST_PAGES = 2 ** 31;

type OnValue = (value: Node) => void;

class Pages {
  readonly #file: number;
  #pageBytes = 0;
  #lastPage = 0;
  #transaction = 0;
  /** 1 for each page that something has. */
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
    if (this.#lastPage < 1 || this.#lastPage >= MOST_PAGES) throw new Error(`its last page is ${this.#lastPage}`);
    this.#taken = new Uint8Array(this.#lastPage + 1);
    this.#take(0, 2, 'meta');

    this.#tree(number(meta, 88), (node) => {
      if (node.flags === BIG) this.#free(this.#bytes(this.#big(node) * this.#pageBytes + HEAD_BYTES, node.bytes));
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
    const { kind } = this.#head(page, root);
    if (kind !== LEAF && kind !== BRANCH) throw new Error(`page ${root} is none of a tree`);
    for (const node of nodesOf(page)) {
      if (kind === BRANCH) this.#tree(node.child, onValue);
      else onValue(node);
    }
  }

  #value(node: Node): void {
    if (node.flags === BIG) this.#big(node);
    else this.#plain(node);
  }

  #plain(node: Node): Buffer {
    if (node.flags !== 0) throw new Error(`there is a value with flags ${node.flags}`);
    return node.value;
  }

  /** @returns the first page of the value */
  #big({ value, bytes }: Node): number {
    const [first, pages] = [number(value, 0), number(value, 16)];
    // More than it needs where a longer value was there before.
    if (pages * this.#pageBytes < HEAD_BYTES + bytes)
      throw new Error(`${pages} pages cannot hold a value of ${bytes} bytes`);
    this.#take(first, pages, 'value');
    const head = this.#head(this.#bytes(first * this.#pageBytes, HEAD_BYTES), first);
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

  #head(bytes: Buffer, pageNumber: number): Head {
    const head = headOf(bytes);
    if (head.page !== pageNumber) throw new Error(`page ${pageNumber} says that it is page ${head.page}`);
    if (head.transaction < 0 || head.transaction > this.#transaction) {
      throw new Error(`page ${pageNumber} is of transaction ${head.transaction}`);
    }
    return head;
  }

  /** Nothing has the same page as another: nonsense may go in a circle, too. */
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

/** Throws an Error with the reason when the file cannot be what lmdb left. @param path of a file that lmdb can open */
export function checkPages(path: string): void {
  const file = openSync(path, 'r');
  try {
    new Pages(file).check();
  } finally {
    closeSync(file);
  }
}
