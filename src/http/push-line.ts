/**
 * Makes the request line of a push one that Node's parser takes: programs that fill in a template send blanks, UTF-8 and Windows-1252 as
 * they are. Each such byte is percent-encoded, so that nothing is decided about its charset here. Lines of other requests pass untouched,
 * and so does everything behind the line.
 *
 *   GET /metapush/demo/token?song=Jóga live HTTP/1.1  ─►  GET /metapush/demo/token?song=J%C3%B3ga%20live HTTP/1.1
 *
 * Bytes come in any pieces; at most some blanks and a protocol are kept. Invariant: what comes out depends on the bytes only, never on
 * where they were split. Owned by the pipeline of a connection.
 */

const BLANK = 0x20;
const CR = 0x0d;
const LF = 0x0a;
const SLASH = 0x2f;
const PERCENT = 0x25;
const HEX = '0123456789ABCDEF';
const NOTHING = Buffer.alloc(0);
const STARTS = ['GET /metapush/', 'POST /metapush/'];
/** The last blank of a line is what stands before one of these and the line's end. */
const PROTOCOL = 'HTTP/1.';
/** Blanks in a row that are kept until it is known whether the line ends behind them. */
const MAX_BLANKS = 256;

/** At the `start`, in the `target` of a push and what follows it, or `past` its line; any other line is past at once. */
type LinePart = 'start' | 'target' | 'past';

export class PushLine {
  #place: LinePart = 'start';
  /** Of the line, as long as it may be that of a push. */
  #start = '';
  /** Kept until it is known what follows: blanks, and what may be a protocol behind them. */
  #blanks = 0;
  #protocol = '';
  #isRepaired = false;
  /** What comes out of the piece in hand, and how much of it was written. */
  #out = NOTHING;
  #length = 0;

  /** The line was not exact HTTP: a proxy that passed it on may have read it in another way. */
  get isRepaired(): boolean {
    return this.#isRepaired;
  }

  /** The next bytes begin a request. */
  begin(): void {
    this.#place = 'start';
    this.#start = '';
    this.#isRepaired = false;
  }

  /** The bytes for the parser: mostly those that were given. */
  repair(chunk: Buffer): Buffer {
    if (this.#place === 'past') return chunk;
    let at = 0;
    for (; at < chunk.length && this.#place === 'start'; at++) this.#find(chunk[at]!);
    const start = at;
    if (this.#place !== 'target') return chunk;
    const end = chunk.indexOf(LF, start);
    const lineBytes = (end < 0 ? chunk.length : end + 1) - start;
    this.#out = Buffer.allocUnsafe(3 * (lineBytes + this.#blanks) + PROTOCOL.length + 2);
    this.#length = 0;
    for (; at < chunk.length && this.#place === 'target'; at++) this.#take(chunk[at]!);
    const line = this.#out.subarray(0, this.#length);
    this.#out = NOTHING;
    return Buffer.concat([chunk.subarray(0, start), line, chunk.subarray(at)]);
  }

  /** A byte before it is known whether this is a push. Blank lines may stand before it, and more than one slash before a word. */
  #find(byte: number): void {
    if (this.#start === '' && (byte === CR || byte === LF)) return;
    if (byte === SLASH && this.#start.endsWith('/')) return;
    this.#start += String.fromCharCode(byte);
    if (STARTS.includes(this.#start)) this.#place = 'target';
    else if (!STARTS.some((start) => start.startsWith(this.#start))) this.#place = 'past';
  }

  /** A byte of the target, or of what follows it. */
  #take(byte: number): void {
    if (byte === CR || byte === LF) {
      const isWhole = this.#protocol.length === PROTOCOL.length + 1;
      if (isWhole) this.#isRepaired ||= this.#blanks > 1;
      this.#release(isWhole ? ' ' : '%20'.repeat(this.#blanks));
      // Without a protocol it is not a request: a blank makes Node say so, which would take it for one of HTTP/0.9.
      if (!isWhole && this.#isRepaired) this.#put(BLANK);
      this.#put(byte);
      this.#place = 'past';
      return;
    }
    if (byte === BLANK) {
      if (this.#protocol !== '' || this.#blanks === MAX_BLANKS) this.#release('%20'.repeat(this.#blanks));
      this.#blanks++;
      return;
    }
    if (this.#blanks > 0) {
      const protocol = this.#protocol + String.fromCharCode(byte);
      if (PROTOCOL.startsWith(protocol) || protocol === `${PROTOCOL}0` || protocol === `${PROTOCOL}1`) {
        this.#protocol = protocol;
        return;
      }
      this.#release('%20'.repeat(this.#blanks));
    }
    if (byte < 0x80) this.#put(byte);
    else {
      this.#isRepaired = true;
      this.#put(PERCENT);
      this.#put(HEX.charCodeAt(byte >> 4));
      this.#put(HEX.charCodeAt(byte & 15));
    }
  }

  /** Writes what was kept. @param blanks what stands for its blanks */
  #release(blanks: string): void {
    this.#isRepaired ||= blanks.length > 1;
    this.#write(blanks + this.#protocol);
    this.#blanks = 0;
    this.#protocol = '';
  }

  #write(text: string): void {
    this.#length += this.#out.write(text, this.#length, 'latin1');
  }

  #put(byte: number): void {
    this.#out[this.#length++] = byte;
  }
}
