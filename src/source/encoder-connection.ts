/**
 * One encoder's connection, from the first byte of its body on. Its intake extracts the audio (intake.ts). It ends when the body is complete, when
 * no bytes or no audio arrive, or when the connection fails. It reports what frames do not show: another content type than declared, no audio,
 * broken chunks. Owned by an EncoderSource; `onEnded` is called at most once, and never after `close`.
 */

import type { Socket } from 'node:net';
import { contentTypeOf, formatOf } from '../audio/frames/format.js';
import type { KnownLinks } from '../audio/ogg/known-links.js';
import type { Clock } from '../base/clock.js';
import type { SentHeaders } from '../net/front/request-head.js';
import type { BodyState } from './body.js';
import { BareBody, type BodyPosition, bodyOf, type EncoderBody, resumedBody } from './dechunk.js';
import type { SourceEvent } from './health.js';
import { Intake, type IntakeOwner, type IntakePosition } from './intake.js';
import { foreignSentence } from './magic.js';
import type { Pacer } from './pacer.js';
import type { SourceInput } from './source.js';
import { readFacts, type SourceRules } from './source-facts.js';
import type { SourceFacts } from './source-facts-schema.js';

/** The final answer to an encoder that asked for a 100, sent when its body is complete. */
const COMPLETE = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
/** How long an encoder whose body is complete may take to close. */
const COMPLETE_MS = 2000;
/** The reason when an encoder has sent nothing but its head. */
const HELD_BACK =
  'no body followed the head: an HTTP proxy holds back an endless PUT. Connect the encoder directly, or by a TCP proxy';
const IGNORE = (): void => undefined;

export interface EncoderConnectionOptions extends SourceRules {
  /** A connection without a body byte, or with bytes but no audio, for this long is ended. */
  readonly bodyTimeoutMs: number;
  /** Reports what its frames do not show. */
  onEvent(event: SourceEvent, fields: Readonly<Record<string, unknown>>): void;
}

/** The encoder's identity. */
export interface EncoderFacts extends SentHeaders {
  /** The client's address; "": unknown. */
  readonly address: string;
  /** When it connected, unix milliseconds. */
  readonly sinceMs: number;
}

/** Its position, as plain data, from which another process or source resumes. */
export interface ConnectionPosition extends EncoderFacts {
  readonly body: BodyPosition;
  readonly intake: IntakePosition;
}

/** A connection that was released. */
export interface FreeConnection {
  readonly socket: Socket;
  readonly position: ConnectionPosition;
}

export interface EncoderConnectionOwner {
  readonly input: SourceInput;
  readonly pacer: Pacer;
  readonly links: KnownLinks;
  /** It passes on no more audio, and has released its socket. */
  onEnded(reason: string): void;
}

/** Answers an encoder that has sent no frame, and ends its connection. @param status of HTTP @param why a sentence */
export type OnEncoderRefused = (status: number, why: string) => void;

export interface EncoderStream {
  /** Its request head is read and answered. */
  readonly socket: Socket;
  /** Body bytes that arrived with the head. */
  readonly first: Buffer;
  /** Null: its connection is just closed. */
  readonly onRefused: OnEncoderRefused | null;
}

export class EncoderConnection implements IntakeOwner {
  /** The encoder's User-Agent; "": none. */
  readonly agent: string;
  readonly facts: SourceFacts;
  readonly who: EncoderFacts;
  readonly intake: Intake;
  readonly #socket: Socket;
  readonly #onRefused: OnEncoderRefused | null;
  readonly #owner: EncoderConnectionOwner;
  readonly #clock: Clock;
  readonly #options: EncoderConnectionOptions;
  readonly #body: EncoderBody;
  /** It sent `Expect: 100-continue`. */
  readonly #expectsContinue: boolean;
  #isOpen = true;
  /** Another process or source has already had frames of it. */
  readonly #isAdopted: boolean;
  /** When bytes were last read, or could be again. */
  #lastByteMs: number;
  /** When bytes last arrived from the network, and their number; after a pause, reading lags behind that. */
  #lastNewMs: number;
  #bytesRead: number;
  /** Handlers of the socket's events while this connection owns it. */
  readonly #handlers = {
    timeout: () => this.#onSilent(),
    error: () => this.#end('the connection failed', true),
    close: () => this.#end('the connection was closed', true),
    end: () => this.intake.finish(),
    data: (chunk: Buffer) => this.#read(chunk),
  };

  /** @param position its position in another process or source */
  constructor(
    { socket, first, onRefused }: EncoderStream,
    who: EncoderFacts,
    owner: EncoderConnectionOwner,
    clock: Clock,
    options: EncoderConnectionOptions,
    position?: ConnectionPosition,
  ) {
    const { headers, foreign, address, sinceMs } = who;
    this.who = { headers, foreign, address, sinceMs };
    this.agent = headers.get('user-agent') ?? '';
    this.facts = readFacts(who, options.facts, options.charset);
    this.#socket = socket;
    this.#onRefused = onRefused;
    this.#owner = owner;
    this.#clock = clock;
    this.#options = options;
    this.#body = position === undefined ? (bodyOf(headers) ?? new BareBody()) : resumedBody(position.body);
    const { input, pacer, links } = owner;
    this.intake = new Intake(this, input, clock, { part: 'encoder', body: this.#body, rules: options, pacer, links });
    this.#isAdopted = position !== undefined;
    this.#expectsContinue = headers.get('expect')?.toLowerCase() === '100-continue';
    this.#lastByteMs = this.#lastNewMs = clock.now();
    this.#bytesRead = socket.bytesRead;
    socket.setTimeout(options.bodyTimeoutMs);
    // Put back into the socket, so that the whole body takes one way.
    socket.pause();
    if (first.length > 0) socket.unshift(first);
    for (const [event, handler] of Object.entries(this.#handlers)) socket.on(event, handler);
    if (position !== undefined) this.intake.adopt(position.intake);
    if (!this.intake.isPaused) socket.resume();
  }

  /** The format: a content type, or a codec of Ogg; undefined: unknown yet. */
  get sends(): string | undefined {
    return this.intake.link?.facts.codec ?? contentTypeOf(this.intake.codec);
  }

  /** Time since bytes last arrived from the network, milliseconds. */
  get quietMs(): number {
    return this.#clock.now() - this.#lastNewMs;
  }

  /** Time since it was last read, or could be, milliseconds. */
  get silentMs(): number {
    return this.#clock.now() - this.#lastByteMs;
  }

  /** How long audio has been missing, milliseconds; bytes without audio do not count as a sign of life. */
  get overdueMs(): number {
    return this.#clock.now() - Math.max(this.intake.missingSinceMs, this.#owner.input.dueMs);
  }

  /** Releases its socket, which is no longer read, and ends without a report; null: nothing could resume it. */
  detach(): FreeConnection | null {
    const { position: intake, rest } = this.intake;
    if (!this.#isOpen || intake === null || this.#body.state !== 'more') return null;
    this.#release();
    if (rest.length > 0) this.#socket.unshift(rest);
    return { socket: this.#socket, position: { ...this.who, body: this.#body.position, intake } };
  }

  #release(): void {
    this.#isOpen = false;
    this.intake.close();
    this.#socket.setTimeout(0);
    this.#socket.pause();
    this.#socket.off('error', IGNORE).on('error', IGNORE);
    for (const [event, handler] of Object.entries(this.#handlers)) this.#socket.off(event, handler);
  }

  /** Passes on nothing more. Idempotent. @param abrupt destroys the socket at once, instead of sending a FIN */
  close(abrupt: boolean): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.intake.close();
    this.#socket.setTimeout(0);
    if (abrupt) this.#socket.destroy();
    else this.#socket.end();
  }

  /** A pause of reading is ours, and no silence of the encoder. */
  onPaused(waitMs: number | null): void {
    this.#socket.pause();
    this.#socket.setTimeout(waitMs === null ? 0 : this.#options.bodyTimeoutMs + waitMs);
  }

  onResumed(): void {
    this.#lastByteMs = this.#clock.now();
    this.#socket.setTimeout(this.#options.bodyTimeoutMs);
    this.#socket.resume();
  }

  onNoAudio(): void {
    const { frames, skippedBytes } = this.intake.counters;
    const declared = this.facts.contentType;
    const { foreign } = this.intake.share;
    if (frames > 0) {
      this.#options.onEvent('damaged', { declared, frames, skippedBytes });
      this.#end(foreignSentence(foreign, 'the encoder', true), true);
      return;
    }
    this.#options.onEvent('no-frames', { sends: foreign.name, declared, skippedBytes });
    this.#refuse(415, foreignSentence(foreign, 'the encoder'));
  }

  onFinished(body: BodyState): void {
    if (body === 'broken') {
      this.#options.onEvent('broken-body', {});
      this.#end('the encoder sends invalid chunked encoding', true);
    } else if (this.#isVain) this.onNoAudio();
    else {
      if (body === 'end') this.#confirm();
      this.#end('the encoder has finished', false);
    }
  }

  /** Whether it has sent bytes, but no frame. */
  get #isVain(): boolean {
    return this.intake.share.hasBytes && !this.#isAdopted && this.intake.counters.frames === 0;
  }

  #onSilent(): void {
    if (this.#isAdopted || this.intake.share.hasBytes) this.#end('no bytes from the encoder', true);
    else this.#refuse(408, HELD_BACK);
  }

  #read(chunk: Buffer): void {
    if (!this.#isOpen) return;
    this.#lastByteMs = this.#clock.now();
    if (this.#socket.bytesRead !== this.#bytesRead) {
      this.#bytesRead = this.#socket.bytesRead;
      this.#lastNewMs = this.#lastByteMs;
    }
    if (this.overdueMs > this.#options.bodyTimeoutMs) {
      if (this.#isVain) this.onNoAudio();
      else this.#end('no audio in the data from the encoder', true);
      return;
    }
    this.intake.take(chunk);
  }

  /** Confirms that its body is complete. */
  #confirm(): void {
    const socket = this.#socket;
    if (this.#expectsContinue) socket.write(COMPLETE);
    const deadline = setTimeout(() => socket.destroy(), COMPLETE_MS);
    socket.once('close', () => clearTimeout(deadline));
  }

  /** If frames and declared type differ, the frames count. */
  onFirstFrame(): void {
    const { codec } = this.intake;
    const declared = this.facts.contentType;
    const said = formatOf(declared);
    const is = contentTypeOf(codec)!;
    if (said !== undefined && said !== formatOf(is)) this.#options.onEvent('content-type', { declared, is });
  }

  /** Ends an encoder of which no frame has arrived. */
  #refuse(status: number, why: string): void {
    if (!this.#isOpen || this.#onRefused === null) {
      this.#end(why, true);
      return;
    }
    this.#release();
    this.#onRefused(status, why);
    this.#owner.onEnded(why);
  }

  #end(reason: string, abrupt: boolean): void {
    if (!this.#isOpen) return;
    this.close(abrupt);
    this.#owner.onEnded(reason);
  }
}
