/**
 * What a new hub takes back of the tapes of the one before it, before its sources play: each from the process that has most of it. Who listens
 * goes on where it is.
 *
 *   workers offer what they have ──► the longest of each channel is asked for ──► whole ──► handed on
 */

import type { Duplex } from 'node:stream';
import type { DelayedAudio } from '../../audio/channel-audio.js';
import type { OpenOgg } from '../../audio/ogg/ogg-tape.js';
import type { OpenSegment } from '../../audio/tape/tape.js';
import type { Alarm, Clock } from '../../base/clock.js';
import type { ChannelPlace } from '../../channel/channel.js';
import { placeSchema } from '../../channel/place-schema.js';
import { must } from '../../metadata/record-schema.js';
import { Control } from '../control.js';
import { LinkConnection } from '../wire/connection.js';
import { WireError } from '../wire/wire.js';
import { readDelayedAudio } from './delayed-audio.js';
import type { LinkedAudio } from './linked-audio.js';
import { type OfferMessage, type PlainDelayedAudio, readOffer, type TapeOffer } from './offer-schema.js';
import { readOpenSegment } from './open-segments.js';
import { isSameTape, type TapeName } from './tape-names.js';
import { TapeReceiver } from './tape-receiver.js';

/** How long offers are waited for, and then tapes, milliseconds: sources play within two seconds of the hub's start. */
const OFFERS_MS = 300;
const TAPES_MS = 1000;
/** Of the delayed audio of one channel: the longest delay, at a higher bitrate than any stream has. */
const MAX_DELAYED_BYTES = 64 * 1024 * 1024;

export interface TapeReturnsParts {
  readonly clock: Clock;
  /** Whether there is such a channel. */
  has(channel: string): boolean;
  /** Whether they come from another machine. */
  readonly isFar?: boolean;
  /** How much of a tape is kept at most. */
  mostLagMs?(): number;
  onError(error: unknown): void;
}

/** One that offers. */
interface Offerer {
  readonly connection: LinkConnection;
  readonly receiver: TapeReceiver;
  offers: Extract<OfferMessage, { type: 'offers' }> | null;
  readonly open: Map<string, Extract<OfferMessage, { type: 'open' }>>;
  readonly delayed: Map<string, PlainDelayedAudio[]>;
}

/** A tape that was asked for. */
interface AskedTape {
  readonly from: Offerer;
  readonly offer: TapeOffer;
  readonly audio: LinkedAudio;
}

export interface ReturnedTape {
  readonly audio: LinkedAudio;
  readonly name: TapeName;
  /** From the hub that has fed it: its open segment, what waited, and where the channel's sources stand. */
  readonly fed: {
    readonly open: OpenSegment | OpenOgg;
    readonly delayed: DelayedAudio | null;
    readonly place: ChannelPlace | null;
  } | null;
}

export class TapeReturns {
  readonly #parts: TapeReturnsParts;
  readonly #offerers = new Set<Offerer>();
  readonly #asked: AskedTape[] = [];
  /** Looks whether what is waited for is there. */
  #onNews: () => void = () => undefined;
  #isClosed = false;

  constructor(parts: TapeReturnsParts) {
    this.#parts = parts;
  }

  /** No mark that was offered has a higher number. */
  get lastMark(): number {
    return Math.max(0, ...[...this.#offerers].map(({ offers }) => offers?.lastMark ?? 0));
  }

  /** Takes the connection of one that offers. One that comes too late is ended: it waits for that. */
  take(stream: Duplex, peer = 'a process that offers tapes'): void {
    if (this.#isClosed) {
      stream.destroy();
      return;
    }
    const { clock, onError, isFar, mostLagMs } = this.#parts;
    const connection = new LinkConnection(stream, onError, isFar ? { peer, clock } : { peer });
    const receiver = new TapeReceiver(clock, Number.POSITIVE_INFINITY, undefined, mostLagMs);
    const offerer: Offerer = { connection, receiver, offers: null, open: new Map(), delayed: new Map() };
    this.#offerers.add(offerer);
    const handler = {
      onControl: (message: OfferMessage) => this.#onOffer(offerer, message),
      onClosed: () => this.#onNews(),
    };
    new Control<OfferMessage, never>(connection, handler, readOffer);
    receiver.connect(connection);
  }

  #onOffer(offerer: Offerer, message: OfferMessage): void {
    if (offerer.offers !== null) throw new WireError('a message after its offers');
    if (message.type === 'offers') {
      offerer.offers = message;
      this.#onNews();
      return;
    }
    // Of a channel that is not here nothing is kept.
    const { channel } = message;
    if (!this.#parts.has(channel)) return;
    if (message.type === 'open') {
      if (offerer.open.has(channel)) throw new WireError('two open segments of a channel');
      offerer.open.set(channel, message);
      return;
    }
    const pieces = offerer.delayed.get(channel) ?? [];
    offerer.delayed.set(channel, pieces);
    pieces.push(message.delayed);
    const bytes = pieces.reduce(
      (sum, { frames }) => sum + frames.reduce((all, frame) => all + frame.bytes.length, 0),
      0,
    );
    if (bytes > MAX_DELAYED_BYTES) throw new WireError(`${bytes} bytes of delayed audio`);
  }

  /** The tapes by channel, whole. Once. @param expected how many processes offer theirs */
  async collect(expected: number): Promise<ReadonlyMap<string, ReturnedTape>> {
    const { clock } = this.#parts;
    await this.#until(OFFERS_MS, () => {
      const answered = [...this.#offerers].filter(({ offers, connection }) => offers !== null || connection.isClosed);
      return answered.length >= expected;
    });
    for (const [offer, from] of this.#best()) {
      const audio = from.receiver.audio(offer.channel);
      this.#asked.push({ from, offer, audio });
      audio.observe({
        onGrown: () => this.#onNews(),
        onLate: () => undefined,
        onFence: () => undefined,
        onTape: () => undefined,
      });
      audio.want(true);
    }
    await this.#until(TAPES_MS, () => this.#asked.every((asked) => isWhole(asked) || asked.from.connection.isClosed));
    const returned = new Map<string, ReturnedTape>();
    for (const asked of this.#asked.filter(isWhole)) {
      const { channel } = asked.offer;
      try {
        returned.set(channel, returnedTape(asked, clock));
      } catch (error) {
        const why = new WireError(`${asked.from.connection.peer}: the tape of ${channel}: ${(error as Error).message}`);
        this.#parts.onError(why);
      }
    }
    return returned;
  }

  close(): void {
    this.#isClosed = true;
    for (const { connection } of this.#offerers) connection.close();
  }

  /** Of each channel the tape that most play, from the process that has most of it. */
  #best(): Iterable<readonly [TapeOffer, Offerer]> {
    const best = new Map<string, readonly [TapeOffer, Offerer]>();
    for (const offerer of this.#offerers) {
      for (const offer of offerer.offers?.tapes ?? []) {
        if (!this.#parts.has(offer.channel)) continue;
        const last = best.get(offer.channel)?.[0];
        if (last === undefined || this.#isBetter(offer, last)) best.set(offer.channel, [offer, offerer]);
      }
    }
    return best.values();
  }

  #isBetter(one: TapeOffer, other: TapeOffer): boolean {
    if (!isSameTape(one.name, other.name)) return this.#playing(one) > this.#playing(other);
    // What comes over a link comes in this order.
    return (one.head - other.head || one.lastMark - other.lastMark || one.endMs - other.endMs) > 0;
  }

  #playing({ channel, name }: TapeOffer): number {
    const all = [...this.#offerers].flatMap(({ offers }) => offers?.tapes ?? []);
    const same = all.filter((offer) => offer.channel === channel && isSameTape(offer.name, name));
    return same.reduce((sum, { playing }) => sum + playing, 0);
  }

  /** Resolves when it is so, and after this many milliseconds in any case. */
  #until(ms: number, isSo: () => boolean): Promise<void> {
    if (isSo()) return Promise.resolve();
    const { clock } = this.#parts;
    return new Promise((resolve) => {
      let alarm: Alarm | undefined;
      const end = () => {
        this.#onNews = () => undefined;
        alarm?.cancel();
        resolve();
      };
      alarm = clock.alarm(clock.now() + ms, { onAlarm: end });
      this.#onNews = () => {
        if (isSo()) end();
      };
    });
  }
}

function isWhole({ offer, audio }: AskedTape): boolean {
  const { tape } = audio;
  return tape !== undefined && tape.head >= offer.head && tape.endMs >= offer.endMs && tape.head > tape.tail;
}

/** @throws Error where it cannot be continued */
function returnedTape({ offer, audio, from }: AskedTape, clock: Clock): ReturnedTape {
  const { channel, name } = offer;
  const open = from.open.get(channel);
  if (open === undefined) return { audio, name, fed: null };
  const delayed = readDelayedAudio(channel, from.delayed.get(channel) ?? [], clock);
  const place = open.place === null ? null : must<ChannelPlace>(placeSchema, open.place);
  return { audio, name, fed: { open: readOpenSegment(channel, open.open, audio.tape!), delayed, place } };
}
