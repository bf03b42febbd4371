/**
 * A channel's encoder: the operator's program that sends audio. The encoder acceptor (http/ingest/encoder-acceptor.ts) has authenticated and answered
 * it; from `attach` on its socket belongs to this source (encoder-connection.ts). There is one encoder at a time: a second one with the same password
 * either replaces the first, whose audio ends with its last whole frame, or is refused. Owned by the switch.
 */

import type { Socket } from 'node:net';
import { contentTypeOf, heardFromHere } from '../audio/frames/format.js';
import { KnownLinks } from '../audio/ogg/known-links.js';
import type { Clock } from '../base/clock.js';
import { contentTag } from '../metadata/etag.js';
import type { SentHeaders } from '../net/front/request-head.js';
import { connectionId } from '../net/front/tracked-connection.js';
import {
  type ConnectionPosition,
  EncoderConnection,
  type EncoderConnectionOptions,
  type EncoderConnectionOwner,
  type EncoderFacts,
  type EncoderStream,
  type FreeConnection,
  type OnEncoderRefused,
} from './encoder-connection.js';
import { Pacer } from './pacer.js';
import type { Source, SourceInput, SourceState } from './source.js';
import type { SourceFacts } from './source-facts-schema.js';

/** Which encoder another one with the same password may replace: one that has fallen silent, any, or none. */
export type Takeover = 'silent' | 'always' | 'never';

/**
 * A paused encoder is not read, so its end goes unnoticed: it counts as present until this long after its last new bytes. By then unread
 * audio (64 KB at 8 kb/s) would be used up, whereas packets of a few bytes may claim hours.
 */
const PAUSED_SILENT_MS = 60_000;
const NOTHING = Buffer.alloc(0);

export interface EncoderOptions extends EncoderConnectionOptions {
  readonly aheadMs: number;
  readonly takeover: Takeover;
  /** An encoder whose audio is overdue by this long may be a dead connection. */
  readonly silentMs: number;
  /** Called when an encoder has gone. @param connection its id, for the log */
  readonly onEnded?: (connection: string | undefined, reason: string) => void;
}

export class EncoderSource implements Source, EncoderConnectionOwner {
  readonly kind = 'encoder';
  readonly input: SourceInput;
  /** Shared by all of its connections: see Pacer.reconnect. */
  readonly pacer: Pacer;
  readonly links = new KnownLinks();
  readonly #options: EncoderOptions;
  readonly #clock: Clock;
  #isOpen = false;
  #connection: EncoderConnection | null = null;
  #connectionId: string | undefined;
  /** The present connection, or the last one if there is none. */
  #latest: EncoderConnection | undefined;

  constructor(input: SourceInput, clock: Clock, options: EncoderOptions) {
    this.input = input;
    this.#clock = clock;
    this.#options = options;
    this.pacer = new Pacer(options);
  }

  get state(): SourceState {
    return this.#connection === null ? 'idle' : 'up';
  }

  /** Its channel's key. */
  get channelKey(): string {
    return this.#options.channel;
  }

  /** Whether an encoder is connected that must not be replaced. */
  get isBusy(): boolean {
    const connection = this.#connection;
    const { takeover, silentMs } = this.#options;
    if (connection === null || takeover === 'always') return false;
    if (takeover === 'never') return true;
    if (connection.intake.isPaused) return connection.quietMs <= Math.max(silentMs, PAUSED_SILENT_MS);
    return connection.overdueMs <= silentMs;
  }

  /** The User-Agent of the connected encoder; "" if it sent none, or none is connected. */
  get agent(): string {
    return this.#connection?.agent ?? '';
  }

  /** Identifies the connected encoder by its program and address, since encoders have no other name. */
  get sender(): string | undefined {
    const connection = this.#connection;
    return connection === null ? undefined : contentTag(`${connection.agent} ${connection.who.address}`);
  }

  /** The connection id of the present or last encoder, for the log. */
  get connectionId(): string | undefined {
    return this.#connectionId;
  }

  /** The address of the connected encoder, and since when it is connected (Unix milliseconds); null if none is. */
  get connected(): Pick<EncoderFacts, 'address' | 'sinceMs'> | null {
    return this.#connection?.who ?? null;
  }

  /** Ends the encoder's connection; it may connect again. False if none is connected. */
  end(): boolean {
    if (this.#connection === null) return false;
    this.#connection.close(true);
    this.onEnded('ended by an operator');
    return true;
  }

  /** Time since its last bytes arrived from the network, milliseconds; +∞ if none ever did. */
  get quietMs(): number {
    return this.#latest?.quietMs ?? Number.POSITIVE_INFINITY;
  }

  /** Facts about the present or last encoder. */
  get facts(): SourceFacts | undefined {
    return this.#latest?.facts;
  }

  get contentType(): string | undefined {
    return contentTypeOf(this.#latest?.intake.codec);
  }

  get pageMs(): number {
    return this.#latest?.intake.pageMs ?? 0;
  }

  start(): void {
    this.#isOpen = true;
  }

  stop(): void {
    this.#isOpen = false;
    if (this.#connection === null) return;
    this.#connection.close(true);
    this.onEnded('stopped');
  }

  /**
   * Takes over an encoder's connection whose head is read and answered, and ends the previous one. @param first body bytes that arrived with the head
   * @param address of the client @param onRefused answers the encoder if no frame arrives; null: the connection is just closed
   */
  attach(
    socket: Socket,
    first: Buffer,
    { headers, foreign }: SentHeaders,
    address = '',
    onRefused: OnEncoderRefused | null = null,
  ): void {
    if (!this.#isOpen) {
      socket.destroy();
      return;
    }
    this.input.onUp?.();
    this.#take({ socket, first, onRefused }, { headers, foreign, address, sinceMs: this.#clock.wallMs() });
  }

  /**
   * Continues a connection that another process or source has released.
   * @param ahead body bytes that were already read @param aheadMs see Pacer
   */
  adopt(socket: Socket, ahead: Buffer, position: ConnectionPosition, aheadMs: number): void {
    if (this.#isOpen) this.#take({ socket, first: ahead, onRefused: null }, position, position);
    else socket.destroy();
    this.pacer.adopt(aheadMs, this.#clock.now());
  }

  /** Releases the connection for another process; null if there is none, or it cannot be handed over. */
  detach(): (FreeConnection & { readonly aheadMs: number }) | null {
    const free = this.#connection?.detach() ?? null;
    if (free === null) return null;
    this.#connection = null;
    return { ...free, aheadMs: this.pacer.aheadMs(this.#clock.now()) };
  }

  /** What the connected encoder sends (EncoderConnection); undefined if that is unknown yet, or none is connected. */
  get sends(): string | undefined {
    return this.#connection?.sends;
  }

  /**
   * Moves the encoder's connection to another source from its next frame on; earlier frames are played here. False if it has just ended, or cannot be
   * handed over. @param reason for the switch
   */
  moveTo(other: EncoderSource, reason: string): boolean {
    const free = this.#connection?.intake.isFinished === false ? this.detach() : null;
    if (free === null) return false;
    const { socket, position, aheadMs } = free;
    const intake = { ...position.intake, framer: heardFromHere(position.intake.framer) };
    other.adopt(socket, NOTHING, { ...position, intake }, aheadMs);
    this.input.onLost(reason);
    return true;
  }

  #take(stream: EncoderStream, facts: EncoderFacts, position?: ConnectionPosition): void {
    const before = this.#connection;
    if (before !== null) {
      const silentMs = Math.round(before.silentMs);
      before.close(true);
      this.#options.onEvent('takeover', { silentMs });
      this.#options.onEnded?.(this.#connectionId, 'another encoder has taken over');
    }
    this.#connectionId = connectionId(stream.socket);
    this.pacer.reconnect(this.#clock.now());
    this.#connection = new EncoderConnection(stream, facts, this, this.#clock, this.#options, position);
    this.#latest = this.#connection;
  }

  onEnded(reason: string): void {
    this.#connection = null;
    this.#options.onEnded?.(this.#connectionId, reason);
    this.input.onLost(reason);
  }
}
