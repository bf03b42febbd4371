/**
 * Whether the list of free pages in an LMDB file can be believed: lmdb 3.5.6 takes what stands there for true when it writes, and dies by
 * signal where it is nonsense; none of its own functions reads it before. So we read it as mdb.c lays it out, and change nothing.
 *
 *   page    number 8 │ of which transaction 8 │ – 2 │ flags 2 │ end of the nodes' list 2 (pages of one value: how many 4) │ – 2 │ nodes …
 *   meta    page head │ magic 4 │ … │ root database of free pages, 48: page size 4, …, its root page at 40 │ … │ last page │ transaction
 *   node    low 2 │ high 2 │ flags 2 │ key's length 2 │ key │ value          in a leaf: low and high are the value's length
 *   value   n │ n numbers of 8 bytes: a free page, or -k and the first of k free pages, or 0 for nothing
 *
 * Pure reading of a file that nobody else has open. Called by check.ts.
 */

import { type FileHandle, open } from 'node:fs/promises';

const HEAD_BYTES = 24;
const META_BYTES = 160;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
/** A value that has pages of its own: the node holds the number of the first. */
const BIG = 1;
const NO_PAGE = -1;

class FreePages {
  readonly #file: FileHandle;
  #pageBytes = 0;
  #lastPage = 0;
  readonly #free = new Set<number>();
  readonly #read = new Set<number>();

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async check(): Promise<void> {
    const first = await this.#bytes(0, META_BYTES);
    this.#pageBytes = first.readUInt32LE(48);
    const second = await this.#bytes(this.#pageBytes, META_BYTES);
    const meta = number(first, 152) > number(second, 152) ? first : second;
    this.#lastPage = number(meta, 144);
    const root = number(meta, 88);
    if (root !== NO_PAGE) await this.#tree(root);
  }

  async #tree(pageNumber: number): Promise<void> {
    const page = await this.#page(pageNumber, 1);
    const flags = page.readUInt16LE(18);
    const isLeaf = (flags & LEAF) !== 0;
    if (!isLeaf && (flags & BRANCH) === 0) throw new Error(`page ${pageNumber} is none of the list of free pages`);
    const nodes = page.readUInt16LE(20) >> 1;
    for (let i = 0; i < nodes; i++) {
      const at = HEAD_BYTES + page.readUInt16LE(HEAD_BYTES + 2 * i);
      const [low, high, nodeFlags] = [page.readUInt16LE(at), page.readUInt16LE(at + 2), page.readUInt16LE(at + 4)];
      if (isLeaf) {
        const valueAt = at + 8 + page.readUInt16LE(at + 6);
        const value = (nodeFlags & BIG) !== 0 ? await this.#big(number(page, valueAt)) : page.subarray(valueAt);
        this.#list(value, low + high * 0x1_0000);
      } else await this.#tree(low + high * 0x1_0000 + nodeFlags * 0x1_0000_0000);
    }
  }

  async #big(pageNumber: number): Promise<Buffer> {
    const head = await this.#page(pageNumber, 1);
    if ((head.readUInt16LE(18) & OVERFLOW) === 0) throw new Error(`page ${pageNumber} holds no value`);
    this.#read.delete(pageNumber);
    return (await this.#page(pageNumber, head.readUInt32LE(20))).subarray(HEAD_BYTES);
  }

  #list(value: Buffer, bytes: number): void {
    const count = number(value, 0);
    if (count < 0 || (count + 1) * 8 > bytes) throw new Error('the list of free pages is longer than itself');
    let pages = 1;
    for (let at = 8; at <= count * 8; at += 8) {
      const entry = number(value, at);
      if (entry > 0) for (let page = entry; page < entry + pages; page++) this.#add(page);
      pages = entry < 0 ? -entry : 1;
      if (pages > this.#lastPage) throw new Error(`${pages} free pages in a row`);
    }
  }

  #add(page: number): void {
    if (page < 2 || page > this.#lastPage) throw new Error(`there is no page ${page} that could be free`);
    if (this.#free.has(page)) throw new Error(`page ${page} is free twice`);
    this.#free.add(page);
  }

  /** Each page of the list is read once: nonsense may go in a circle. */
  async #page(pageNumber: number, pages: number): Promise<Buffer> {
    if (this.#read.has(pageNumber) || pageNumber < 2 || pageNumber + pages - 1 > this.#lastPage) {
      throw new Error(`there is no page ${pageNumber} in the list of free pages`);
    }
    this.#read.add(pageNumber);
    return this.#bytes(pageNumber * this.#pageBytes, pages * this.#pageBytes);
  }

  async #bytes(at: number, length: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(length), 0, length, at);
    if (bytesRead < length) throw new Error('it ends too soon');
    return buffer;
  }
}

/** Rejects when the file cannot be what lmdb left, with the reason. @param path of a file that lmdb can open */
export async function checkFreePages(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await new FreePages(file).check();
  } finally {
    await file.close();
  }
}

function number(bytes: Buffer, at: number): number {
  return Number(bytes.readBigInt64LE(at));
}
