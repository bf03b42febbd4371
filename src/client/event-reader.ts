/** Splits a stream of server-sent events (HTML, "Server-sent events") into the data of each, however it is cut into pieces. */

/** Longer events are not ours. */
const MAX_CHARACTERS = 1 << 20;

export class EventReader {
  readonly #onData: (data: string) => void;
  #rest = '';
  #data: string[] = [];
  #dataCharacters = 0;

  constructor(onData: (data: string) => void) {
    this.#onData = onData;
  }

  /** @throws Error when an event is too long */
  push(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    if (this.#rest.length > MAX_CHARACTERS) throw new Error('An event is too long');
    for (const line of lines) this.#take(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  #take(line: string): void {
    if (line.startsWith('data:')) {
      this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
      this.#dataCharacters += line.length;
      if (this.#dataCharacters > MAX_CHARACTERS) throw new Error('An event is too long');
    }
    if (line !== '' || this.#data.length === 0) return;
    const data = this.#data.join('\n');
    this.#data = [];
    this.#dataCharacters = 0;
    this.#onData(data);
  }
}
