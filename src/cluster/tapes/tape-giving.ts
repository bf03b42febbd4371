/**
 * Serves a channel's tape to other nodes: live, the part that is here, or the whole with the right to feed it. Owned by one SharedAudio.
 */

import type { Duplex } from 'node:stream';
import type { ChannelAudio } from '../../audio/channel-audio.js';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Clock } from '../../base/clock.js';
import { type HlsOfChannels, HlsSender } from '../../link/hls/hls-sender.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import { fedTape, offerTapes } from '../../link/tapes/tape-offer.js';
import { TapeSender } from '../../link/tapes/tape-sender.js';
import { LinkConnection } from '../../link/wire/link-connection.js';

/** The HLS of the channels here. */
export interface HlsOfNode extends HlsOfChannels {
  /** It is copied for a while, where the owner cuts it. */
  followHls(channel: string): void;
}

export interface TapeGivingParts {
  readonly clock: Clock;
  readonly names: TapeNames;
  readonly hls: HlsOfChannels;
  /** The audio that is played here now. */
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

  /** Whether its tape is being handed over to the next owner. */
  get isHandingOver(): boolean {
    return this.#isHandingOver;
  }

  /** The live tape and its HLS, while the other node wants it. @param peer the other node's name in errors */
  listen(stream: Duplex, peer: string): true {
    const { clock, names, audio, hls, onError } = this.#parts;
    const connection = new LinkConnection(stream, onError, { peer, clock });
    const isIts = (channel: string) => channel === this.#channel;
    new HlsSender(connection, {
      askHls: (channel) => (isIts(channel) ? hls.askHls(channel) : null),
      hlsOf: (channel) => (isIts(channel) ? hls.hlsOf(channel) : undefined),
    });
    const sender = new TapeSender(connection, {
      clock,
      names,
      audioOf: (channel) => (isIts(channel) ? audio() : undefined),
      isPrompt: true,
    });
    this.#senders.add(sender);
    stream.once('close', () => this.#senders.delete(sender));
    return true;
  }

  /** The part that is here, for a node that continues the tape of a lost owner. False: there is none. */
  offer(stream: Duplex, peer: string): boolean {
    const { clock, names, onError } = this.#parts;
    const audio = this.#parts.audio();
    const { tape } = audio;
    if (tape === undefined || !(tape.head > tape.tail)) return false;
    const offered = new Map([[this.#channel, { audio, name: names.nameOf(tape) }]]);
    offerTapes(stream, offered, clock, onError, undefined, { peer, isFar: true });
    return true;
  }

  /** The whole tape that was fed here, with its open segment. False: there is none. @param onOver the other node has it, or is lost */
  handOver(audio: ChannelAudio, stream: Duplex, peer: string, onOver: () => void): boolean {
    const { clock, names, onError } = this.#parts;
    const tape = fedTape(audio, null, names);
    if (tape === null) return false;
    this.#isHandingOver = true;
    const onEnded = () => {
      this.#isHandingOver = false;
      onOver();
    };
    offerTapes(stream, new Map([[this.#channel, tape]]), clock, onError, onEnded, { peer, isFar: true });
    return true;
  }

  /** Nodes that take it continue in the audio that is played now. */
  move(): void {
    for (const sender of this.#senders) sender.move(this.#channel);
  }
}
