/**
 * One channel's audio on a node: fed here, or taken from the node that feeds it, and handed over between nodes. Listeners are not interrupted, since
 * the tape is the same at all nodes: by its name, segment by segment.
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
import type { ChannelFacts } from '../../link/control-messages.js';
import type { HlsReceiver } from '../../link/hls/hls-receiver.js';
import { canGoOn, forkedAt } from '../../link/tapes/tape-names.js';
import { machineOf } from '../../link/wire/left-alone.js';
import { ALONE_MS, FeedingTime } from '../titles/feeding-time.js';
import { Claim } from './claim.js';
import type { Leased, LeaseOwner, Wish } from './leases.js';
import { OwnerLink } from './owner-link.js';
import { OwnerWatch } from './owner-watch.js';
import { RemoteFacts } from './remote-facts.js';
import { type TakeoverParts, takeOver } from './takeover.js';
import { type HlsOfNode, TapeGiving } from './tape-giving.js';
import type { TapeRequest } from './tape-server.js';

export interface SharedAudioParts extends TakeoverParts {
  readonly log: Log;
  /** The name of this node. */
  readonly node: string;
  /** Whether this node's sources may feed channels. */
  readonly mayFeed: boolean;
  /** Whether a channel is fed only while the lease is confirmed; requires that Redis answers faster than a lease expires. */
  readonly isFenced: boolean;
  /** Its tape continues in the audio that `elsewhere` returns. */
  onMoved(channel: string): void;
  /** The HLS of the channels. */
  readonly hls: HlsOfNode;
  /** Whether its tape came back from workers, as the former hub was lost: other nodes may have more of it. */
  isReturned(channel: string): boolean;
  /** The facts of a channel that another node feeds have changed. */
  onFacts(channel: string): void;
  /** It is fed here from now on, and the title in force is on its tape. */
  onOwned(channel: string): void;
  /** The wish for the lease has changed. */
  onDue(): void;
}

const NOBODY: LeaseOwner = { node: '', url: '', epoch: 0, beforeNode: '', beforeUrl: '', facts: '', askedMs: 0 };
/** A node that knows another owner, and is not asked for the tape within this time, stops feeding the channel. */
const YIELD_MS = 3000;
/** How long an owner named by another node overrides older answers of Redis. */
const PROVISIONAL_MS = 2000;
/** Grace period for an owner that refuses connections: it may be restarting. Longer than its lease (leases.ts, LASTS_MS and STALE_MS). */
const AWAY_MS = 6000;

/** How long the last segments of HLS are waited for when a tape was taken. */
const HLS_WHOLE_MS = 200;
/** How often it is looked whether the owner cuts HLS. */
const HLS_FOLLOW_MS = 5000;

const ALONE = 'this machine feeds the channel for its own listeners, until audio comes from the other one again';

/** Unknown yet; fed here; about to be fed here; taken from another node. */
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
  /** Its own tape is played until that of the other node has come as far. */
  #playsOwn = true;
  /** It is fed here without the lease, as the owner's tape is silent. */
  #isAlone = false;
  /** The node whose facts are in `remote`. */
  #factsOf = '';
  #yieldsAtMs = Number.POSITIVE_INFINITY;
  /** Until then the owner named by another node overrides older answers of Redis. */
  #provisionalUntilMs = Number.NEGATIVE_INFINITY;
  readonly #claim: Claim;
  readonly #feeding: FeedingTime;
  #isClosed = false;
  #followedMs = Number.NEGATIVE_INFINITY;

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
      hls: parts.hls,
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

  /** The owner whose tape is missing; '': none. */
  get lost(): string {
    return this.#watch.lost;
  }

  get phase(): SharedPhase {
    return this.#phase;
  }

  /** See HubLinksParts. */
  get elsewhere(): { readonly audio: PlayableAudio; readonly facts: ChannelFacts } | undefined {
    if (this.#phase === 'owning') return undefined;
    const { facts } = this.remote;
    // The audio of here is about to be heard.
    const hopeful = facts.hopeful || this.channel.switch.hopeful;
    const audio = this.#playsOwn ? this.channel.audio : this.#link.audio;
    return { audio, facts: hopeful === facts.hopeful ? facts : { ...facts, hopeful } };
  }

  /** From where its HLS is copied; undefined: it is cut here. */
  get hlsElsewhere(): HlsReceiver | undefined {
    return this.#phase === 'owning' ? undefined : this.#link.hls;
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
    // The answer is older than the handover.
    if (owner.epoch < before.epoch && this.#phases.clock.now() < this.#provisionalUntilMs) return;
    // Redis was emptied: nothing changes until the owner has asked again.
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

  /** This node has the lease now, and does not wait for the tape of the former owner. */
  #endAlone(): void {
    this.#isAlone = false;
    this.#link.found();
    this.#link.disconnect();
    this.#link.audio.want(false);
  }

  /** It has the lease, while this node still feeds the channel. */
  #onOther(): void {
    const nowMs = this.#phases.clock.now();
    if (nowMs > this.#feeding.untilMs(nowMs)) {
      // It was suspended: nothing was appended to its tape since it lost the lease.
      this.#stopFeeding();
      this.#lookCaughtUp();
    } else if (this.#yieldsAtMs === Number.POSITIVE_INFINITY) this.#yieldsAtMs = nowMs + YIELD_MS;
  }

  /** Called a few times a second. @param isReached whether Redis is reached */
  tick(nowMs: number, isReached: boolean): void {
    if (this.#feeding.tick(nowMs, isReached)) this.#phases.onDue();
    if (this.#phase === 'waiting' && !isReached) this.#own();
    if (this.#phase === 'owning') {
      this.#feed();
      if (this.#claim.lookAwaited()) this.#phases.onDue();
    }
    // The owner did not ask for the tape, so only this node has its latest part: it is played until the owner's tape arrives.
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
    // With a source here the tape is taken in advance, for the loss of the owner, and its HLS.
    if (this.#claim.hasSource) {
      this.#link.audio.want(true);
      this.#followHls(nowMs);
    }
    const aloneMs = !isReached || this.#link.isSilent ? ALONE_MS : AWAY_MS;
    if (this.#claim.hasSource && nowMs - this.#link.lostSinceMs > aloneMs) void this.#takeAlone();
    else this.#link.look();
  }

  get #ownerElsewhere(): string {
    const { node } = this.#owner;
    return node === this.#phases.node ? '' : node;
  }

  #followHls(nowMs: number): void {
    if (nowMs - this.#followedMs < HLS_FOLLOW_MS) return;
    this.#followedMs = nowMs;
    this.#phases.hls.followHls(this.channel.key);
  }

  #beAlone(): void {
    this.#isAlone = true;
    this.#yieldsAtMs = Number.POSITIVE_INFINITY;
    this.#link.audio.want(true);
    this.#feeding.onMine(this.#phases.clock.now(), this.#phases.clock.now());
  }

  /** The owner's tape has arrived, or no source is on air here. */
  #stopAlone(): void {
    this.#stopFeeding();
    this.#lookCaughtUp();
  }

  /** The owner's tape is silent, and a source is on air here: it continues the part that has arrived. Never rejects. */
  async #takeAlone(): Promise<void> {
    this.#phase = 'taking';
    await takeOver(this.channel.audio, this.#link.audio, null, this.#phases);
    if (this.#isClosed) return;
    this.#beAlone();
    this.#own();
    if (this.#owner.node === this.#phases.node) this.onOwner(this.#owner);
  }

  /** Its sources feed the channel a moment longer. */
  #feed(): void {
    this.channel.audio.feedUntil(this.#feeding.untilMs(this.#phases.clock.now()));
  }

  /** Another node asks for the tape. False: it is not available here. */
  serve({ purpose, epoch, node, url }: TapeRequest, stream: Duplex): boolean {
    const peer = machineOf(node, stream);
    if (purpose === 'listen') return this.#phase === 'owning' && this.#giving.listen(stream, peer);
    if (purpose === 'offer') return this.#giving.offer(stream, peer);
    if (this.#phase !== 'owning' || epoch < this.#owner.epoch) return false;
    // Its listeners continue with the tape of the other node.
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
    // The facts of the other node are older than the audio that was fed here.
    if (this.#factsOf !== this.#owner.node) this.remote.keep(this.channel);
    this.channel.setElsewhere(this.remote.live);
    // Its delay line is dropped, too.
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

  /** Whether another node had the lease while it was fed here, as neither that node nor Redis could be reached. */
  #wasAnothers({ epoch, beforeNode, beforeUrl }: LeaseOwner, before: LeaseOwner): boolean {
    return epoch !== before.epoch && beforeNode !== this.#phases.node && beforeUrl !== '';
  }

  /** The tape of the node that had the lease counts: here another one was fed meanwhile. */
  #takeAgain(): void {
    this.#stopFeeding();
    this.channel.keepComing();
    void this.#take(true);
  }

  /** Continues the tape here. Never rejects. @param isThere whether to wait for the former owner, though its tape is silent here */
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
    // What the former owner has cut goes another way than its tape.
    if (!isLost && this.#link.hls.isWanted) await this.#hlsIsWhole();
    if (this.#isClosed) return;
    const { node, url: ownerUrl } = this.#owner;
    const isAnothers = this.#owner !== asked && node !== '' && node !== this.#phases.node;
    if (isAnothers && !this.#playsOwn) {
      // Another node is the owner by now, and no listener here plays the part that was taken: follow as before.
      this.#phase = 'following';
      this.channel.audio.leave();
      if (ownerUrl !== beforeUrl) this.#link.disconnect();
      this.#link.look();
      return;
    }
    this.#own();
    // The lease may be lost again meanwhile. Without Redis the last known owner does not count.
    if (this.#owner !== asked) this.onOwner(this.#owner);
  }

  #hlsIsWhole(): Promise<void> {
    const { clock } = this.#phases;
    return new Promise((resolve) => {
      const alarm = clock.alarm(clock.now() + HLS_WHOLE_MS, { onAlarm: () => resolve() });
      void this.#link.hls.whole().then(() => {
        alarm.cancel();
        resolve();
      });
    });
  }

  /** While its own tape is played: whether that of the other node has come as far. */
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
   * Whether the part of the owner's tape that existed when it was asked for has arrived, as listeners continue at its edge. The rest of a former
   * owner's tape does not count.
   */
  get #isThere(): boolean {
    const { tape, isAnswered } = this.#link.audio;
    return isAnswered && tape !== undefined && tape.head > tape.tail && tape.head >= tape.comesTo;
  }

  /** Its own tape is not played any more. */
  #leaveOwn(): void {
    this.#playsOwn = false;
    this.#moved();
    this.channel.audio.leave();
  }

  /** Its readers continue in the audio that is played now. */
  #moved(): void {
    const { key } = this.channel;
    this.#phases.onMoved(key);
    this.#giving.move();
  }
}
