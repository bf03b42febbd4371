/**
 * One channel's audio on a node: fed here, or taken from the node that feeds it, and handed over between them. All who play it go on, since the tape
 * is the same one everywhere: by its name, segment by segment.
 *
 *   following ──lease──► taking: the owner hands the tape over ──► owning
 *       ▲                  └ it cannot be reached: the node that has most of it, here or elsewhere
 *       │ └── handed over ◄──────────────── another node has the lease, and asks for the tape
 *       └ nothing comes of its tape, and a source is on air here ──► owning, alone: until it comes again
 *
 * Owned by shared-tapes.ts.
 */

import type { Duplex } from 'node:stream';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Log } from '../../base/log.js';
import type { Channel } from '../../channel/channel.js';
import type { ChannelFacts } from '../../link/control.js';
import { canGoOn, forkedAt } from '../../link/tapes/tape-names.js';
import { machineOf } from '../../link/wire/left-alone.js';
import { ALONE_MS, FeedingTime } from '../titles/feeding-time.js';
import { Claim } from './claim.js';
import type { Leased, LeaseOwner, Wish } from './leases.js';
import { OwnerLink } from './owner-link.js';
import { OwnerWatch } from './owner-watch.js';
import { RemoteFacts } from './remote-facts.js';
import { type TakeoverParts, takeOver } from './takeover.js';
import { TapeGiving } from './tape-giving.js';
import type { TapeRequest } from './tape-server.js';

export interface SharedAudioParts extends TakeoverParts {
  readonly log: Log;
  /** This node's name. */
  readonly node: string;
  /** Whether this node's sources may feed channels. */
  readonly mayFeed: boolean;
  /** Whether a channel is fed here only as long as the lease is known to be: Redis answers in less time than that. */
  readonly isFenced: boolean;
  /** Its tape goes on in what `elsewhere` says. */
  onMoved(channel: string): void;
  /** Whether its tape is what workers had of it, as the hub before this one was lost: other nodes may have more. */
  isReturned(channel: string): boolean;
  /** What is known of a channel that is fed elsewhere has changed. */
  onFacts(channel: string): void;
  /** It is fed here from now on: the title in force is on its tape. */
  onOwned(channel: string): void;
  /** What is to be asked of Redis has changed. */
  onDue(): void;
}

const NOBODY: LeaseOwner = { node: '', url: '', epoch: 0, beforeNode: '', beforeUrl: '', facts: '', askedMs: 0 };
/** One that knows that another has the lease, and is not asked for the tape in this time, stops feeding it. */
const YIELD_MS = 3000;
/** For how long an owner that another node has named is not contradicted by an older answer of Redis. */
const PROVISIONAL_MS = 2000;
/** How long an owner that refuses connections is waited for: it may be restarting. Longer than its lease lasts (leases.ts, LASTS_MS and STALE_MS). */
const AWAY_MS = 6000;

const ALONE = 'this machine feeds the channel for its own listeners, until audio comes from the other one again';

/** Not known yet; fed here; about to be fed here; taken from another node. */
type SharedPhase = 'waiting' | 'owning' | 'taking' | 'following';

export class SharedAudio implements Leased {
  readonly channel: Channel;
  readonly remote: RemoteFacts;
  readonly #phases: SharedAudioParts;
  readonly #link: OwnerLink;
  readonly #watch: OwnerWatch;
  readonly #giving: TapeGiving;
  #phase: SharedPhase = 'waiting';
  #owner = NOBODY;
  /** Its own tape is played until the other node's has come as far. */
  #playsOwn = true;
  /** It is fed here though another node has the lease, as nothing comes of that one's tape. */
  #isAlone = false;
  /** The node whose facts `remote` has. */
  #factsOf = '';
  #yieldsAtMs = Number.POSITIVE_INFINITY;
  /** Until then an owner that another node has named is not contradicted by an older answer of Redis. */
  #provisionalUntilMs = Number.NEGATIVE_INFINITY;
  readonly #claim: Claim;
  readonly #feeding: FeedingTime;
  #isClosed = false;

  constructor(channel: Channel, parts: SharedAudioParts) {
    this.channel = channel;
    this.#phases = parts;
    this.#feeding = new FeedingTime(parts.isFenced, parts.clock.now());
    this.remote = new RemoteFacts(parts.clock);
    this.#link = new OwnerLink({
      channel: channel.key,
      clock: parts.clock,
      onError: parts.onError,
      onLost: parts.onDue,
      ...(parts.mostLagMs && { mostLagMs: parts.mostLagMs }),
      owner: () => {
        const { url, node } = this.#owner;
        const isNeeded = this.#phase === 'following' || this.#isAlone;
        return !isNeeded || url === '' || node === parts.node ? null : this.#owner;
      },
      ask: (owner) => parts.ask(owner, channel.key, 'listen'),
    });
    this.#link.audio.observe({
      onGrown: () => {
        this.#claim.onGrown();
        this.#lookCaughtUp();
      },
      onTape: () => this.#lookCaughtUp(),
      onLate: () => undefined,
      onFence: () => this.#lookCaughtUp(),
    });
    this.#claim = new Claim(channel, {
      clock: parts.clock,
      mayFeed: parts.mayFeed,
      link: this.#link,
      remote: this.remote,
      isFollowing: () => this.#phase === 'following' || this.#isAlone,
    });
    this.#watch = new OwnerWatch({
      channel: channel.key,
      log: parts.log,
      link: this.#link,
      remote: this.remote,
      onFacts: parts.onFacts,
    });
    this.#giving = new TapeGiving(channel.key, {
      clock: parts.clock,
      names: parts.names,
      onError: parts.onError,
      audio: () => this.elsewhere?.audio ?? channel.audio,
    });
    channel.setElsewhere(this.remote.live);
  }

  get isOwning(): boolean {
    return this.#phase === 'owning';
  }

  get owner(): LeaseOwner {
    return this.#owner;
  }

  /** The node that feeds it but whose tape does not come; '': there is none. */
  get lost(): string {
    return this.#watch.lost;
  }

  get phase(): SharedPhase {
    return this.#phase;
  }

  /** As HubLinks asks it. */
  get elsewhere(): { readonly audio: PlayableAudio; readonly facts: ChannelFacts } | undefined {
    if (this.#phase === 'owning') return undefined;
    const { facts } = this.remote;
    // What comes here is about to be heard.
    const hopeful = facts.hopeful || this.channel.switch.hopeful;
    const audio = this.#playsOwn ? this.channel.audio : this.#link.audio;
    return { audio, facts: hopeful === facts.hopeful ? facts : { ...facts, hopeful } };
  }

  get #isReturned(): boolean {
    return this.#phase === 'waiting' && this.#phases.isReturned(this.channel.key);
  }

  get wish(): Wish {
    return this.#claim.wish;
  }

  get rank(): number {
    return this.#claim.rank;
  }

  get facts(): string {
    const isTaking = this.#phase === 'taking';
    if (this.#isAlone) return '';
    return isTaking || this.#phase === 'owning' ? this.remote.take(this.channel, isTaking) : '';
  }

  onUnsaid(): void {
    this.remote.forgetSaid();
  }

  onOwner(owner: LeaseOwner): void {
    const before = this.#owner;
    if (this.#isClosed) return;
    // An answer that was on its way when the tape was handed over.
    if (owner.epoch < before.epoch && this.#phases.clock.now() < this.#provisionalUntilMs) return;
    // Redis was emptied: all stays as it is until the owner has asked again.
    if (owner.node === '' && owner.beforeNode === '' && before.node !== '') return;
    this.#owner = owner;
    const isMine = owner.node === this.#phases.node;
    if (owner.facts !== '' && !isMine) {
      const wished = this.wish;
      this.remote.set(owner.facts);
      this.#factsOf = owner.node;
      if (this.wish > wished) this.#phases.onDue();
      this.#phases.onFacts(this.channel.key);
    }
    if (isMine || this.#isAlone) this.#feeding.onMine(owner.askedMs, this.#phases.clock.now());
    if (this.#phase === 'taking') return;
    const isNewOwner = owner.node !== before.node || owner.url !== before.url;
    if (isMine) this.#yieldsAtMs = Number.POSITIVE_INFINITY;
    if (this.#phase === 'owning') {
      if (this.#isAlone && isNewOwner) this.#link.disconnect();
      if (!isMine && owner.node !== '' && !this.#isAlone) this.#onOther();
      if (isMine && this.#wasAnothers(owner, before)) this.#takeAgain();
      else if (isMine) this.#keepOwning();
    } else if (isMine) {
      const isOwn = this.#phase === 'waiting' && (owner.beforeNode === '' || owner.beforeNode === this.#phases.node);
      const wasOwn = this.#phase === 'waiting' && this.channel.audio.tape !== undefined;
      if ((isOwn || wasOwn) && !this.#isReturned) this.#own();
      else void this.#take();
    } else {
      this.#phase = 'following';
      if (isNewOwner) this.#link.disconnect();
      this.#lookCaughtUp();
    }
  }

  #keepOwning(): void {
    if (this.#isAlone) this.#endAlone();
    this.#feed();
  }

  /** This node has the lease now: the tape of the other one is not waited for. */
  #endAlone(): void {
    this.#isAlone = false;
    this.#link.found();
    this.#link.disconnect();
    this.#link.audio.want(false);
  }

  /** It has the lease, and this node feeds the channel still. */
  #onOther(): void {
    const nowMs = this.#phases.clock.now();
    if (nowMs > this.#feeding.untilMs(nowMs)) {
      // It stood still: nothing has come onto its tape since that was this node's to feed.
      this.#stopFeeding();
      this.#lookCaughtUp();
    } else if (this.#yieldsAtMs === Number.POSITIVE_INFINITY) this.#yieldsAtMs = nowMs + YIELD_MS;
  }

  /** A few times a second. @param isReached whether Redis is */
  tick(nowMs: number, isReached: boolean): void {
    if (this.#feeding.tick(nowMs, isReached)) this.#phases.onDue();
    if (this.#phase === 'waiting' && !isReached) this.#own();
    if (this.#phase === 'owning') {
      this.#feed();
      if (this.#claim.lookAwaited()) this.#phases.onDue();
    }
    // The other node did not ask for the tape, so nobody else has what came onto it since: it is played until that one's comes.
    if (this.#phase === 'owning' && nowMs >= this.#yieldsAtMs) this.#beAlone();
    this.#watch.look(nowMs, this.#phase === 'following' || this.#isAlone ? this.#ownerElsewhere : '');
    if (this.#isAlone) {
      if (this.#isThere || !this.#claim.hasSource) this.#stopAlone();
      else this.#link.look();
    }
    if (this.#phase !== 'following') return;
    const { wish } = this;
    if (wish > 1) this.channel.keepComing();
    else this.channel.passComing(this.#claim.grownMs);
    if (wish === 3) this.#phases.onDue();
    this.#lookCaughtUp();
    // A source waits here: the tape must be here when the owner is lost.
    if (this.#claim.hasSource) this.#link.audio.want(true);
    const aloneMs = !isReached || this.#link.isSilent ? ALONE_MS : AWAY_MS;
    if (this.#claim.hasSource && nowMs - this.#link.lostSinceMs > aloneMs) void this.#takeAlone();
    else this.#link.look();
  }

  get #ownerElsewhere(): string {
    const { node } = this.#owner;
    return node === this.#phases.node ? '' : node;
  }

  #beAlone(): void {
    this.#isAlone = true;
    this.#yieldsAtMs = Number.POSITIVE_INFINITY;
    this.#link.audio.want(true);
    this.#feeding.onMine(this.#phases.clock.now(), this.#phases.clock.now());
  }

  /** The other node's tape is there, or nothing is on air here. */
  #stopAlone(): void {
    this.#stopFeeding();
    this.#lookCaughtUp();
  }

  /** Nothing comes of the owner's tape, and a source is on air here: it goes on with what has come. Never rejects. */
  async #takeAlone(): Promise<void> {
    this.#phase = 'taking';
    await takeOver(this.channel.audio, this.#link.audio, null, this.#phases);
    if (this.#isClosed) return;
    this.#beAlone();
    this.#own();
    if (this.#owner.node === this.#phases.node) this.onOwner(this.#owner);
  }

  /** Its sources feed the channel for a moment more. */
  #feed(): void {
    this.channel.audio.feedUntil(this.#feeding.untilMs(this.#phases.clock.now()));
  }

  /** Another node comes for the tape. False: it cannot be had here. */
  serve({ purpose, epoch, node, url }: TapeRequest, stream: Duplex): boolean {
    const peer = machineOf(node, stream);
    if (purpose === 'listen') return this.#phase === 'owning' && this.#giving.listen(stream, peer);
    if (purpose === 'offer') return this.#giving.offer(stream, peer);
    if (this.#phase !== 'owning' || epoch < this.#owner.epoch) return false;
    // What its listeners hear next is the other node's.
    this.#stopFeeding();
    this.#owner = { ...NOBODY, node, url, epoch };
    this.#provisionalUntilMs = this.#phases.clock.now() + PROVISIONAL_MS;
    const { audio } = this.channel;
    if (!this.#giving.handOver(audio, stream, peer, () => this.#lookCaughtUp())) return false;
    if (audio.listeners > 0) this.#link.audio.want(true);
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.#link.close();
  }

  #stopFeeding(): void {
    const { log, onDue } = this.#phases;
    this.#phase = 'following';
    this.#isAlone = false;
    this.#yieldsAtMs = Number.POSITIVE_INFINITY;
    this.#playsOwn = true;
    // What is known of another node is older than what was fed here.
    if (this.#factsOf !== this.#owner.node) this.remote.keep(this.channel);
    this.channel.setElsewhere(this.remote.live);
    // What waits in its delay line comes no more either.
    this.channel.audio.feedUntil(Number.NEGATIVE_INFINITY);
    log.info({ channel: this.channel.key, node: this.#owner.node }, 'another machine feeds the channel');
    onDue();
  }

  #own(): void {
    const { log, onOwned, onDue, names } = this.#phases;
    const { key, audio } = this.channel;
    if (this.#isReturned && audio.tape !== undefined) {
      names.set(audio.tape, forkedAt(names.nameOf(audio.tape), audio.tape.head));
    }
    this.#phase = 'owning';
    this.#playsOwn = true;
    if (!this.#isAlone) {
      this.#factsOf = '';
      this.#endAlone();
    }
    onOwned(key);
    audio.dropHeld();
    this.channel.setElsewhere(null);
    this.#feed();
    this.#moved();
    if (this.#isAlone) log.warn({ channel: key, node: this.#owner.node }, ALONE);
    else log.info({ channel: key, epoch: this.#owner.epoch }, 'this machine feeds the channel');
    onDue();
  }

  /** Whether another node had the lease while it was fed here, as neither that nor Redis could be reached. */
  #wasAnothers({ epoch, beforeNode, beforeUrl }: LeaseOwner, before: LeaseOwner): boolean {
    return epoch !== before.epoch && beforeNode !== this.#phases.node && beforeUrl !== '';
  }

  /** The tape is the one of who had the lease: here it was another meanwhile. */
  #takeAgain(): void {
    this.#stopFeeding();
    this.channel.keepComing();
    void this.#take(true);
  }

  /** The tape goes on here. Never rejects. @param isThere the one before is waited for, though nothing comes of it here */
  async #take(isThere = false): Promise<void> {
    const isReturned = this.#isReturned;
    this.#phase = 'taking';
    this.#phases.onDue();
    const asked = this.#owner;
    const { beforeUrl, beforeNode, epoch } = asked;
    const url = beforeNode === this.#phases.node || isReturned ? '' : beforeUrl;
    const isLost = !isThere && (this.#claim.isQuiet || !this.#link.isConnected);
    const former = { node: beforeNode, url, epoch, isLost, isThere };
    await takeOver(this.channel.audio, this.#link.audio, former, this.#phases);
    if (this.#isClosed) return;
    const { node, url: ownerUrl } = this.#owner;
    const isAnothers = this.#owner !== asked && node !== '' && node !== this.#phases.node;
    if (isAnothers && !this.#playsOwn) {
      // It is another's by now, and nobody here plays what was taken: it is followed as before.
      this.#phase = 'following';
      this.channel.audio.leave();
      if (ownerUrl !== beforeUrl) this.#link.disconnect();
      this.#link.look();
      return;
    }
    this.#own();
    // It may have been lost again meanwhile. Without Redis no owner is known, and the last one that was does not count.
    if (this.#owner !== asked) this.onOwner(this.#owner);
  }

  /** Where its own tape is played still: whether the other node's has come as far. */
  #lookCaughtUp(): void {
    if (this.#phase !== 'following' || !this.#playsOwn || this.#giving.isHandingOver) return;
    const { audio } = this.channel;
    const own = audio.tape;
    if (own !== undefined && audio.listeners > 0) {
      if (!this.#isThere) {
        this.#link.audio.want(true);
        return;
      }
      const there = this.#link.audio.tape!;
      if (canGoOn(there.name, this.#phases.names.nameOf(own), own.head) && there.head < own.head) return;
    }
    this.#leaveOwn();
  }

  /**
   * Whether all has come that the owner's tape had when it was asked for: listeners go on at its edge. What is left of a former owner's tape does not
   * count.
   */
  get #isThere(): boolean {
    const { tape, isAnswered } = this.#link.audio;
    return isAnswered && tape !== undefined && tape.head > tape.tail && tape.head >= tape.comesTo;
  }

  /** Its own tape is played no more. */
  #leaveOwn(): void {
    this.#playsOwn = false;
    this.#moved();
    this.channel.audio.leave();
  }

  /** Who plays it goes on in what is played now. */
  #moved(): void {
    const { key } = this.channel;
    this.#phases.onMoved(key);
    this.#giving.move();
  }
}
