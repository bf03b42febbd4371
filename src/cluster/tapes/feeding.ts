/**
 * Decides whether this node feeds a channel: with the lease, or alone while the owner's tape is silent.
 *
 *   following ──lease──► taking: the owner hands the tape over ──► owning
 *       ▲                  └ it cannot be reached: the node that has most of it, here or elsewhere
 *       │ └── handed over ◄──────────────── another node has the lease, and asks for the tape
 *       └ the owner's tape is silent, and a source is on air here ──► owning, alone: until that tape continues
 *
 * Owned by one SharedAudio.
 */

import type { Log } from '../../base/log.js';
import type { Channel } from '../../channel/channel.js';
import { forkedAt } from '../../link/tapes/tape-names.js';
import { FeedingTime } from './feeding-time.js';
import type { LeaseClaim } from './lease-claim.js';
import type { LeaseOwner } from './leases.js';
import type { OwnerLink } from './owner-link.js';
import type { PlayedAudio } from './played-audio.js';
import type { RemoteFacts } from './remote-facts.js';
import { continueTape, type TakeoverParts } from './takeover.js';

export interface FeedingParts extends TakeoverParts {
  readonly log: Log;
  /** The name of this node. */
  readonly node: string;
  /** Whether a channel is fed only while the lease is confirmed; requires that Redis answers faster than a lease expires. */
  readonly isFenced: boolean;
  /** Whether workers have returned its tape after the former hub was lost: other nodes may have more of it. */
  isReturned(channel: string): boolean;
  /** The facts of a channel that another node feeds have changed. */
  onFacts(channel: string): void;
  /** It is fed here from now on, and the title in force is on its tape. */
  onOwned(channel: string): void;
  /** The wish for the lease has changed. */
  onDue(): void;
}

/** A channel's parts on this node: its own audio, and what comes from its owner. */
export interface FedChannel {
  readonly channel: Channel;
  readonly played: PlayedAudio;
  readonly link: OwnerLink;
  readonly remote: RemoteFacts;
  readonly claim: LeaseClaim;
}

const NO_OWNER: LeaseOwner = { node: '', url: '', epoch: 0, beforeNode: '', beforeUrl: '', facts: '', askedMs: 0 };
/** If a new owner has not asked for the tape within this time, the former one feeds the channel alone. */
const YIELD_MS = 3000;
/** How long an owner named by another node overrides older answers of Redis. */
const PROVISIONAL_MS = 2000;

const ALONE = 'this machine feeds the channel for its own listeners until audio from the other one is back';

/** Unknown yet; fed here; about to be fed here; taken from another node. */
export type FeedingPhase = 'waiting' | 'owning' | 'taking' | 'following';

export class Feeding {
  readonly #of: FedChannel;
  readonly #parts: FeedingParts;
  readonly #time: FeedingTime;
  #phase: FeedingPhase = 'waiting';
  #owner = NO_OWNER;
  /** It is fed here without the lease, as the owner's tape is silent. */
  #isAlone = false;
  /** The node whose facts are in `remote`. */
  #factsOf = '';
  #yieldsAtMs = Number.POSITIVE_INFINITY;
  /** Until then the owner named by another node overrides older answers of Redis. */
  #provisionalUntilMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(of: FedChannel, parts: FeedingParts) {
    this.#of = of;
    this.#parts = parts;
    this.#time = new FeedingTime(parts.isFenced, parts.clock.now());
  }

  get phase(): FeedingPhase {
    return this.#phase;
  }

  get isAlone(): boolean {
    return this.#isAlone;
  }

  /** Whether another node is known to feed the channel. */
  get isRemote(): boolean {
    return this.#phase === 'following' || this.#isAlone;
  }

  get owner(): LeaseOwner {
    return this.#owner;
  }

  /** @throws CheckError if the facts are malformed; the known ones stay, and the rest of the answer counts */
  onOwner(owner: LeaseOwner): void {
    const before = this.#owner;
    if (this.#isClosed) return;
    // The answer is older than the handover.
    if (owner.epoch < before.epoch && this.#parts.clock.now() < this.#provisionalUntilMs) return;
    // Redis was emptied: nothing changes until the owner has asked again.
    if (owner.node === '' && owner.beforeNode === '' && before.node !== '') return;
    const isMine = owner.node === this.#parts.node;
    try {
      if (owner.facts !== '' && !isMine) this.#learn(owner);
    } finally {
      this.#owner = owner;
      this.#onLease(owner, before, isMine);
    }
  }

  #onLease(owner: LeaseOwner, before: LeaseOwner, isMine: boolean): void {
    const { channel, link, played } = this.#of;
    if (isMine || this.#isAlone) this.#time.onMine(owner.askedMs, this.#parts.clock.now());
    if (this.#phase === 'taking') return;
    const isNewOwner = owner.node !== before.node || owner.url !== before.url;
    if (isMine) this.#yieldsAtMs = Number.POSITIVE_INFINITY;
    if (this.#phase === 'owning') {
      if (this.#isAlone && isNewOwner) link.disconnect();
      if (!isMine && owner.node !== '' && !this.#isAlone) this.#onOther();
      if (isMine && this.#wasAnothers(owner, before)) this.#takeAgain();
      else if (isMine) this.#keepOwning();
    } else if (isMine) {
      const isOwn = this.#phase === 'waiting' && (owner.beforeNode === '' || owner.beforeNode === this.#parts.node);
      const wasOwn = this.#phase === 'waiting' && channel.audio.tape !== undefined;
      if ((isOwn || wasOwn) && !this.#isReturned) this.#own();
      else void this.#take();
    } else {
      this.#phase = 'following';
      if (isNewOwner) link.disconnect();
      played.lookCaughtUp();
    }
  }

  #learn({ facts, node }: LeaseOwner): void {
    const { channel, claim, remote } = this.#of;
    const wished = claim.wish;
    remote.set(facts);
    this.#factsOf = node;
    if (claim.wish > wished) this.#parts.onDue();
    this.#parts.onFacts(channel.key);
  }

  /** Called a few times a second. @param isReached whether Redis is reached */
  tick(nowMs: number, isReached: boolean): void {
    if (this.#time.tick(nowMs, isReached)) this.#parts.onDue();
    if (this.#phase === 'waiting' && !isReached) this.#own();
    if (this.#phase !== 'owning') return;
    this.#feed();
    if (this.#of.claim.lookAwaited()) this.#parts.onDue();
    // The owner did not ask for the tape, so only this node has its latest part: it is played until the owner's tape arrives.
    if (nowMs >= this.#yieldsAtMs) this.#beAlone();
  }

  /** A node that says it is the owner takes the tape, and listeners continue with its audio. False: it is not the owner, or nothing is fed here. */
  yieldTo({ node, url, epoch }: Pick<LeaseOwner, 'node' | 'url' | 'epoch'>): boolean {
    if (this.#phase !== 'owning' || epoch < this.#owner.epoch) return false;
    this.stopFeeding();
    this.#owner = { ...NO_OWNER, node, url, epoch };
    this.#provisionalUntilMs = this.#parts.clock.now() + PROVISIONAL_MS;
    return true;
  }

  stopFeeding(): void {
    const { log, onDue } = this.#parts;
    const { channel, played, remote } = this.#of;
    this.#phase = 'following';
    this.#isAlone = false;
    this.#yieldsAtMs = Number.POSITIVE_INFINITY;
    played.playOwn();
    // The facts of the other node are older than the audio that was fed here.
    if (this.#factsOf !== this.#owner.node) remote.keep(channel);
    channel.setRemote(remote.live);
    // This also drops the delay line.
    channel.audio.feedUntil(Number.NEGATIVE_INFINITY);
    log.info({ channel: channel.key, node: this.#owner.node }, 'another machine feeds the channel');
    onDue();
  }

  /** The owner's tape is silent, and a source is on air here: it continues the part that has arrived. Never rejects. */
  async takeAlone(): Promise<void> {
    this.#phase = 'taking';
    await continueTape(this.#of.channel.audio, this.#of.link.audio, null, this.#parts);
    if (this.#isClosed) return;
    this.#beAlone();
    this.#own();
    if (this.#owner.node === this.#parts.node) this.onOwner(this.#owner);
  }

  close(): void {
    this.#isClosed = true;
  }

  get #isReturned(): boolean {
    return this.#phase === 'waiting' && this.#parts.isReturned(this.#of.channel.key);
  }

  #keepOwning(): void {
    if (this.#isAlone) this.#endAlone();
    this.#feed();
  }

  /** This node has the lease now, and does not wait for the tape of the former owner. */
  #endAlone(): void {
    this.#isAlone = false;
    this.#of.link.giveUp();
  }

  /** Another node has the lease while this one still feeds the channel. */
  #onOther(): void {
    const nowMs = this.#parts.clock.now();
    if (nowMs > this.#time.untilMs(nowMs)) {
      // This process was suspended: nothing was appended to its tape since it lost the lease.
      this.stopFeeding();
      this.#of.played.lookCaughtUp();
    } else if (this.#yieldsAtMs === Number.POSITIVE_INFINITY) this.#yieldsAtMs = nowMs + YIELD_MS;
  }

  #beAlone(): void {
    this.#isAlone = true;
    this.#yieldsAtMs = Number.POSITIVE_INFINITY;
    this.#of.link.audio.want(true);
    this.#time.onMine(this.#parts.clock.now(), this.#parts.clock.now());
  }

  /** Lets the sources here feed the channel a moment longer: they stop if this is not repeated. */
  #feed(): void {
    this.#of.channel.audio.feedUntil(this.#time.untilMs(this.#parts.clock.now()));
  }

  #own(): void {
    const { log, onOwned, onDue, names } = this.#parts;
    const { channel, played } = this.#of;
    const { key, audio } = channel;
    if (this.#isReturned && audio.tape !== undefined) {
      names.set(audio.tape, forkedAt(names.nameOf(audio.tape), audio.tape.head));
    }
    this.#phase = 'owning';
    played.playOwn();
    if (!this.#isAlone) {
      this.#factsOf = '';
      this.#endAlone();
    }
    onOwned(key);
    audio.dropHeld();
    channel.setRemote(null);
    this.#feed();
    played.move();
    if (this.#isAlone) log.warn({ channel: key, node: this.#owner.node }, ALONE);
    else log.info({ channel: key, epoch: this.#owner.epoch }, 'this machine feeds the channel');
    onDue();
  }

  /** Whether another node had the lease while the channel was fed here, as neither that node nor Redis could be reached. */
  #wasAnothers({ epoch, beforeNode, beforeUrl }: LeaseOwner, before: LeaseOwner): boolean {
    return epoch !== before.epoch && beforeNode !== this.#parts.node && beforeUrl !== '';
  }

  /** The tape of the node that had the lease is continued, not the one that was fed here meanwhile. */
  #takeAgain(): void {
    this.stopFeeding();
    this.#of.channel.keepComing();
    void this.#take(true);
  }

  /** Continues the tape here. Never rejects. @param isThere whether to wait for the former owner, though its tape is silent here */
  async #take(isThere = false): Promise<void> {
    const { channel, claim, link, played } = this.#of;
    const isReturned = this.#isReturned;
    this.#phase = 'taking';
    this.#parts.onDue();
    const asked = this.#owner;
    const { beforeUrl, beforeNode, epoch } = asked;
    const url = beforeNode === this.#parts.node || isReturned ? '' : beforeUrl;
    const isLost = !isThere && (claim.isQuiet || !link.isConnected);
    const former = { node: beforeNode, url, epoch, isLost, isThere };
    await continueTape(channel.audio, link.audio, former, this.#parts);
    // The former owner's HLS comes by another stream than its tape.
    if (!isLost && link.hls.isWanted) await link.hlsIsWhole();
    if (this.#isClosed) return;
    const { node, url: ownerUrl } = this.#owner;
    const isAnothers = this.#owner !== asked && node !== '' && node !== this.#parts.node;
    if (isAnothers && !played.isOwn) {
      // Another node is the owner by now, and no listener here plays the part that was taken: follow as before.
      this.#phase = 'following';
      channel.audio.leave();
      if (ownerUrl !== beforeUrl) link.disconnect();
      link.look();
      return;
    }
    this.#own();
    // The lease may have been lost again meanwhile. Without Redis the last known owner does not count.
    if (this.#owner !== asked) this.onOwner(this.#owner);
  }
}
