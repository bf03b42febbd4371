/**
 * Offers tapes to another process that will feed them: over a connection of its own, on which the other process subscribes to tapes as a worker does
 * (tape-sender.ts).
 *
 *   connected ──► offers ──► subscriptions ──► tapes ──► closed by the subscriber
 */

import type { Duplex } from 'node:stream';
import type { ChannelAudio, DelayedAudio } from '../../audio/channel-audio.js';
import { OggTape, type OpenOgg } from '../../audio/ogg/ogg-tape.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import { type OpenSegment, Tape } from '../../audio/tape/tape.js';
import type { Clock } from '../../base/clock.js';
import { Control } from '../control-messages.js';
import { LinkConnection } from '../wire/link-connection.js';
import { OtherVersion } from '../wire/link-version.js';
import { WireError } from '../wire/wire.js';
import { plainDelayedAudio } from './delayed-audio.js';
import type { OfferMessage, TapeOffer } from './offer-schema.js';
import { marksOf, openMarks, plainOpenSegment } from './open-segments.js';
import { type TapeName, TapeNames } from './tape-names.js';
import { TapeSender } from './tape-sender.js';

/** A process's part of a channel's tape. */
export interface OfferedTape {
  readonly audio: PlayableAudio;
  readonly name: TapeName;
  /** Only if it feeds the channel: the open segment, the delay line, and the state of the channel's sources as plain data. */
  readonly fed?: {
    readonly open: OpenSegment | OpenOgg;
    readonly delayed: DelayedAudio | null;
    readonly position: unknown;
  };
}

export interface OfferOptions {
  /** The other end's name in errors. */
  readonly peer?: string;
  /** Whether it is another machine. */
  readonly isFar?: boolean;
  /** The state of the sources of channels whose tapes are not offered, as plain data. */
  readonly positions?: readonly { readonly channel: string; readonly position: unknown }[];
}

/**
 * Offers the tapes, and sends those that are subscribed to. They must not change meanwhile.
 * @param onEnded called once, when the other end is done
 */
export function offerTapes(
  stream: Duplex,
  offered: ReadonlyMap<string, OfferedTape>,
  clock: Clock,
  onError: (error: unknown) => void,
  onEnded: () => void = () => undefined,
  { peer = 'the hub that takes tapes back', isFar = false, positions = [] }: OfferOptions = {},
): void {
  const names = new TapeNames();
  const tapes: TapeOffer[] = [];
  let lastMark = 0;
  const connection = new LinkConnection(
    stream,
    (error) => {
      // Then no tape is taken, and the subscriber logs it.
      if (!(error instanceof OtherVersion)) onError(error);
    },
    isFar ? { peer, clock } : { peer },
  );
  new TapeSender(connection, { clock, names, audioOf: (channel) => offered.get(channel)?.audio });
  const nothing = { onControl: () => undefined, onClosed: onEnded };
  const control = new Control<never, OfferMessage>(connection, nothing, refuseAll);
  for (const [channel, { audio, name, fed }] of offered) {
    const tape = audio.tape!;
    names.set(tape, name);
    const opened = fed === undefined ? [] : openMarks(fed.open);
    const last = Math.max(0, ...marksOf(tape).keys(), ...opened.map(({ order }) => order));
    lastMark = Math.max(lastMark, last);
    tapes.push({ channel, name, head: tape.head, endMs: tape.endMs, lastMark: last, playing: audio.playing });
    if (fed === undefined) continue;
    control.send({ type: 'open', channel, open: plainOpenSegment(fed.open), position: fed.position });
    const pieces = fed.delayed === null ? [] : plainDelayedAudio(fed.delayed, clock);
    for (const delayed of pieces) control.send({ type: 'delayed', channel, delayed });
  }
  control.send({ type: 'offers', tapes, lastMark, positions });
}

/** The whole tape of a channel that is not fed here any more. Null: none. @param position the state of the channel's sources as plain data */
export function fedTape(audio: ChannelAudio, position: unknown, names: TapeNames): OfferedTape | null {
  const { tape } = audio;
  const open = tape instanceof Tape ? tape.open : tape instanceof OggTape ? tape.leave() : null;
  if (open === null || tape === undefined || tape.head === tape.tail) return null;
  return { audio, name: names.nameOf(tape), fed: { open, delayed: audio.leaveDelayed(), position } };
}

function refuseAll(): never {
  throw new WireError('a control message, where tapes alone are asked for');
}
