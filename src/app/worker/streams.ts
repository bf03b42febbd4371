/** Listeners: admission with its hook, their streams, playlists and statistics. */

import type { FastifyInstance } from 'fastify';
import { Counts } from '../../base/counts.js';
import { withGetters } from '../../base/getters.js';
import type { Mount } from '../../channel/mount.js';
import type { HlsChannels } from '../../hls/hls-channels.js';
import { ListenerHook } from '../../http/hook/hook.js';
import type { HttpService } from '../../http/http-service.js';
import { InFlight } from '../../http/in-flight.js';
import { Admission } from '../../http/stream/admission.js';
import { Fallbacks } from '../../http/stream/fallbacks.js';
import { HlsPrivate } from '../../http/stream/hls-private.js';
import { HlsService } from '../../http/stream/hls-routes.js';
import { ListenUrls } from '../../http/stream/listen-urls.js';
import { ListenerAcceptor } from '../../http/stream/listener-acceptor.js';
import { MountService } from '../../http/stream/mount-service.js';
import { registerPlaylists } from '../../http/stream/playlists.js';
import { PublicUrl } from '../../http/stream/public-url.js';
import { registerStations } from '../../http/stream/stations-list.js';
import { registerStatus } from '../../http/stream/status-routes.js';
import { Stream } from '../../http/stream/stream.js';
import { registerStreamInfo } from '../../http/stream/stream-info-file.js';
import { type WaitingLimits, WaitingRequests } from '../../http/waiting-requests.js';
import { sharedMs } from '../../link/facts/shared-time.js';
import type { Audience } from '../../listener/cursor/audience.js';
import type { HlsCrowd } from '../../listener/hls/hls-crowd.js';
import { HlsListeners } from '../../listener/hls/hls-listeners.js';
import type { ListenerStats } from '../../listener/listener-stats.js';
import type { Sessions } from '../../listener/sessions/sessions.js';
import type { SharedPlayers } from '../../listener/sessions/shared-players.js';
import { type Core, headLimits } from '../core.js';
import type { Guards } from './guards.js';
import type { MountStatuses } from './mount-statuses.js';

/** No process has as many listeners. */
const CLIENTS_OF_PROCESS = 1_000_000_000;

export interface ListenerParts {
  readonly audience: Audience;
  readonly sessions: Sessions;
  readonly listenerStats: ListenerStats;
  readonly hls: HlsChannels;
  /** Private listeners of HLS in all processes; null: there are no others. */
  readonly players: SharedPlayers | null;
  readonly hlsCrowd: HlsCrowd;
  /** As in HlsPrivateParts. */
  tokenKey(): Buffer | null;
}

export class Streams {
  readonly listeners: ListenerAcceptor;
  readonly services: readonly HttpService[];
  readonly hls: HlsChannels;
  /** Listeners of HLS: private ones, and those that are only counted. */
  readonly hlsListeners: HlsListeners;
  readonly #hlsCrowd: HlsCrowd;
  /** As operators have set them. */
  readonly fallbacks: Fallbacks;
  /** What became of questions to the listener hook. */
  readonly hookVerdicts = new Counts();
  readonly #core: Core;
  readonly #stream: Stream;
  /** Requests for HLS: for a first segment, and with a token that is not known yet. */
  readonly #waiting: WaitingRequests;
  readonly #unknown: WaitingRequests;
  readonly hlsService: HlsService;
  readonly publicUrl: PublicUrl;
  /** Null: there is none. */
  #hook: ListenerHook | null = null;
  /** Before reloads, while some that they let in are there. */
  #former: ListenerHook[] = [];
  /** The last number of a listener at a hook: none is given twice. */
  #clients: number;

  constructor(core: Core, guards: Guards, mounts: ReadonlyMap<string, Mount>, parts: ListenerParts) {
    const { config, clock, log, tallies } = core;
    const { audience, sessions, listenerStats } = parts;
    const { proxies, connections } = guards;
    this.#core = core;
    this.#clients = core.process * CLIENTS_OF_PROCESS;
    this.#hook = this.#makeHook();
    this.fallbacks = new Fallbacks(mounts);
    const { fallbacks } = this;
    const admission = new Admission(audience, clock, () => this.#hook, {
      get listeners() {
        return config.limits.listeners;
      },
      get listenersPerAddress() {
        return config.limits.listenersPerAddress;
      },
      connectionsFrom: (address) => connections.maxFrom(address),
      get keys() {
        return config.signedUrls?.keys ?? [];
      },
      get retrySeconds() {
        return Math.ceil(config.listenerHook?.breakSeconds ?? 1);
      },
      isBlocked: (address) => guards.blocks.has(address),
      tallies,
    });
    this.#stream = new Stream(audience, sessions, listenerStats, admission, clock, {
      get burstMs() {
        return config.streams.burstSeconds * 1000;
      },
      get startTimeoutMs() {
        return config.streams.startTimeoutSeconds * 1000;
      },
      get showsOnReading() {
        return config.streams.showsOnReading;
      },
      get endsOnFormatChange() {
        return config.streams.endsOnFormatChange;
      },
      mounts,
      fallbacks,
      log,
      onError: core.onError,
    });
    const limits = headLimits(config, () => config.limits.httpHeadBytes);
    const urls = new ListenUrls(mounts, () => config.shoutcastListenUrls);
    this.listeners = new ListenerAcceptor(urls, this.#stream, proxies, connections, limits);
    this.publicUrl = new PublicUrl(() => config.streams.publicUrl, proxies);
    this.hls = parts.hls;
    const waitingLimits = this.#waitingLimits(guards);
    this.#waiting = new WaitingRequests(clock, waitingLimits);
    this.#unknown = new WaitingRequests(clock, waitingLimits);
    this.#hlsCrowd = parts.hlsCrowd;
    this.hlsListeners = new HlsListeners({
      ...parts,
      clock,
      log,
      stats: listenerStats,
      channels: this.hls,
      sharedMs: () => sharedMs(clock, clock.now()),
    });
    this.hlsService = this.#makeHlsService(guards, mounts, admission, parts);
    this.services = [new MountService(urls, this.#stream, proxies), this.hlsService];
  }

  /** Once a second. */
  tidy(nowMs: number): void {
    this.hls.tidy(nowMs);
    this.hlsListeners.tidy(nowMs);
    this.#hlsCrowd.tidy(nowMs);
  }

  /** Playlists and statistics. @param channels each as they report it */
  register(app: FastifyInstance, statuses: MountStatuses): void {
    const { config, clock } = this.#core;
    const publicUrl = this.publicUrl;
    registerPlaylists(app, statuses, publicUrl);
    registerStreamInfo(app, statuses);
    registerStations(app, { statuses, publicUrl, clock });
    registerStatus(app, {
      get channels() {
        return statuses.channels;
      },
      get server() {
        return config.streams.server;
      },
      publicUrl,
      clock,
      startedMs: clock.wallMs(),
    });
  }

  /** The hook was added, replaced or removed. The former one answers pending requests, and is notified of the end of listeners that it admitted. */
  refreshHook(): void {
    if (this.#hook !== null) {
      this.#former.push(this.#hook);
      this.#clients = this.#hook.clients;
    }
    this.#former = this.#former.filter((hook) => !hook.isOver);
    this.#hook = this.#makeHook();
  }

  /** Accepts no more listeners; those that wait for audio or for the hook are refused. */
  close(): void {
    this.#stream.close();
    this.#waiting.close();
    this.#unknown.close();
    this.hlsListeners.endAll('shutdown');
    void this.hls.close();
    for (const hook of [...this.#former, this.#hook]) hook?.close();
    this.listeners.close();
  }

  /** Resolves when the listener hook was notified of all ends. */
  async settled(): Promise<void> {
    await Promise.all([...this.#former, this.#hook].map((hook) => hook?.settled()));
  }

  #waitingLimits({ proxies, isShared }: Guards): WaitingLimits {
    const { limits } = this.#core.config;
    return {
      most: () => limits.hlsWaiting,
      maxFrom: (address) => (isShared(address) ? Number.POSITIVE_INFINITY : limits.hlsWaitingPerAddress),
      addressOf: (request) => proxies.ofRequest(request),
    };
  }

  #makeHlsService(
    { proxies }: Guards,
    mounts: ReadonlyMap<string, Mount>,
    admission: Admission,
    { players, hlsCrowd, tokenKey }: ListenerParts,
  ): HlsService {
    const { config, log, onError, tallies } = this.#core;
    const [waiting, unknown] = [this.#waiting, this.#unknown];
    const listeners = this.hlsListeners;
    return new HlsService({
      mounts,
      channels: this.hls,
      publicUrl: this.publicUrl,
      privates: new HlsPrivate({ admission, listeners, players, proxies, waiting, unknown, tokenKey, log }),
      crowd: hlsCrowd,
      proxies,
      waiting,
      inFlight: new InFlight(
        withGetters({
          bytes: () => config.limits.rewindBytesInFlight,
          bytesPerAddress: () => config.limits.rewindBytesInFlightPerAddress,
        }),
        tallies,
        'rewind bytes',
      ),
      onError,
    });
  }

  #makeHook(): ListenerHook | null {
    const { config, clock, log, tallies } = this.#core;
    const { listenerHook } = config;
    if (listenerHook === undefined) return null;
    const { whenDown } = listenerHook;
    return new ListenerHook(clock, {
      ...listenerHook,
      timeoutMs: listenerHook.timeoutSeconds * 1000,
      cacheMs: listenerHook.cacheSeconds * 1000,
      breakMs: listenerHook.breakSeconds * 1000,
      firstClient: this.#clients,
      tallies,
      onVerdict: (verdict) => this.hookVerdicts.add(verdict),
      onTroubleChanged: (trouble) => {
        // Never with its URL, which may hold a secret.
        if (trouble === null) log.info('the listener hook answers again');
        else log.error({ trouble, whenDown }, 'the listener hook does not answer: not asking it for a while');
      },
    });
  }
}
