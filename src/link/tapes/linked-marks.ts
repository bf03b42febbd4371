/**
 * Marks on a link. Each is sent once per tape, with its record, and is referred to by its number (`order`) afterwards. At the other end the same
 * number is the same object, also after a reconnect. Blocks have numbers, too: a title that keeps the one before it has its block, and segments
 * compare blocks by identity (audio/tape/segment.ts). Both ends drop marks that are not on the tape any more: a message says from which number on
 * they are kept.
 */

import { Mark } from '../../audio/tape/mark.js';
import { encode, parse } from '../../metadata/codec.js';
import { RecordView } from '../../metadata/view.js';
import { blob, type MemberTable, readAll, text, whole } from '../wire/members.js';
import type { MessageWriter } from '../wire/message-writer.js';
import { MAX_MESSAGE_BYTES, MAX_WHOLE, type MessageReader, WireError } from '../wire/wire.js';
import { MAX_BLOCK_BYTES, type MarkText, readMark } from './mark-schema.js';
import { blockNumberOf, setBlockNumber } from './tape-names.js';

/** In place of a mark's number: none. */
const NO_MARK = 0;
/** Number of new marks after which marks that are not on the tape any more are dropped. */
const MAX_UNSEEN = 32;
/** Maximum number of marks of one channel: the longest tape has fewer. */
export const MAX_MARKS = 10_000;
/** Maximum size of the texts of all marks of a channel. */
const MAX_BYTES = 4 * MAX_MESSAGE_BYTES;

export const MARK_MEMBERS: MemberTable<{
  readonly order: number;
  readonly keptFrom: number;
  readonly blockNumber: number;
  readonly text: string;
  readonly block: Buffer;
}> = {
  order: whole(MAX_WHOLE, NO_MARK + 1),
  keptFrom: whole(),
  blockNumber: whole(),
  text: text(MAX_MESSAGE_BYTES),
  block: blob(MAX_BLOCK_BYTES),
};

export function numberOf(mark: Mark | null): number {
  return mark?.order ?? NO_MARK;
}

/** The marks that the other end has, of the tape of one subscription. */
export class SentMarks {
  readonly #marks = new Map<number, Mark>();
  #keptFrom = NO_MARK;
  #unseen = 0;

  has(mark: Mark): boolean {
    return this.#marks.has(mark.order);
  }

  /** Whether to call `keepFrom`. */
  get isLong(): boolean {
    return this.#unseen >= MAX_UNSEEN;
  }

  /** Drops marks with a lower number. */
  keepFrom(number: number): void {
    this.#keptFrom = number;
    this.#unseen = 0;
    for (const each of this.#marks.keys()) if (each < number) this.#marks.delete(each);
  }

  /** Another tape follows: the other end may have dropped all marks, even those that are on both tapes. */
  clear(): void {
    this.#marks.clear();
    this.#unseen = 0;
  }

  /** Writes the fields of its message. */
  write(mark: Mark, message: MessageWriter): void {
    const { view, block, tags, order } = mark;
    this.#marks.set(order, mark);
    this.#unseen++;
    message.whole(order).whole(this.#keptFrom).whole(blockNumberOf(mark));
    message.text(encode({ record: view.record, channel: view.channel, tags }));
    message.blob(block);
  }
}

/** A mark that has arrived, the number of its block, and the length of its text. */
interface CameMark {
  readonly mark: Mark;
  readonly blockNumber: number;
  readonly bytes: number;
}

/** The marks of one channel that have arrived. Those of the next hub have higher numbers (audio/tape/mark.ts). */
export class LinkedMarks {
  readonly #channel: string;
  readonly #marks = new Map<number, CameMark>();
  /** By number: the block, and the number of marks that have it. */
  readonly #blocks = new Map<number, { readonly block: Buffer; count: number }>();
  #keptFrom = NO_MARK;
  /** Of the texts of all marks. */
  #bytes = 0;

  /** @param channel to which all of them must belong */
  constructor(channel: string) {
    this.#channel = channel;
  }

  /** Reads a message of SentMarks. @throws WireError if it is malformed, or there are too many marks */
  read(message: MessageReader): void {
    const { order, keptFrom, blockNumber, text, block } = readAll(message, MARK_MEMBERS);
    if (keptFrom > this.#keptFrom) this.#keepFrom(keptFrom);
    // It has arrived over another link.
    if (this.#marks.has(order)) return;
    if (this.#marks.size >= MAX_MARKS || this.#bytes + text.length > MAX_BYTES) {
      throw new WireError('more marks than a tape has');
    }
    const { record, channel, tags } = readText(this.#channel, text, block);
    const same = this.#blocks.get(blockNumber) ?? { block, count: 0 };
    same.count++;
    this.#blocks.set(blockNumber, same);
    setBlockNumber(same.block, blockNumber);
    const mark = new Mark(new RecordView(record, channel), same.block, tags, order);
    this.#marks.set(order, { mark, blockNumber, bytes: text.length });
    this.#bytes += text.length;
  }

  /** The highest number of a mark. */
  get last(): number {
    let last = NO_MARK;
    for (const order of this.#marks.keys()) last = Math.max(last, order);
    return last;
  }

  /** @throws WireError if it has not arrived */
  known(number: number): Mark {
    const came = this.#marks.get(number);
    if (came === undefined) throw new WireError(`mark ${number} is not known`);
    return came.mark;
  }

  at(number: number): Mark | null {
    return number === NO_MARK ? null : this.known(number);
  }

  /** Another tape follows. */
  clear(): void {
    this.#marks.clear();
    this.#blocks.clear();
    this.#keptFrom = NO_MARK;
    this.#bytes = 0;
  }

  #keepFrom(number: number): void {
    this.#keptFrom = number;
    for (const [order, { blockNumber, bytes }] of this.#marks) {
      if (order >= number) continue;
      this.#marks.delete(order);
      this.#bytes -= bytes;
      const block = this.#blocks.get(blockNumber)!;
      if (--block.count === 0) this.#blocks.delete(blockNumber);
    }
  }

  get count(): number {
    return this.#marks.size;
  }
}

function readText(channel: string, text: string, block: Buffer): MarkText {
  try {
    return readMark(channel, parse(text), block);
  } catch (error) {
    throw new WireError(`a mark: ${(error as Error).message}`);
  }
}
