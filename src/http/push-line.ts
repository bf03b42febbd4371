/**
 * Repairs the request line of a push, so that Node's parser accepts it: programs that fill in a template send raw blanks, UTF-8 and
 * Windows-1252. Each such byte is percent-encoded, whatever its charset. Request lines of other paths, and everything after the line,
 * are passed on unchanged.
 *
 *   GET /metapush/demo/token?song=Jóga live HTTP/1.1  ─►  GET /metapush/demo/token?song=J%C3%B3ga%20live HTTP/1.1
 *
 * Between two chunks it keeps at most some blanks and a protocol. Invariant: the output depends on the bytes only, never on where they
 * were split. Owned by the pipeline of a connection.
 */

const BLANK = 0x20;
const CR = 0x0d;
const LF = 0x0a;
const SLASH = 0x2f;
const PERCENT = 0x25;
const HEX = '0123456789ABCDEF';
const NOTHING = Buffer.alloc(0);
const STARTS = ['GET /metapush/', 'POST /metapush/'];
/** The last blank of the line precedes this, a digit and the line's end. */
const PROTOCOL = 'HTTP/1.';
/** Limit on successive blanks kept until it is clear whether the protocol follows. */
const MAX_BLANKS = 256;

/** At the `start`, in the `target` of a push or after it, or `past` the line. The line of another request is past at once. */
type LinePart = 'start' | 'target' | 'past';

export class PushLine {
  #part: LinePart = 'start';
  /** The beginning of the line, while it can still be a push. */
  #start = '';
  /** Kept until it is clear what follows: blanks, and a possible beginning of the protocol after them. */
  #blanks = 0;
  #protocol = '';
  #isRepaired = false;
  /** The output for the present chunk, and the number of bytes written to it. */
  #out = NOTHING;
  #length = 0;

  /** Whether the line was not valid HTTP: a proxy may have interpreted it in another way. */
  get isRepaired(): boolean {
    return this.#isRepaired;
  }

  /** The next bytes begin a request. */
  begin(): void {
    this.#part = 'start';
    this.#start = '';
    this.#isRepaired = false;
  }

  /** The bytes for the parser; usually the chunk itself. */
  repair(chunk: Buffer): Buffer {
    if (this.#part === 'past') return chunk;
    let at = 0;
    for (; at < chunk.length && this.#part === 'start'; at++) this.#find(chunk[at]!);
    const start = at;
    if (this.#part !== 'target') return chunk;
    const end = chunk.indexOf(LF, start);
    const lineBytes = (end < 0 ? chunk.length : end + 1) - start;
    this.#out = Buffer.allocUnsafe(3 * (lineBytes + this.#blanks) + PROTOCOL.length + 2);
    this.#length = 0;
    for (; at < chunk.length && this.#part === 'target'; at++) this.#take(chunk[at]!);
    const line = this.#out.subarray(0, this.#length);
    this.#out = NOTHING;
    return Buffer.concat([chunk.subarray(0, start), line, chunk.subarray(at)]);
  }

  /** Takes a byte of the beginning. Blank lines may precede it, and several slashes count as one. */
  #find(byte: number): void {
    if (this.#start === '' && (byte === CR || byte === LF)) return;
    if (byte === SLASH && this.#start.endsWith('/')) return;
    this.#start += String.fromCharCode(byte);
    if (STARTS.includes(this.#start)) this.#part = 'target';
    else if (!STARTS.some((start) => start.startsWith(this.#start))) this.#part = 'past';
  }

  /** Takes a byte of the target, or after it. */
  #take(byte: number): void {
    if (byte === CR || byte === LF) {
      const isWhole = this.#protocol.length === PROTOCOL.length + 1;
      if (isWhole) this.#isRepaired ||= this.#blanks > 1;
      this.#release(isWhole ? ' ' : '%20'.repeat(this.#blanks));
      // Without a protocol Node would assume HTTP/0.9: a blank at the end makes it refuse the line.
      if (!isWhole && this.#isRepaired) this.#put(BLANK);
      this.#put(byte);
      this.#part = 'past';
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

  /** Writes the kept blanks and protocol. @param blanks replaces the blanks */
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
