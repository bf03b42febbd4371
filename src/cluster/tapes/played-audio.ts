/**
 * Which audio of a channel is played at this node: its own, or that of the node that feeds the channel. Where the tape moves between nodes, its own
 * is played on until the other one has come as far, so that nobody is interrupted. Owned by one SharedAudio.
 */

import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Channel } from '../../channel/channel.js';
import { canGoOn, type TapeNames } from '../../link/tapes/tape-names.js';
import type { OwnerLink } from './owner-link.js';
import type { TapeGiving } from './tape-giving.js';

export interface PlayedAudioParts {
  readonly names: TapeNames;
  readonly link: OwnerLink;
  /** What other nodes take of it. */
  readonly giving: TapeGiving;
  /** Whether the channel is fed at another node. */
  isFollowing(): boolean;
  /** Listeners continue in `now`. */
  onMoved(channel: string): void;
}

export class PlayedAudio {
  readonly #channel: Channel;
  readonly #parts: PlayedAudioParts;
  #isOwn = true;

  constructor(channel: Channel, parts: PlayedAudioParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  get now(): PlayableAudio {
    return this.#isOwn ? this.#channel.audio : this.#parts.link.audio;
  }

  get isOwn(): boolean {
    return this.#isOwn;
  }

  /** What is fed here, or was until now. Its readers stay where they are until `move`. */
  playOwn(): void {
    this.#isOwn = true;
  }

  /** While its own tape is played: whether that of the other node has come as far. */
  lookCaughtUp(): void {
    const { giving, link, names, isFollowing } = this.#parts;
    if (!this.#isOwn || !isFollowing() || giving.isHandingOver) return;
    const { audio } = this.#channel;
    const own = audio.tape;
    if (own !== undefined && audio.listeners > 0) {
      if (!link.isThere) {
        link.audio.want(true);
        return;
      }
      const there = link.audio.tape!;
      if (canGoOn(there.name, names.nameOf(own), own.head) && there.head < own.head) return;
    }
    this.#isOwn = false;
    this.move();
    audio.leave();
  }

  /** Readers continue in the audio that is played now. */
  move(): void {
    this.#parts.onMoved(this.#channel.key);
    this.#parts.giving.move();
  }
}
