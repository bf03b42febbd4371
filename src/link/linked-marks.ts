/**
 * Marks on a link. Each is sent once for each tape, with its record, and goes by its number (`order`) from then on; at the other end the same number is
 * the same object, over a cut of the link too. So it is with blocks, which have numbers of their own: a title that kept the one before it has its
 * block, and to segments two blocks say the same only when they are one (audio/segment.ts). Both ends forget those that lie on the tape no more: a message says from which number on they are kept.
 */

import { Mark } from '../audio/mark.js';
import { parseJson } from '../metadata/record-schema.js';
import { RecordView } from '../metadata/view.js';
import { MAX_BLOCK_BYTES, type MarkText, readMark } from './mark-schema.js';
import type { MessageWriter } from './message-writer.js';
import { blockNumberOf, setBlockNumber } from './tape-names.js';
import { type MessageReader, MOST_MESSAGE_BYTES, WireError } from './wire.js';

/** In the place of a mark's number. */
export const NO_MARK = 0;
/** After as many new ones it is looked which are still on the tape. */
const MOST_UNSEEN = 32;

export function numberOf(mark: Mark | null): number {
  return mark?.order ?? NO_MARK;
}

/** Those that the other end has, of the tape that one subscription sends. */
export class SentMarks {
  readonly #marks = new Map<number, Mark>();
  #keptFrom = NO_MARK;
  #unseen = 0;

  has(mark: Mark): boolean {
    return this.#marks.has(mark.order);
  }

  /** Whether to call `keepFrom`. */
  get isLong(): boolean {
    return this.#unseen >= MOST_UNSEEN;
  }

  /** Those with a lower number are on the tape no more. */
  keepFrom(number: number): void {
    this.#keptFrom = number;
    this.#unseen = 0;
    for (const each of this.#marks.keys()) if (each < number) this.#marks.delete(each);
  }

  /** Another tape follows: the other end may have forgotten those of the one before, also those that are on both. */
  clear(): void {
    this.#marks.clear();
    this.#unseen = 0;
  }

  /** The fields of the message that makes it known. */
  write(mark: Mark, message: MessageWriter): void {
    const { view, block, tags, order } = mark;
    this.#marks.set(order, mark);
    this.#unseen++;
    message.whole(order).whole(this.#keptFrom).whole(blockNumberOf(mark));
    message.text(JSON.stringify({ record: view.record, channel: view.channel, tags }));
    message.blob(block);
  }
}

/** Those of one channel that came over the link. The next hub's have higher numbers (audio/mark.ts). */
export class LinkedMarks {
  readonly #channel: string;
  readonly #marks = new Map<number, Mark>();
  /** The block of each mark, by number. */
  readonly #blocks = new Map<number, number>();

  /** @param channel that all of them are of */
  constructor(channel: string) {
    this.#channel = channel;
  }

  /** What SentMarks wrote. @throws WireError where it cannot be believed */
  read(message: MessageReader): void {
    const order = message.whole();
    const keptFrom = message.whole();
    const blockNumber = message.whole();
    const text = message.text(MOST_MESSAGE_BYTES);
    const block = message.blob(MAX_BLOCK_BYTES);
    message.end();
    const { record, channel, tags } = parse(this.#channel, text, block);
    for (const each of this.#marks.keys()) if (each < keptFrom) this.#forget(each);
    // It was sent over another link.
    if (this.#marks.has(order)) return;
    if (order === NO_MARK) throw new WireError('a mark without a number');
    const same = this.#blockOf(blockNumber) ?? block;
    setBlockNumber(same, blockNumber);
    this.#marks.set(order, new Mark(new RecordView(record, channel), same, tags, order));
    this.#blocks.set(order, blockNumber);
  }

  /** The highest number. */
  get last(): number {
    return Math.max(NO_MARK, ...this.#marks.keys());
  }

  /** @throws WireError where it did not come */
  known(number: number): Mark {
    const mark = this.#marks.get(number);
    if (mark === undefined) throw new WireError(`mark ${number} is not known`);
    return mark;
  }

  at(number: number): Mark | null {
    return number === NO_MARK ? null : this.known(number);
  }

  /** Those of another tape will come. */
  clear(): void {
    this.#marks.clear();
    this.#blocks.clear();
  }

  #forget(number: number): void {
    this.#marks.delete(number);
    this.#blocks.delete(number);
  }

  #blockOf(number: number): Buffer | undefined {
    for (const [mark, block] of this.#blocks) if (block === number) return this.#marks.get(mark)!.block;
    return undefined;
  }

  get count(): number {
    return this.#marks.size;
  }
}

function parse(channel: string, text: string, block: Buffer): MarkText {
  try {
    return readMark(channel, parseJson(text), block);
  } catch (error) {
    throw new WireError(`a mark: ${(error as Error).message}`);
  }
}
