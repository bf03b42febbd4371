/**
 * A channel's tape as other nodes get it from this one: all that comes, what there is of it, or all of it with its feeding. Owned by one SharedAudio.
 */

import type { Duplex } from 'node:stream';
import type { ChannelAudio } from '../../audio/channel-audio.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Clock } from '../../base/clock.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import { fedTape, offerTapes } from '../../link/tapes/tape-offer.js';
import { TapeSender } from '../../link/tapes/tape-sender.js';
import { LinkConnection } from '../../link/wire/connection.js';

export interface TapeGivingParts {
  readonly clock: Clock;
  readonly names: TapeNames;
  /** As it is played here now. */
  audio(): PlayableAudio;
  onError(error: unknown): void;
}

export class TapeGiving {
  readonly #channel: string;
  readonly #parts: TapeGivingParts;
  readonly #senders = new Set<TapeSender>();
  #isHandingOver = false;

  constructor(channel: string, parts: TapeGivingParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  /** Its tape is on its way to the next owner. */
  get isHandingOver(): boolean {
    return this.#isHandingOver;
  }

  /** All that comes, while the other node wants it. @param peer the other node's name in errors */
  listen(stream: Duplex, peer: string): true {
    const { clock, names, audio, onError } = this.#parts;
    const sender = new TapeSender(new LinkConnection(stream, onError, { peer, clock }), {
      clock,
      names,
      audioOf: (channel) => (channel === this.#channel ? audio() : undefined),
      isPrompt: true,
    });
    this.#senders.add(sender);
    stream.once('close', () => this.#senders.delete(sender));
    return true;
  }

  /** What there is here of it, for a node that goes on with the tape of a lost one. False: nothing. */
  offer(stream: Duplex, peer: string): boolean {
    const { clock, names, onError } = this.#parts;
    const audio = this.#parts.audio();
    const { tape } = audio;
    if (tape === undefined || !(tape.head > tape.tail)) return false;
    const offered = new Map([[this.#channel, { audio, name: names.nameOf(tape) }]]);
    offerTapes(stream, offered, clock, onError, undefined, peer, true);
    return true;
  }

  /** All of what was fed here, with what is open of it. False: there is none. @param onOver the other node has it, or is gone */
  handOver(audio: ChannelAudio, stream: Duplex, peer: string, onOver: () => void): boolean {
    const { clock, names, onError } = this.#parts;
    const tape = fedTape(audio, null, names);
    if (tape === null) return false;
    this.#isHandingOver = true;
    const onEnded = () => {
      this.#isHandingOver = false;
      onOver();
    };
    offerTapes(stream, new Map([[this.#channel, tape]]), clock, onError, onEnded, peer, true);
    return true;
  }

  /** Who takes it goes on in what is played now. */
  move(): void {
    for (const sender of this.#senders) sender.move(this.#channel);
  }
}
