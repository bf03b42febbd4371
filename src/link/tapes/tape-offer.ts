/**
 * Tapes on their way to another process that will feed them: a process that has a channel's tape offers it, over a connection of its own, and sends
 * it to the one that asks as a hub sends its tapes to workers (tape-sender.ts).
 *
 *   connected ──► offers ──► subscriptions ──► tapes ──► closed by the one that asked
 */

import type { Duplex } from 'node:stream';
import type { ChannelAudio, DelayedAudio } from '../../audio/channel-audio.js';
import { OggTape, type OpenOgg } from '../../audio/ogg/ogg-tape.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import { type OpenSegment, Tape } from '../../audio/tape/tape.js';
import type { Clock } from '../../base/clock.js';
import { Control } from '../control.js';
import { LinkConnection } from '../wire/connection.js';
import { OtherVersion } from '../wire/version.js';
import { WireError } from '../wire/wire.js';
import { plainDelayedAudio } from './delayed-audio.js';
import type { OfferMessage, TapeOffer } from './offer-schema.js';
import { marksOf, openMarks, plainOpenSegment } from './open-segments.js';
import { type TapeName, TapeNames } from './tape-names.js';
import { TapeSender } from './tape-sender.js';

/** What a process has of a channel. */
export interface OfferedTape {
  readonly audio: PlayableAudio;
  readonly name: TapeName;
  /** Where it feeds the channel: the rest of the tape, what waits, and where the channel's sources stand, as plain data. */
  readonly fed?: {
    readonly open: OpenSegment | OpenOgg;
    readonly delayed: DelayedAudio | null;
    readonly place: unknown;
  };
}

/**
 * Offers them, and sends what is asked for. Nothing may be written to them meanwhile.
 * @param onEnded called once, when the other end has what it wants @param peer the other end's name in errors @param isFar whether it is another
 * machine
 */
export function offerTapes(
  stream: Duplex,
  offered: ReadonlyMap<string, OfferedTape>,
  clock: Clock,
  onError: (error: unknown) => void,
  onEnded: () => void = () => undefined,
  peer = 'the hub that takes tapes back',
  isFar = false,
): void {
  const names = new TapeNames();
  const tapes: TapeOffer[] = [];
  let lastMark = 0;
  const connection = new LinkConnection(
    stream,
    (error) => {
      // Then none is taken, and the one that asked logs it.
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
    control.send({ type: 'open', channel, open: plainOpenSegment(fed.open), place: fed.place });
    const pieces = fed.delayed === null ? [] : plainDelayedAudio(fed.delayed, clock);
    for (const delayed of pieces) control.send({ type: 'delayed', channel, delayed });
  }
  control.send({ type: 'offers', tapes, lastMark });
}

/** The whole of a tape that is fed here, where that stops. Null: there is none. @param place where the channel's sources stand, as plain data */
export function fedTape(audio: ChannelAudio, place: unknown, names: TapeNames): OfferedTape | null {
  const { tape } = audio;
  const open = tape instanceof Tape ? tape.open : tape instanceof OggTape ? tape.leave() : null;
  if (open === null || tape === undefined || tape.head === tape.tail) return null;
  return { audio, name: names.nameOf(tape), fed: { open, delayed: audio.leaveDelayed(), place } };
}

function refuseAll(): never {
  throw new WireError('a control message, where tapes alone are asked for');
}
