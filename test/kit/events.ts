/** An SSE reader on a bare socket, as strict as the standard. It keeps the head, every event with its id, and the comments. */

import type { Test } from 'tap';
import { messageProblems } from './documents.js';
import { until } from './until.js';
import { Wire } from './wire.js';

export interface SeenEvent {
  readonly id: string;
  /** The value of `event:`, if any. */
  readonly name: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect the members that they expect
  readonly record: any;
}

export class Events {
  readonly wire: Wire;
  readonly path: string;
  readonly #test: Test;
  status = 0;
  headers = new Map<string, string>();
  readonly seen: SeenEvent[] = [];
  readonly retries: number[] = [];
  comments = 0;
  /** Id of the last whole event. */
  lastId = '';
  #id = '';
  #name: string | undefined;
  #data: string[] = [];
  #read = -1;

  /** @param headers further request headers, each with its line end */
  constructor(t: Test, port: number, path: string, headers = '') {
    this.path = `/metadata/sse/${path}`;
    this.#test = t;
    this.wire = new Wire(t, port).send(`GET ${this.path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    this.wire.socket.on('data', () => this.#take());
  }

  /** The received records, as `type song`. */
  get songs(): string[] {
    return this.seen.map(({ record }) => `${record.type} ${record.song}`);
  }

  async has(count: number, ms = 5000): Promise<this> {
    const ready = () => this.seen.length >= count;
    await until(ready, ms, () => `events: ${this.status} ${this.songs.slice(-20)}`);
    return this;
  }

  async opened(): Promise<this> {
    await until(
      () => this.retries.length > 0,
      5000,
      () => `events: ${this.wire.got.slice(0, 500)}`,
    );
    return this;
  }

  close(): void {
    this.wire.socket.destroy();
  }

  #take(): void {
    if (this.#read < 0) {
      const end = this.wire.got.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [first, ...lines] = this.wire.got.slice(0, end).split('\r\n');
      this.status = Number(first!.split(' ')[1]);
      this.headers = new Map(lines.map((line) => line.split(/:\s*(.*)/, 2) as [string, string]));
      this.#read = end + 4;
    }
    for (;;) {
      const end = this.wire.got.indexOf('\n', this.#read);
      if (end < 0) return;
      this.#line(this.wire.got.slice(this.#read, end));
      this.#read = end + 1;
    }
  }

  #line(line: string): void {
    if (line === '') {
      this.lastId = this.#id;
      const data = this.#data;
      if (data.length > 0) {
        const record = JSON.parse(Buffer.from(data.join('\n'), 'latin1').toString());
        this.seen.push({ id: this.#id, name: this.#name, record });
        const problems = messageProblems(`http://x${this.path}`, record);
        for (const problem of problems) this.#test.fail(`not in the document: ${problem}`);
      }
      this.#data = [];
      this.#name = undefined;
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
    if (line.startsWith(':')) this.comments++;
    else if (field === 'retry') this.retries.push(Number(value));
    else if (field === 'id') this.#id = value!;
    else if (field === 'event') this.#name = value;
    else if (field === 'data') this.#data.push(value!);
    else throw new Error(`no line of an event stream: ${line}`);
  }
}
