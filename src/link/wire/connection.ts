/**
 * One end of a link: a stream of messages both ways, over a local socket, behind the version of each end (version.ts). Messages are gathered until
 * `flush`, which hands them to the stream together. Handlers take ranges of types.
 *
 * Invariant: whatever the other end sends, the link works or is closed. Owns its stream.
 */

import type { Duplex } from 'node:stream';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { nameOf, PING } from './message-types.js';
import { MessageWriter } from './message-writer.js';
import { GreetingReader, greeting, OtherVersion } from './version.js';
import { type MessageReader, WireError, WireReader } from './wire.js';

/** What may wait in the stream: more stays where it comes from. */
const MAX_QUEUED_BYTES = 1024 * 1024;
/** What has to be sent may wait up to here: an end that reads no more is gone. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/**
 * Between machines: how often each end sends something, and how long the other may be silent. It is looked each PING_MS, so a dead link is closed
 * within 3 s.
 */
const PING_MS = 500;
const SILENT_MS = 2500;
/** A write of its own costs as much as copying some KiB. */
const MAX_COPIED_BYTES = 2048;

export interface MessageHandler {
  /** @throws WireError, which closes the link */
  onMessage(type: number, message: MessageReader): void;
  /** The stream has taken what it was given. */
  onDrain(): void;
  /** No message comes any more. Called once. */
  onClosed(): void;
}

export interface LinkOptions {
  /** The other end's name in errors: `machine b`, `worker 3`. */
  readonly peer?: string;
  /** What may wait in the stream, beside one message. */
  readonly mostQueuedBytes?: number;
  /** Given at both ends of a link between machines, which is closed where one is silent. Absent: within a machine. */
  readonly clock?: Clock;
}

/** The other end sends nothing, or reads nothing. */
export class LinkSilent extends Error {
  override readonly name = 'LinkSilent';
  readonly peer: string;

  constructor(peer: string, what: string) {
    super(`${peer}: ${what}`);
    this.peer = peer;
  }
}

/** The other end sent a message that it must not send. */
export class BadMessage extends WireError {
  readonly peer: string;

  constructor(peer: string, what: string, cause?: unknown) {
    super(`${peer}: ${what}`, { cause });
    this.peer = peer;
  }
}

export class LinkConnection implements AlarmHandler {
  readonly #stream: Duplex;
  readonly #writer = new MessageWriter();
  readonly #handlers: { readonly first: number; readonly last: number; readonly handler: MessageHandler }[] = [];
  readonly #onBroken: (error: unknown) => void;
  /** The other end's name in errors, as far as it is known. */
  peer: string;
  readonly #mostQueuedBytes: number;
  #isClosed = false;
  readonly #clock: Clock | null;
  #alarm: Alarm | null = null;
  /** When something came last, and when this is looked at next, monotonic milliseconds. */
  #heardMs = 0;
  #dueMs = 0;

  /** @param onBroken called with why the link is closed, where that is a fault: OtherVersion before any message of the other end was read */
  constructor(stream: Duplex, onBroken: (error: unknown) => void, { peer, mostQueuedBytes, clock }: LinkOptions = {}) {
    this.#stream = stream;
    this.peer = peer ?? 'the other process';
    this.#onBroken = onBroken;
    this.#mostQueuedBytes = mostQueuedBytes ?? MAX_QUEUED_BYTES;
    this.#clock = clock ?? null;
    const greetings = new GreetingReader();
    const reader = new WireReader((type, message) => this.#dispatch(type, message));
    stream.write(greeting());
    stream.on('data', (chunk: Buffer) => {
      if (this.#isClosed) return;
      if (this.#clock !== null) this.#heardMs = this.#clock.now();
      try {
        const taken = greetings.take(chunk);
        reader.push(taken === 0 ? chunk : chunk.subarray(taken));
      } catch (error) {
        const isOther = error instanceof OtherVersion;
        this.#onBroken(
          isOther || error instanceof BadMessage ? error : new BadMessage(this.peer, (error as Error).message, error),
        );
        if (isOther) this.#part();
        else this.close();
      }
    });
    stream.on('drain', () => {
      for (const { handler } of this.#handlers) handler.onDrain();
    });
    // That the other process is gone is its supervisor's to say.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!this.#isClosed && error.code !== 'ECONNRESET' && error.code !== 'EPIPE') this.#onBroken(error);
    });
    stream.on('end', () => this.close());
    stream.on('close', () => this.close());
    if (this.#clock !== null) this.#wait(this.#clock.now(), this.#clock);
  }

  /** From here on this one takes the messages of these types. */
  handle(first: number, last: number, handler: MessageHandler): void {
    this.#handlers.push({ first, last, handler });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** When something came last, monotonic milliseconds; 0 within a machine, where it is not watched. */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** Whether the other end does not keep up: wait for `onDrain`. */
  get isFull(): boolean {
    return this.#stream.writableLength + this.#writer.waitingBytes >= this.#mostQueuedBytes;
  }

  /** A message begins; `end` follows. */
  begin(type: number): MessageWriter {
    return this.#writer.begin(type);
  }

  /** The message that was begun ends with these bytes, which are not copied where they are many. Between `cork` and `uncork`. */
  endWith(bytes: Buffer): void {
    if (bytes.length <= MAX_COPIED_BYTES) {
      this.#writer.bytes(bytes).end();
      return;
    }
    this.#writer.end(bytes.length);
    this.flush();
    if (!this.#isClosed) this.#stream.write(bytes);
  }

  /** Hands what was gathered to the stream. */
  flush(): void {
    const bytes = this.#writer.take();
    if (bytes === null || this.#isClosed) return;
    this.#stream.write(bytes);
    if (this.#stream.writableLength > MAX_WAITING_BYTES)
      this.#break(`it does not read: more than ${MAX_WAITING_BYTES} bytes wait for it`);
  }

  /** Sends a ping, and closes the link where the other end is silent. */
  onAlarm(nowMs: number): void {
    if (this.#isClosed) return;
    // This process stood still: what came meanwhile is not read yet.
    if (nowMs - this.#dueMs > PING_MS) this.#heardMs = nowMs;
    if (nowMs - this.#heardMs >= SILENT_MS) {
      this.#break(`nothing has come for ${SILENT_MS} ms`);
      return;
    }
    this.begin(PING).end();
    this.flush();
    this.#wait(nowMs, this.#clock!);
  }

  #wait(nowMs: number, clock: Clock): void {
    if (this.#heardMs === 0) this.#heardMs = nowMs;
    this.#dueMs = nowMs + PING_MS;
    this.#alarm = clock.alarm(this.#dueMs, this);
  }

  #break(reason: string): void {
    if (this.#isClosed) return;
    this.#onBroken(new LinkSilent(this.peer, reason));
    this.close();
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream.destroy();
    this.#sayClosed();
  }

  /** What is written up to `uncork` goes out in one go. */
  cork(): void {
    this.#stream.cork();
  }

  uncork(): void {
    this.flush();
    this.#stream.uncork();
  }

  /** The other end must get to read our version, whatever it writes: a write behind our close would cost it what waits there. */
  #part(): void {
    this.#isClosed = true;
    this.#stream.end();
    this.#sayClosed();
  }

  #sayClosed(): void {
    this.#alarm?.cancel();
    for (const { handler } of this.#handlers) handler.onClosed();
  }

  #dispatch(type: number, message: MessageReader): void {
    if (this.#isClosed || type === PING) return;
    for (const { first, last, handler } of this.#handlers) {
      if (type >= first && type <= last) {
        try {
          handler.onMessage(type, message);
        } catch (error) {
          throw this.#named(type, error);
        }
        return;
      }
    }
    throw new BadMessage(this.peer, `a message of type ${type}`);
  }

  /** Whatever is thrown while a message is read, the other end is to blame. */
  #named(type: number, error: unknown): BadMessage {
    return new BadMessage(this.peer, `message ${nameOf(type)}: ${(error as Error).message}`, error);
  }
}
