/**
 * One end of a link: messages in both directions over a socket, after the version of each end (link-version.ts). Messages are buffered until `flush`,
 * which writes them to the stream together. Each handler takes a range of types.
 *
 * Invariant: whatever the other end sends, the link works or is closed. Owns its stream.
 */

import type { Duplex } from 'node:stream';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { GreetingReader, greeting, OtherVersion } from './link-version.js';
import { nameOf, PING } from './message-types.js';
import { MessageWriter } from './message-writer.js';
import { type MessageReader, WireError, WireReader } from './wire.js';

/** Maximum of the unsent bytes in the stream; further data stays at its origin. */
const MAX_QUEUED_BYTES = 1024 * 1024;
/** Maximum of unsent bytes including messages that cannot wait elsewhere; past it the other end counts as lost. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/**
 * Between machines: interval of pings, and time-out without any data. It is checked each PING_MS, so a dead link is closed within 3 s.
 */
const PING_MS = 500;
const SILENT_MS = 2500;
/** A separate write costs as much as copying some KiB. */
const MAX_COPIED_BYTES = 2048;

export interface MessageHandler {
  /** @throws WireError, which closes the link */
  onMessage(type: number, message: MessageReader): void;
  /** The stream has room again. */
  onDrain(): void;
  /** The link has ended. Called once. */
  onClosed(): void;
}

export interface LinkOptions {
  /** The other end's name in errors: `machine b`, `worker 3`. */
  readonly peer?: string;
  /** Maximum of unsent bytes, in addition to one message. */
  readonly maxQueuedBytes?: number;
  /** Set at both ends of a link between machines, to close it if one end is silent. Absent: within a machine. */
  readonly clock?: Clock;
}

/** The other end does not send, or does not read. */
export class LinkSilent extends Error {
  override readonly name = 'LinkSilent';
  readonly peer: string;

  constructor(peer: string, what: string) {
    super(`${peer}: ${what}`);
    this.peer = peer;
  }
}

/** The other end has sent an invalid message. */
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
  /** The other end's name in errors, once it is known. */
  peer: string;
  readonly #maxQueuedBytes: number;
  #isClosed = false;
  readonly #clock: Clock | null;
  #alarm: Alarm | null = null;
  /** When data last arrived, and when that is checked next, monotonic milliseconds. */
  #heardMs = 0;
  #dueMs = 0;

  /** @param onBroken called with the fault that closes the link; OtherVersion comes before any message is read */
  constructor(stream: Duplex, onBroken: (error: unknown) => void, { peer, maxQueuedBytes, clock }: LinkOptions = {}) {
    this.#stream = stream;
    this.peer = peer ?? 'the other process';
    this.#onBroken = onBroken;
    this.#maxQueuedBytes = maxQueuedBytes ?? MAX_QUEUED_BYTES;
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
    // The end of the other process is reported by its supervisor.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!this.#isClosed && error.code !== 'ECONNRESET' && error.code !== 'EPIPE') this.#onBroken(error);
    });
    stream.on('end', () => this.close());
    stream.on('close', () => this.close());
    if (this.#clock !== null) this.#wait(this.#clock.now(), this.#clock);
  }

  /** Passes messages of these types to this handler from now on. */
  handle(first: number, last: number, handler: MessageHandler): void {
    this.#handlers.push({ first, last, handler });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** When data last arrived, monotonic milliseconds; 0 within a machine, where it is not watched. */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** Whether the other end does not keep up: wait for `onDrain` then. */
  get isFull(): boolean {
    return this.#stream.writableLength + this.#writer.waitingBytes >= this.#maxQueuedBytes;
  }

  /** Begins a message; `end` must follow. */
  begin(type: number): MessageWriter {
    return this.#writer.begin(type);
  }

  /** Ends the message with these bytes, without copying large ones. Call it between `cork` and `uncork`. */
  endWith(bytes: Buffer): void {
    if (bytes.length <= MAX_COPIED_BYTES) {
      this.#writer.bytes(bytes).end();
      return;
    }
    this.#writer.end(bytes.length);
    this.flush();
    if (!this.#isClosed) this.#stream.write(bytes);
  }

  /** Writes the buffered messages to the stream. */
  flush(): void {
    const bytes = this.#writer.take();
    if (bytes === null || this.#isClosed) return;
    this.#stream.write(bytes);
    if (this.#stream.writableLength > MAX_WAITING_BYTES)
      this.#break(`it does not read: more than ${MAX_WAITING_BYTES} bytes are waiting for it`);
  }

  /** Sends a ping, and closes the link if the other end is silent. */
  onAlarm(nowMs: number): void {
    if (this.#isClosed) return;
    // This process was suspended: data of that time is not read yet.
    if (nowMs - this.#dueMs > PING_MS) this.#heardMs = nowMs;
    if (nowMs - this.#heardMs >= SILENT_MS) {
      this.#break(`nothing received for ${SILENT_MS} ms`);
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

  /** Data written until `uncork` is sent in one go. */
  cork(): void {
    this.#stream.cork();
  }

  uncork(): void {
    this.flush();
    this.#stream.uncork();
  }

  /** Ends without a reset, so that the other end can read our version even if it is still writing. */
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
    throw new BadMessage(this.peer, `unexpected message type ${type}`);
  }

  /** Any error while a message is read is a fault of the other end. */
  #named(type: number, error: unknown): BadMessage {
    return new BadMessage(this.peer, `message ${nameOf(type)}: ${(error as Error).message}`, error);
  }
}
