/**
 * How strongly a node claims a channel, for its lease (leases.ts): the rank of its own source compared with the audio from the owner, and whether the
 * owner can be reached. Owned by one SharedAudio.
 */

import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import { EXPECTS_RANK, NO_RANK, type Wish } from './leases.js';
import type { OwnerLink } from './owner-link.js';
import type { RemoteFacts } from './remote-facts.js';

export interface LeaseClaimParts {
  readonly clock: Clock;
  /** Whether this node's sources may feed channels. */
  readonly mayFeed: boolean;
  readonly link: OwnerLink;
  readonly remote: RemoteFacts;
  /** Whether another node is known to feed the channel. */
  isFollowing(): boolean;
}

/** An owner to which connections fail for this long counts as unreachable. */
const LOST_MS = 200;
/** So does an owner whose tape has been silent for this long, if it has not renewed its lease either (leases.ts, STALE_MS). */
const QUIET_MS = 800;

export class LeaseClaim {
  /** When data of the owner's tape last arrived, monotonic milliseconds. */
  grownMs = Number.NEGATIVE_INFINITY;
  readonly #channel: Channel;
  readonly #parts: LeaseClaimParts;
  #wasAwaited = false;

  constructor(channel: Channel, parts: LeaseClaimParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  onGrown(): void {
    this.grownMs = this.#parts.clock.now();
  }

  /** Whether a source is on air here, heard or not. */
  get hasSource(): boolean {
    return this.#index !== -1;
  }

  get #index(): number {
    return this.#parts.mayFeed ? this.#channel.switch.indexOnAir : -1;
  }

  get wish(): Wish {
    const { mayFeed, link } = this.#parts;
    if (!mayFeed) return 0;
    // The owner's audio is as good as the one here.
    const isFollowing = this.#parts.isFollowing();
    const isServed = isFollowing && link.isConnected && !this.isQuiet;
    if (isServed && this.rank >= this.#rankThere) return 0;
    if (this.rank === NO_RANK) return 1;
    return isFollowing && this.#isLost ? 3 : 2;
  }

  /** Rank of the source on air here; lower is better. */
  get rank(): number {
    const { mayFeed } = this.#parts;
    if (this.hasSource) return rankOf(this.#index, this.#channel.switch.isAwaited);
    // Its audio is about to arrive: until then listeners on every node wait for it.
    return mayFeed && this.#channel.encoder.isConnected ? EXPECTS_RANK : NO_RANK;
  }

  get #rankThere(): number {
    const { onAir, isAwaited } = this.#parts.remote.facts;
    return onAir === null ? NO_RANK : rankOf(onAir, isAwaited);
  }

  /** Whether the owner's tape is silent, though its connection may look open: its machine is suspended, or the network drops its packets. */
  get isQuiet(): boolean {
    return this.#parts.clock.now() - this.grownMs > QUIET_MS;
  }

  get #isLost(): boolean {
    return this.isQuiet || this.#parts.clock.now() - this.#parts.link.lostSinceMs > LOST_MS;
  }

  /**
   * Whether the source on air here has begun to be waited for, so that a source at another node may be preferred. Called a few times a second while
   * it is heard.
   */
  lookAwaited(): boolean {
    const was = this.#wasAwaited;
    this.#wasAwaited = this.#channel.switch.isAwaited;
    return this.#wasAwaited && !was;
  }
}

/** A source that is waited for ranks just below one of the same position that sends. */
function rankOf(index: number, isAwaited: boolean): number {
  return isAwaited ? index + 0.5 : index;
}
