/**
 * The audio of all channels on a node: asks for leases, serves tapes to the other nodes, takes theirs (shared-audio.ts). Owned by the hub
 * (app/hub/linked-hub.ts).
 */

import type { Duplex } from 'node:stream';
import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { Channel } from '../../channel/channel.js';
import type { ChannelFacts } from '../../channel/channel-facts-schema.js';
import type { HubTallies } from '../../link/facts/hub-tallies.js';
import type { HlsReceiver } from '../../link/hls/hls-receiver.js';
import type { SessionRegistry } from '../../link/sessions/session-registry.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import { machineOf } from '../../link/wire/left-alone.js';
import { ClusterCounts } from '../cluster-counts.js';
import { serveLog } from '../log/remote-log.js';
import { SessionBridges } from '../session-bridges.js';
import { type ChannelSettings, ClusterSettings, type Difference } from '../titles/channel-settings.js';
import type { ClusterEngine } from '../titles/cluster-engine.js';
import type { FeedingPhase } from './feeding.js';
import { type Leased, type LeaseOwner, Leases } from './leases.js';
import { OtherMachines } from './other-machines.js';
import { SharedAudio } from './shared-audio.js';
import { askForSessions, askForTape, prepareToAsk, type TapeClientOptions } from './tape-client.js';
import type { HlsOfNode } from './tape-giving.js';
import { TapeServer } from './tape-server.js';

export interface SharedTapesOptions {
  readonly node: string;
  readonly mayFeed: boolean;
  /** Time-out of an answer of Redis, milliseconds. */
  readonly answerMs: number;
  readonly host: string;
  readonly port: number;
  /** The URL for other nodes; undefined: host and port. */
  readonly advertise: string | undefined;
  readonly secret: Buffer;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly ca: Buffer | undefined;
  /** See TapeClientOptions. */
  mayAsk(url: string): boolean;
}

export interface SharedTapesParts {
  readonly options: SharedTapesOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: ClusterEngine;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly names: TapeNames;
  /** Sessions of the workers here. */
  readonly sessions: SessionRegistry;
  readonly counted: HubTallies;
  /** See SharedAudioParts. */
  readonly hls: HlsOfNode;
  isReturned(channel: string): boolean;
  onMoved(channel: string): void;
  onFacts(channel: string): void;
  onOwned(channel: string): void;
  moreLeases?(): Iterable<readonly [name: string, leased: Leased]>;
  /** The configured settings of the channels. */
  settings(): Iterable<readonly [channel: string, settings: ChannelSettings]>;
  /** Another machine has different settings for a channel. Called once per difference. */
  onDiffers(difference: Difference): void;
  /** Maximum length of the part of a tape that is kept. */
  maxLagMs?(): number;
  /** Another machine uses the same name. */
  onNameTaken(): void;
  /** See ClusterEngineParts. */
  onBad(place: string, reason: string): void;
  onError(error: unknown): void;
}

const TICK_MS = 100;
/** A loss of Redis is noticed well before a lease expires (leases.ts, KNOWN_MS). */
const MAX_ANSWER_MS = 3000;
/** Interval at which the numbers of listeners are sent, in ticks. */
const SAY_TICKS = 2;

export class SharedTapes {
  readonly #parts: SharedTapesParts;
  readonly #audios = new Map<string, SharedAudio>();
  readonly #server: TapeServer;
  readonly #bridges: SessionBridges;
  readonly #settings: ClusterSettings;
  readonly #machines: OtherMachines;
  #leases: Leases | null = null;
  #url = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: SharedTapesParts) {
    this.#parts = parts;
    const { options, clock, engine } = parts;
    const { host, port, tls, secret, node } = options;
    const onError = (error: unknown) => this.#onError(error);
    this.#server = new TapeServer({
      host,
      port,
      tls,
      secret,
      onError,
      isLeftAlone: (node, stream) => this.#machines.isLeftAlone(node, stream),
      isOwnHost: (host) => this.#url !== '' && host === new URL(this.#url).host,
      onTape: (request, stream) => this.#audios.get(request.channel)?.serve(request, stream) ?? false,
      // Without the cluster time it is unknown which of two sessions is newer.
      onSessions: (node, stream) => void (engine.time.isKnown ? this.#bridges.take(node, stream) : stream.destroy()),
      onLog: (stream, node) => void serveLog(stream, engine.open, clock, onError, machineOf(node, stream)),
    });
    this.#machines = new OtherMachines({
      clock,
      engine,
      node,
      onSeen: (others, nodes) => this.#bridges.look(others, nodes),
      onError: parts.onError,
    });
    this.#settings = new ClusterSettings({
      channels: () => parts.settings(),
      onDiffers: (difference) => parts.onDiffers(difference),
    });
    this.#bridges = new SessionBridges({
      registry: parts.sessions,
      node,
      clock,
      onError,
      counts: new ClusterCounts({ counted: parts.counted, channels: () => parts.channels.keys() }),
      settings: this.#settings,
      has: (channel) => parts.channels.has(channel),
      ask: (machine) => this.#machines.ask(machine, () => askForSessions(machine.url, this.#client)),
    });
    this.refresh();
  }

  /** Resolves when the owners are known, or cannot be read now. Rejects if the port is not available. */
  async start(): Promise<void> {
    const { options, engine, onError, clock } = this.#parts;
    await prepareToAsk();
    const port = await this.#server.listen();
    const scheme = options.tls === undefined ? 'http' : 'https';
    const host = options.host.includes(':') ? `[${options.host}]` : options.host;
    this.#url = options.advertise ?? `${scheme}://${host}:${port}`;
    this.#leases = new Leases({
      node: options.node,
      url: this.#url,
      onError,
      ask: (asked) => engine.lease(asked),
      channels: () => [...this.#audios, ...(this.#parts.moreLeases?.() ?? [])],
      onNameTaken: () => this.#parts.onNameTaken(),
      onBad: this.#parts.onBad,
    });
    await this.#leases.start();
    let turn = 0;
    const tick = () => {
      for (const audio of this.#audios.values()) audio.tick(clock.now(), engine.isReached);
      if (turn++ % SAY_TICKS === 0) this.#bridges.say();
    };
    tick();
    this.#timer = setInterval(tick, TICK_MS);
    await this.#machines.start();
  }

  /** A reload has changed the channels. */
  refresh(): void {
    const { channels } = this.#parts;
    this.#settings.refresh();
    for (const [key, audio] of this.#audios) {
      if (channels.get(key) === audio.channel) continue;
      audio.close();
      this.#audios.delete(key);
    }
    for (const [key, channel] of channels) if (!this.#audios.has(key)) this.#audios.set(key, this.#make(channel));
    this.#leases?.poke();
  }

  /** A source has connected or ended, or another machine feeds a channel: asks at once, so that the best one is on air. */
  poke(): void {
    this.#leases?.poke();
  }

  /** Whether this node feeds the channel. */
  isOwning(channel: string): boolean {
    return this.#audios.get(channel)?.isOwning ?? false;
  }

  remoteAudio(channel: string): { readonly audio: PlayableAudio; readonly facts: ChannelFacts } | undefined {
    return this.#audios.get(channel)?.remoteAudio;
  }

  /** See SharedAudio. */
  remoteHls(channel: string): HlsReceiver | undefined {
    return this.#audios.get(channel)?.remoteHls;
  }

  /** See SharedAudio. */
  lostOwner(channel: string): string {
    return this.#audios.get(channel)?.lost ?? '';
  }

  /** The owner of each channel, for reports. */
  get owners(): readonly {
    readonly channel: string;
    readonly node: string;
    readonly epoch: number;
    readonly phase: FeedingPhase;
  }[] {
    return [...this.#audios].map(([channel, { owner, phase }]) => ({ ...ownerOf(owner), channel, phase }));
  }

  /** The nodes that share audio, as of about a second ago, with the time of their last question, unix milliseconds of the cluster time. */
  get nodes(): ReadonlyMap<string, { readonly seenMs: number }> {
    return this.#machines.nodes;
  }

  /** Settings that differ at other machines, for reports. */
  get differences(): readonly Difference[] {
    return this.#settings.differences;
  }

  /** The next process of this node takes over: its leases are kept. */
  async handOver(): Promise<void> {
    await this.#leases?.hold();
    this.#end();
  }

  #end(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#machines.close();
    for (const audio of this.#audios.values()) audio.close();
    this.#bridges.close();
    this.#server.close();
  }

  /** Gives up all leases. Idempotent; never rejects. */
  async close(): Promise<void> {
    await this.#leases?.close();
    this.#end();
  }

  /** This node as others know it. */
  get #client(): TapeClientOptions {
    const { secret, node, ca, mayAsk } = this.#parts.options;
    return { secret, node, url: this.#url, ca, mayAsk };
  }

  /** After a bad message on any kind of link the machine that sent it is left alone for a while. */
  #onError(error: unknown): void {
    this.#machines.note(error);
    this.#parts.onError(error);
  }

  #make(channel: Channel): SharedAudio {
    const { options, clock, log, names, hls, isReturned, onMoved, onFacts, onOwned, maxLagMs } = this.#parts;
    const onError = (error: unknown) => this.#onError(error);
    const { node, mayFeed, answerMs } = options;
    return new SharedAudio(channel, {
      clock,
      log,
      node,
      names,
      mayFeed,
      hls,
      isReturned,
      onMoved,
      onFacts,
      onOwned,
      onError,
      ...(maxLagMs && { maxLagMs }),
      ask: (machine, key, purpose, epoch): Promise<Duplex> =>
        this.#machines.ask(machine, () => askForTape(machine.url, key, purpose, this.#client, epoch)),
      others: async () => this.#bridges.mostLikely(await this.#machines.present()),
      isFenced: answerMs <= MAX_ANSWER_MS,
      onDue: () => this.#leases?.poke(),
    });
  }
}

function ownerOf({ node, epoch }: LeaseOwner) {
  return { node, epoch };
}
