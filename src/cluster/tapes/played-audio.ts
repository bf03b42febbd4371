/**
 * Which audio of a channel is played at this node: its own, or that of the node that feeds the channel. When another node begins to feed it, the own
 * audio is played until the other tape has caught up, so that no listener is interrupted. Owned by one SharedAudio.
 */

import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Channel } from '../../channel/channel.js';
import { canGoOn, type TapeNames } from '../../link/tapes/tape-names.js';
import type { OwnerLink } from './owner-link.js';
import type { TapeGiving } from './tape-giving.js';

export interface PlayedAudioParts {
  readonly names: TapeNames;
  readonly link: OwnerLink;
  /** Gives the audio to other nodes. */
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

  /** Chooses the audio that is fed here, or was until now. Readers stay where they are until `move`. */
  playOwn(): void {
    this.#isOwn = true;
  }

  /** Changes to the other node's audio once its tape has caught up with the own one, or if no listener here needs the own one. */
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
