/**
 * What a new hub takes back of the tapes of the one before it, before its sources play: each from the process that has most of it. Who listens
 * goes on where it is.
 *
 *   workers offer what they have ──► the longest of each channel is asked for ──► whole ──► handed on
 */

import type { Duplex } from 'node:stream';
import { deserialize } from 'node:v8';
import type { DelayedAudio } from '../audio/channel-audio.js';
import type { OpenOgg } from '../audio/ogg-tape.js';
import type { OpenSegment } from '../audio/tape.js';
import type { Alarm, Clock } from '../base/clock.js';
import { LinkConnection } from './connection.js';
import { Control } from './control.js';
import { type PlainDelayedAudio, readDelayedAudio } from './delayed-audio.js';
import type { LinkedAudio } from './linked-audio.js';
import { readOpenSegment } from './open-segments.js';
import { isSameTape, type TapeName } from './tape-names.js';
import type { OfferMessage, TapeOffer } from './tape-offer.js';
import { TapeReceiver } from './tape-receiver.js';

/** How long offers are waited for, and then tapes, milliseconds: sources play within two seconds of the hub's start. */
const OFFERS_MS = 300;
const TAPES_MS = 1000;

export interface TapeReturnsParts {
  readonly clock: Clock;
  /** Whether there is such a channel. */
  has(channel: string): boolean;
  /** Whether they come from another machine. */
  readonly isFar?: boolean;
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
    readonly place: unknown;
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
  take(stream: Duplex): void {
    if (this.#isClosed) {
      stream.destroy();
      return;
    }
    const { clock, onError, isFar } = this.#parts;
    const connection = new LinkConnection(stream, onError, isFar ? { clock } : {});
    const receiver = new TapeReceiver(clock, Number.POSITIVE_INFINITY);
    const offerer: Offerer = { connection, receiver, offers: null, open: new Map(), delayed: new Map() };
    this.#offerers.add(offerer);
    new Control<OfferMessage, never>(connection, {
      onControl: (message) => {
        if (message.type === 'open') offerer.open.set(message.channel, message);
        else if (message.type === 'delayed') {
          const { channel, delayed } = message;
          offerer.delayed.set(channel, [...(offerer.delayed.get(channel) ?? []), delayed]);
        } else {
          offerer.offers = message;
          this.#onNews();
        }
      },
      onClosed: () => this.#onNews(),
    });
    receiver.connect(connection);
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
    return new Map(this.#asked.filter(isWhole).map((asked) => [asked.offer.channel, returnedTape(asked, clock)]));
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

function returnedTape({ offer, audio, from }: AskedTape, clock: Clock): ReturnedTape {
  const open = from.open.get(offer.channel);
  if (open === undefined) return { audio, name: offer.name, fed: null };
  const delayed = readDelayedAudio(from.delayed.get(offer.channel) ?? [], clock);
  const place: unknown = deserialize(Buffer.from(open.place, 'base64'));
  return { audio, name: offer.name, fed: { open: readOpenSegment(open.open, audio.tape!), delayed, place } };
}
