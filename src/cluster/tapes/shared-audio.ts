/**
 * One channel's audio on a node, as its listeners, the leases and the other nodes see it: fed here (feeding.ts), or taken from the node that feeds it
 * (owner-link.ts). Listeners are not interrupted when that changes, since the tape is the same on every node: by its name, segment by segment.
 *
 * Owned by shared-tapes.ts.
 */

import type { Duplex } from 'node:stream';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Channel } from '../../channel/channel.js';
import type { ChannelFacts } from '../../channel/channel-facts-schema.js';
import type { HlsReceiver } from '../../link/hls/hls-receiver.js';
import { machineOf } from '../../link/wire/left-alone.js';
import { Feeding, type FeedingParts, type FeedingPhase } from './feeding.js';
import { ALONE_MS } from './feeding-time.js';
import { LeaseClaim } from './lease-claim.js';
import type { Leased, LeaseOwner, Wish } from './leases.js';
import { OwnerLink } from './owner-link.js';
import { OwnerWatch } from './owner-watch.js';
import { PlayedAudio } from './played-audio.js';
import { RemoteFacts } from './remote-facts.js';
import { type HlsOfNode, TapeGiving } from './tape-giving.js';
import type { TapeRequest } from './tape-server.js';

export interface SharedAudioParts extends FeedingParts {
  /** Whether this node's sources may feed channels. */
  readonly mayFeed: boolean;
  /** The HLS of the channels. */
  readonly hls: HlsOfNode;
  /** Its tape continues in the audio that `elsewhere` returns. */
  onMoved(channel: string): void;
}

/** Grace period for an owner that refuses connections: it may be restarting. Longer than its lease (leases.ts, LASTS_MS and STALE_MS). */
const AWAY_MS = 6000;
/** Interval at which this node checks whether the owner cuts HLS. */
const HLS_FOLLOW_MS = 5000;

export class SharedAudio implements Leased {
  readonly channel: Channel;
  readonly remote: RemoteFacts;
  readonly #parts: SharedAudioParts;
  readonly #link: OwnerLink;
  readonly #watch: OwnerWatch;
  readonly #giving: TapeGiving;
  readonly #played: PlayedAudio;
  readonly #claim: LeaseClaim;
  readonly #feeding: Feeding;
  #followedMs = Number.NEGATIVE_INFINITY;

  constructor(channel: Channel, parts: SharedAudioParts) {
    this.channel = channel;
    this.#parts = parts;
    const { clock, log, names, mayFeed, hls, maxLagMs, ask, onMoved, onFacts, onDue, onError } = parts;
    const remote = new RemoteFacts(clock);
    this.remote = remote;
    const link = new OwnerLink({
      channel: channel.key,
      clock,
      onError,
      onLost: onDue,
      ...(maxLagMs && { maxLagMs }),
      owner: () => (this.#remoteOwner === '' || this.owner.url === '' ? null : this.owner),
      ask: (owner) => ask(owner, channel.key, 'listen'),
    });
    this.#link = link;
    link.audio.observe({
      onGrown: () => {
        this.#claim.onGrown();
        this.#played.lookCaughtUp();
      },
      onTape: () => this.#played.lookCaughtUp(),
      onLate: () => undefined,
      onFence: () => this.#played.lookCaughtUp(),
    });
    this.#claim = new LeaseClaim(channel, {
      clock,
      mayFeed,
      link,
      remote,
      isFollowing: () => this.#feeding.isRemote,
    });
    this.#watch = new OwnerWatch({ channel: channel.key, log, link, remote, onFacts });
    this.#giving = new TapeGiving(channel.key, { clock, names, hls, onError, audio: () => this.#played.now });
    this.#played = new PlayedAudio(channel, {
      names,
      link,
      giving: this.#giving,
      isFollowing: () => this.phase === 'following',
      onMoved,
    });
    this.#feeding = new Feeding({ channel, played: this.#played, link, remote, claim: this.#claim }, parts);
    channel.setRemote(remote.live);
  }

  get phase(): FeedingPhase {
    return this.#feeding.phase;
  }

  get isOwning(): boolean {
    return this.phase === 'owning';
  }

  get owner(): LeaseOwner {
    return this.#feeding.owner;
  }

  /** The other node that feeds the channel, by what is known; '': none, or its tape is not needed. */
  get #remoteOwner(): string {
    const { node } = this.owner;
    return !this.#feeding.isRemote || node === this.#parts.node ? '' : node;
  }

  /** The owner whose tape is missing; '': none. */
  get lost(): string {
    return this.#watch.lost;
  }

  /** See HubLinksParts. */
  get remoteAudio(): { readonly audio: PlayableAudio; readonly facts: ChannelFacts } | undefined {
    if (this.isOwning) return undefined;
    const { facts } = this.remote;
    // Audio of this node is about to be played.
    const hopeful = facts.hopeful || this.channel.switch.hopeful;
    return { audio: this.#played.now, facts: hopeful === facts.hopeful ? facts : { ...facts, hopeful } };
  }

  /** The HLS that is copied from the owner; undefined: it is cut here. */
  get remoteHls(): HlsReceiver | undefined {
    return this.isOwning ? undefined : this.#link.hls;
  }

  get wish(): Wish {
    return this.#claim.wish;
  }

  get rank(): number {
    return this.#claim.rank;
  }

  get facts(): string {
    const isTaking = this.phase === 'taking';
    if (this.#feeding.isAlone) return '';
    return isTaking || this.isOwning ? this.remote.take(this.channel, isTaking) : '';
  }

  onUnsaid(): void {
    this.remote.forgetSaid();
  }

  /** @throws CheckError if the facts are malformed */
  onOwner(owner: LeaseOwner): void {
    this.#feeding.onOwner(owner);
  }

  /** Called a few times a second. @param isReached whether Redis is reached */
  tick(nowMs: number, isReached: boolean): void {
    this.#feeding.tick(nowMs, isReached);
    this.#watch.look(nowMs, this.#remoteOwner);
    if (this.#feeding.isAlone) this.#lookWhileAlone();
    if (this.phase === 'following') this.#follow(nowMs, isReached);
  }

  #lookWhileAlone(): void {
    if (!this.#link.isThere && this.#claim.hasSource) this.#link.look();
    else {
      // The owner's tape has arrived, or no source is on air here.
      this.#feeding.stopFeeding();
      this.#played.lookCaughtUp();
    }
  }

  #follow(nowMs: number, isReached: boolean): void {
    const { wish } = this;
    if (wish > 1) this.channel.keepComing();
    else this.channel.passComing(this.#claim.grownMs);
    if (wish === 3) this.#parts.onDue();
    this.#played.lookCaughtUp();
    if (!this.#claim.hasSource) {
      this.#link.look();
      return;
    }
    // The tape and its HLS are taken in advance, in case the owner is lost.
    this.#link.audio.want(true);
    this.#followHls(nowMs);
    const aloneMs = !isReached || this.#link.isSilent ? ALONE_MS : AWAY_MS;
    if (nowMs - this.#link.lostSinceMs > aloneMs) void this.#feeding.takeAlone();
    else this.#link.look();
  }

  #followHls(nowMs: number): void {
    if (nowMs - this.#followedMs < HLS_FOLLOW_MS) return;
    this.#followedMs = nowMs;
    this.#parts.hls.followHls(this.channel.key);
  }

  /** Another node asks for the tape. False: it is not available here. */
  serve(request: TapeRequest, stream: Duplex): boolean {
    const { purpose, node } = request;
    const peer = machineOf(node, stream);
    if (purpose === 'listen') return this.isOwning && this.#giving.listen(stream, peer);
    if (purpose === 'offer') return this.#giving.offer(stream, peer);
    if (!this.#feeding.yieldTo(request)) return false;
    const { audio } = this.channel;
    if (!this.#giving.handOver(audio, stream, peer, () => this.#played.lookCaughtUp())) return false;
    if (audio.listeners > 0) this.#link.audio.want(true);
    return true;
  }

  close(): void {
    this.#feeding.close();
    this.#link.close();
  }
}
