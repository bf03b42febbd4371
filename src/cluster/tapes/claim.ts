/**
 * How much a node wants to feed a channel, for its lease (leases.ts): how good what would come from here is, beside what comes from the owner, and
 * whether that one can be reached. Owned by one SharedAudio.
 */

import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import { EXPECTS_RANK, NO_RANK, type Wish } from './leases.js';
import type { OwnerLink } from './owner-link.js';
import type { RemoteFacts } from './remote-facts.js';

export interface ClaimParts {
  readonly clock: Clock;
  /** Whether this node's sources may feed channels. */
  readonly mayFeed: boolean;
  readonly link: OwnerLink;
  readonly remote: RemoteFacts;
  /** Whether another node feeds the channel, as far as it is known. */
  isFollowing(): boolean;
}

/** An owner that could not be connected to for this long cannot be reached. */
const LOST_MS = 200;
/** One of whose tape nothing has come for this long cannot, either. That it has not renewed its lease must come to that (leases.ts, STALE_MS). */
const QUIET_MS = 800;

export class Claim {
  /** When something of the owner's tape came last, monotonic milliseconds. */
  grownMs = Number.NEGATIVE_INFINITY;
  readonly #channel: Channel;
  readonly #parts: ClaimParts;
  #wasAwaited = false;

  constructor(channel: Channel, parts: ClaimParts) {
    this.#channel = channel;
    this.#parts = parts;
  }

  onGrown(): void {
    this.grownMs = this.#parts.clock.now();
  }

  /** Whether a source is on air here, heard or not. */
  get hasSource(): boolean {
    return this.#place !== -1;
  }

  get #place(): number {
    return this.#parts.mayFeed ? this.#channel.switch.placeOnAir : -1;
  }

  get wish(): Wish {
    const { mayFeed, link } = this.#parts;
    if (!mayFeed) return 0;
    // What comes is as good as what would come from here.
    const isFollowing = this.#parts.isFollowing();
    const isServed = isFollowing && link.isConnected && !this.isQuiet;
    if (isServed && this.rank >= this.#rankThere) return 0;
    if (this.rank === NO_RANK) return 1;
    return isFollowing && this.#isLost ? 3 : 2;
  }

  /** Of the source on air here; less is better. */
  get rank(): number {
    const { mayFeed } = this.#parts;
    if (this.hasSource) return rankOf(this.#place, this.#channel.switch.isAwaited);
    // Its audio is a moment away: until then listeners anywhere wait for it.
    return mayFeed && this.#channel.hasEncoder ? EXPECTS_RANK : NO_RANK;
  }

  get #rankThere(): number {
    const { onAir, isAwaited = false } = this.#parts.remote.facts;
    return onAir === null ? NO_RANK : rankOf(onAir, isAwaited);
  }

  /** Nothing comes of the owner's tape, though its connection may seem to be there: its machine stands still, or a network loses what it sends. */
  get isQuiet(): boolean {
    return this.#parts.clock.now() - this.grownMs > QUIET_MS;
  }

  get #isLost(): boolean {
    return this.isQuiet || this.#parts.clock.now() - this.#parts.link.lostSinceMs > LOST_MS;
  }

  /**
   * Whether what is on air here has begun to be waited for: a source at another node may be what listeners want. A few times a second, where it is
   * heard.
   */
  lookAwaited(): boolean {
    const was = this.#wasAwaited;
    this.#wasAwaited = this.#channel.switch.isAwaited;
    return this.#wasAwaited && !was;
  }
}

/** A source that is waited for gives way to one of the same place that is there. */
function rankOf(place: number, isAwaited: boolean): number {
  return isAwaited ? place + 0.5 : place;
}
