/**
 * Takes back the tapes of the former hub at a new one, before its sources play: each from the process that has most of it. Listeners are not
 * interrupted.
 *
 *   workers offer what they have ──► the longest of each channel is asked for ──► whole ──► handed on
 */

import type { Duplex } from 'node:stream';
import type { DelayedAudio } from '../../audio/channel-audio.js';
import type { OpenOgg } from '../../audio/ogg/ogg-tape.js';
import { IDLE_OBSERVER } from '../../audio/playable-audio.js';
import type { OpenSegment } from '../../audio/tape/tape.js';
import type { Alarm, Clock } from '../../base/clock.js';
import type { ChannelPosition } from '../../channel/channel.js';
import { channelPositionSchema } from '../../channel/channel-position-schema.js';
import { must } from '../../metadata/record-schema.js';
import { Control } from '../control-messages.js';
import { LinkConnection } from '../wire/link-connection.js';
import { WireError } from '../wire/wire.js';
import { readDelayedAudio } from './delayed-audio.js';
import type { LinkedAudio } from './linked-audio.js';
import {
  type OfferMessage,
  type PlainDelayedAudio,
  type PlainOpenSegment,
  readDelayed,
  readOffer,
  readOpen,
  type TapeOffer,
} from './offer-schema.js';
import { readOpenSegment } from './open-segments.js';
import { isSameTape, type TapeName } from './tape-names.js';
import { TapeReceiver } from './tape-receiver.js';

/** Time-outs of offers, and then of tapes, milliseconds: sources play within two seconds of the hub's start. */
const OFFERS_MS = 300;
const TAPES_MS = 1000;
/** Maximum size of the delayed audio of one channel: the longest delay at a bitrate above that of any stream. */
const MAX_DELAYED_BYTES = 64 * 1024 * 1024;

export interface TapeReturnsParts {
  readonly clock: Clock;
  /** Whether the channel exists here. */
  has(channel: string): boolean;
  /** Whether they are offered by another machine. */
  readonly isFar?: boolean;
  /** Maximum length of the part of a tape that is kept. */
  maxLagMs?(): number;
  onError(error: unknown): void;
}

/** A process that offers tapes. */
interface Offerer {
  readonly connection: LinkConnection;
  readonly receiver: TapeReceiver;
  offers: Extract<OfferMessage, { type: 'offers' }> | null;
  readonly open: Map<string, { readonly open: PlainOpenSegment; readonly position: unknown }>;
  readonly delayed: Map<string, PlainDelayedAudio[]>;
  /** Channels whose open segment or delay line is malformed: their tapes are taken as from a worker. */
  readonly faulty: Set<string>;
}

/** A tape that is being taken. */
interface AskedTape {
  readonly from: Offerer;
  readonly offer: TapeOffer;
  readonly audio: LinkedAudio;
}

export interface ReturnedTape {
  readonly audio: LinkedAudio;
  readonly name: TapeName;
  /** From the hub that fed it: its open segment, its delay line, and the state of the channel's sources. Null: not from that hub. */
  readonly fed: {
    readonly open: OpenSegment | OpenOgg;
    readonly delayed: DelayedAudio | null;
    readonly position: ChannelPosition | null;
  } | null;
}

export class TapeReturns {
  readonly #parts: TapeReturnsParts;
  readonly #offerers = new Set<Offerer>();
  readonly #asked: AskedTape[] = [];
  /** Checks the condition that `#until` waits for. */
  #onNews: () => void = () => undefined;
  #isClosed = false;

  constructor(parts: TapeReturnsParts) {
    this.#parts = parts;
  }

  /** The highest number of a mark that was offered. */
  get lastMark(): number {
    return Math.max(0, ...[...this.#offerers].map(({ offers }) => offers?.lastMark ?? 0));
  }

  /** Of the hub that fed them, the state of the sources of channels whose tapes it did not offer. */
  get positions(): ReadonlyMap<string, ChannelPosition> {
    const positions = new Map<string, ChannelPosition>();
    for (const { offers, connection } of this.#offerers)
      for (const { channel, position } of offers?.positions ?? []) {
        if (!this.#parts.has(channel)) continue;
        try {
          positions.set(channel, must<ChannelPosition>(channelPositionSchema, position));
        } catch (error) {
          this.#parts.onError(
            new WireError(`${connection.peer}: the sources of ${channel}: ${(error as Error).message}`),
          );
        }
      }
    return positions;
  }

  /** Takes the connection of a process that offers tapes. One that is too late is closed, for which it waits. */
  take(stream: Duplex, peer = 'a process that offers tapes'): void {
    if (this.#isClosed) {
      stream.destroy();
      return;
    }
    const { clock, onError, isFar, maxLagMs } = this.#parts;
    const connection = new LinkConnection(stream, onError, isFar ? { peer, clock } : { peer });
    const receiver = new TapeReceiver(clock, Number.POSITIVE_INFINITY, undefined, maxLagMs);
    const fed = { open: new Map(), delayed: new Map(), faulty: new Set<string>() };
    const offerer: Offerer = { connection, receiver, offers: null, ...fed };
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
    // Channels that do not exist here are ignored.
    const { channel } = message;
    if (!this.#parts.has(channel) || offerer.faulty.has(channel)) return;
    try {
      if (message.type === 'delayed') this.#onDelayed(offerer, channel, readDelayed(message.delayed));
      else if (offerer.open.has(channel)) throw new WireError('two open segments of a channel');
      else offerer.open.set(channel, { open: readOpen(message.open), position: message.position });
    } catch (error) {
      offerer.faulty.add(channel);
      offerer.open.delete(channel);
      offerer.delayed.delete(channel);
      const fault = `${offerer.connection.peer}: what is open of ${channel}: ${(error as Error).message}`;
      this.#parts.onError(new WireError(fault, { cause: error }));
    }
  }

  #onDelayed(offerer: Offerer, channel: string, piece: PlainDelayedAudio): void {
    const pieces = offerer.delayed.get(channel) ?? [];
    offerer.delayed.set(channel, pieces);
    pieces.push(piece);
    const bytes = pieces.reduce(
      (sum, { frames }) => sum + frames.reduce((all, frame) => all + frame.bytes.length, 0),
      0,
    );
    if (bytes > MAX_DELAYED_BYTES) throw new WireError(`${bytes} bytes of delayed audio`);
  }

  /** Resolves with the complete tapes by channel. Called once. @param expected number of processes that offer tapes */
  async collect(expected: number): Promise<ReadonlyMap<string, ReturnedTape>> {
    const { clock } = this.#parts;
    await this.#until(OFFERS_MS, () => {
      const answered = [...this.#offerers].filter(({ offers, connection }) => offers !== null || connection.isClosed);
      return answered.length >= expected;
    });
    for (const [offer, from] of this.#best()) {
      const audio = from.receiver.audio(offer.channel);
      this.#asked.push({ from, offer, audio });
      audio.observe({ ...IDLE_OBSERVER, onGrown: () => this.#onNews() });
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
    // Callbacks of a link may outlive it, and must not hold what the tapes had.
    this.#offerers.clear();
    this.#asked.length = 0;
  }

  /** For each channel the tape with most listeners, from the process that has most of it. */
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
    // Data arrives over a link in this order.
    return (one.head - other.head || one.lastMark - other.lastMark || one.endMs - other.endMs) > 0;
  }

  #playing({ channel, name }: TapeOffer): number {
    const all = [...this.#offerers].flatMap(({ offers }) => offers?.tapes ?? []);
    const same = all.filter((offer) => offer.channel === channel && isSameTape(offer.name, name));
    return same.reduce((sum, { playing }) => sum + playing, 0);
  }

  /** Resolves when the condition holds, at the latest after this time. */
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

/** @throws Error if it cannot be continued */
function returnedTape({ offer, audio, from }: AskedTape, clock: Clock): ReturnedTape {
  const { channel, name } = offer;
  const open = from.open.get(channel);
  if (open === undefined) return { audio, name, fed: null };
  const delayed = readDelayedAudio(channel, from.delayed.get(channel) ?? [], clock);
  const position = open.position === null ? null : must<ChannelPosition>(channelPositionSchema, open.position);
  return { audio, name, fed: { open: readOpenSegment(channel, open.open, audio.tape!), delayed, position } };
}
