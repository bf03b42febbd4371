/**
 * The operator's program that sends audio. The encoder acceptor (http/ingest/encoder-acceptor.ts) has checked and answered it; from `attach` on its
 * socket belongs to this source (encoder-connection.ts). One encoder at a time: a second one with the same password either replaces the
 * first, whose audio ends with its last whole frame, or is refused. Owned by the switch.
 */

import type { Socket } from 'node:net';
import { contentTypeOf, heardFromHere } from '../audio/frames/format.js';
import { KnownLinks } from '../audio/ogg/known-links.js';
import type { Clock } from '../base/clock.js';
import { contentTag } from '../metadata/etag.js';
import type { SentHeaders } from '../net/front/request-head.js';
import { connectionId } from '../net/front/tracked-connection.js';
import {
  type ConnectionPlace,
  EncoderConnection,
  type EncoderConnectionOptions,
  type EncoderConnectionOwner,
  type EncoderFacts,
  type FreeConnection,
  type OnEncoderRefused,
} from './encoder-connection.js';
import { Pacer } from './pacer.js';
import type { Source, SourceInput, SourceState } from './source.js';
import type { SourceFacts } from './source-facts.js';

/** Which encoder may be replaced by another one with the password: one that has fallen silent, any, none. */
export type Takeover = 'silent' | 'always' | 'never';

/**
 * A paused encoder is not read, so its end goes unseen: until this long after its last new bytes it is believed to be there. What
 * lies unread of real audio (64 KB at 8 kb/s) is spent by then; packets of a few bytes may claim hours.
 */
const PAUSED_SILENT_MS = 60_000;
const NOTHING = Buffer.alloc(0);

export interface EncoderOptions extends EncoderConnectionOptions {
  readonly aheadMs: number;
  readonly takeover: Takeover;
  /** An encoder whose audio is overdue by this long may be a dead connection. */
  readonly silentMs: number;
  /** An encoder has gone. @param connection its id, for the log */
  readonly onEnded?: (connection: string | undefined, reason: string) => void;
}

export class EncoderSource implements Source, EncoderConnectionOwner {
  readonly kind = 'encoder';
  readonly input: SourceInput;
  /** Of all its connections: see Pacer.reconnect. */
  readonly pacer: Pacer;
  readonly links = new KnownLinks();
  readonly #options: EncoderOptions;
  readonly #clock: Clock;
  #isOpen = false;
  #connection: EncoderConnection | null = null;
  #connectionId: string | undefined;
  /** The present connection, or else the last one. */
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

  /** An encoder is there that must not be replaced. */
  get busy(): boolean {
    const connection = this.#connection;
    const { takeover, silentMs } = this.#options;
    if (connection === null || takeover === 'always') return false;
    if (takeover === 'never') return true;
    if (connection.intake.isPaused) return connection.quietMs <= Math.max(silentMs, PAUSED_SILENT_MS);
    return connection.overdueMs <= silentMs;
  }

  /** The User-Agent of the encoder that is there; "": it has none, or none is there. */
  get agent(): string {
    return this.#connection?.agent ?? '';
  }

  /** By its program and address: an encoder has no other name. */
  get sender(): string | undefined {
    const connection = this.#connection;
    return connection === null ? undefined : contentTag(`${connection.agent} ${connection.who.address}`);
  }

  /** Of the encoder that is there, or was there last, for the log. */
  get connectionId(): string | undefined {
    return this.#connectionId;
  }

  /** Where the encoder that is there comes from, and since when; null: none is there. */
  get connected(): Pick<EncoderFacts, 'address' | 'sinceMs'> | null {
    return this.#connection?.who ?? null;
  }

  /** Ends the connection of the encoder that is there: it may come again. False: none is there. */
  end(): boolean {
    if (this.#connection === null) return false;
    this.#connection.close(true);
    this.onEnded('ended by an operator');
    return true;
  }

  /** How long ago bytes of it came over the network last, milliseconds; +∞: never. */
  get quietMs(): number {
    return this.#latest?.quietMs ?? Number.POSITIVE_INFINITY;
  }

  /** Of the encoder that is there, or was there last. */
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
   * Takes over an encoder's connection whose head is read and answered; the one before it is cut.
   * @param first body bytes that came with the head @param head what the encoder says of itself @param address of the client
   * @param onRefused answers it where no frame comes; absent: it is cut
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
    this.#take(socket, first, { headers, foreign, address, sinceMs: this.#clock.wallMs() }).onRefused = onRefused;
  }

  /**
   * Goes on with a connection that another process, or another source, has let go. @param ahead body bytes that were read of it @param aheadMs see
   * Pacer
   */
  adopt(socket: Socket, ahead: Buffer, place: ConnectionPlace, aheadMs: number): void {
    if (this.#isOpen) this.#take(socket, ahead, place, place);
    else socket.destroy();
    this.pacer.adopt(aheadMs, this.#clock.now());
  }

  /** Releases its connection for another process; null: there is none, or it cannot be handed over. */
  detach(): (FreeConnection & { readonly aheadMs: number }) | null {
    const free = this.#connection?.detach() ?? null;
    if (free === null) return null;
    this.#connection = null;
    return { ...free, aheadMs: this.pacer.aheadMs(this.#clock.now()) };
  }

  /** What the encoder that is there sends (EncoderConnection); undefined: that is not known yet, or none is there. */
  get sends(): string | undefined {
    return this.#connection?.sends;
  }

  /**
   * The connection of its encoder is another source's from here on, with the next frame; what was taken of it before is heard here. False: it has
   * just ended, or cannot be handed over. @param reason for the switch
   */
  moveTo(other: EncoderSource, reason: string): boolean {
    const free = this.#connection?.intake.isFinished === false ? this.detach() : null;
    if (free === null) return false;
    const { socket, place, aheadMs } = free;
    const intake = { ...place.intake, framer: heardFromHere(place.intake.framer) };
    other.adopt(socket, NOTHING, { ...place, intake }, aheadMs);
    this.input.onLost(reason);
    return true;
  }

  #take(socket: Socket, first: Buffer, facts: EncoderFacts, place?: ConnectionPlace): EncoderConnection {
    const before = this.#connection;
    if (before !== null) {
      const silentMs = Math.round(before.silentMs);
      before.close(true);
      this.#options.onEvent('takeover', { silentMs });
      this.#options.onEnded?.(this.#connectionId, 'another encoder has taken over');
    }
    this.#connectionId = connectionId(socket);
    this.pacer.reconnect(this.#clock.now());
    this.#connection = new EncoderConnection(socket, first, facts, this, this.#clock, this.#options, place);
    this.#latest = this.#connection;
    return this.#connection;
  }

  /** As EncoderConnectionOwner has it. */
  onEnded(reason: string): void {
    this.#connection = null;
    this.#options.onEnded?.(this.#connectionId, reason);
    this.input.onLost(reason);
  }
}
