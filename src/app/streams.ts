/** Where listeners come in: admission with its hook, their streams, playlists and statistics. */

import type { FastifyInstance } from 'fastify';
import { Counts } from '../base/counts.js';
import type { Mount } from '../channel/mount.js';
import type { HttpService } from '../http/service.js';
import { ListenerAcceptor } from '../http/stream/accept.js';
import { Admission } from '../http/stream/admission.js';
import { ListenerHook } from '../http/stream/hook.js';
import { MountService } from '../http/stream/mount-service.js';
import type { MountStatus } from '../http/stream/mount-status.js';
import { registerPlaylists } from '../http/stream/playlists.js';
import { PublicUrl } from '../http/stream/public-url.js';
import { registerStatus } from '../http/stream/status.js';
import { Stream } from '../http/stream/stream.js';
import type { Audience } from '../listener/audience.js';
import type { ListenerStats } from '../listener/listener-stats.js';
import type { Sessions } from '../listener/sessions.js';
import { type Core, headLimits } from './core.js';
import type { Guards } from './guards.js';

/** No process has as many listeners. */
const CLIENTS_OF_PROCESS = 1_000_000_000;

export interface ListenerParts {
  readonly audience: Audience;
  readonly sessions: Sessions;
  readonly listenerStats: ListenerStats;
}

export class Streams {
  readonly listeners: ListenerAcceptor;
  readonly services: readonly HttpService[];
  /** What became of questions to the listener hook. */
  readonly hookVerdicts = new Counts();
  readonly #core: Core;
  readonly #guards: Guards;
  readonly #stream: Stream;
  /** Null: there is none. */
  readonly #hook: ListenerHook | null;

  constructor(core: Core, guards: Guards, mounts: ReadonlyMap<string, Mount>, parts: ListenerParts) {
    const { config, clock, log, tallies } = core;
    const { audience, sessions, listenerStats } = parts;
    const { burstSeconds, startTimeoutSeconds, showsOnReading } = config.streams;
    const { proxies, connections } = guards;
    this.#core = core;
    this.#guards = guards;
    this.#hook = this.#makeHook();
    const admission = new Admission(audience, clock, this.#hook, {
      listeners: config.limits.listeners,
      listenersPerAddress: config.limits.listenersPerAddress ?? Number.POSITIVE_INFINITY,
      keys: config.signedUrls?.keys ?? [],
      retrySeconds: Math.ceil(config.listenerHook?.breakSeconds ?? 1),
      tallies,
    });
    this.#stream = new Stream(audience, sessions, listenerStats, admission, clock, {
      burstMs: burstSeconds * 1000,
      startTimeoutMs: startTimeoutSeconds * 1000,
      showsOnReading,
      log,
      onError: core.onError,
    });
    const limits = headLimits(config, config.limits.httpHeadBytes);
    this.listeners = new ListenerAcceptor(mounts, this.#stream, proxies, connections, limits);
    this.services = [new MountService(mounts, this.#stream, proxies)];
  }

  /** Playlists and statistics. @param channels each as they report it */
  register(app: FastifyInstance, channels: readonly MountStatus[]): void {
    const { config, clock } = this.#core;
    const publicUrl = new PublicUrl(config.streams.publicUrl, this.#guards.proxies);
    registerPlaylists(app, channels, publicUrl);
    registerStatus(app, { channels, publicUrl, clock, server: config.streams.server, startedMs: clock.wallMs() });
  }

  /** Takes no more listeners; those that wait for audio or for the hook are sent away. */
  close(): void {
    this.#stream.close();
    this.#hook?.close();
    this.listeners.close();
  }

  /** Resolves when the listener hook knows who has gone. */
  async settled(): Promise<void> {
    await this.#hook?.settled();
  }

  #makeHook(): ListenerHook | null {
    const { config, clock, log, tallies, process } = this.#core;
    const { listenerHook } = config;
    if (listenerHook === undefined) return null;
    const { whenDown } = listenerHook;
    return new ListenerHook(clock, {
      ...listenerHook,
      timeoutMs: listenerHook.timeoutSeconds * 1000,
      cacheMs: listenerHook.cacheSeconds * 1000,
      breakMs: listenerHook.breakSeconds * 1000,
      firstClient: process * CLIENTS_OF_PROCESS,
      tallies,
      onVerdict: (verdict) => this.hookVerdicts.add(verdict),
      onTroubleChanged: (trouble) => {
        // Never with its URL, which may hold a secret.
        if (trouble === null) log.info('the listener hook answers again');
        else log.error({ trouble, whenDown }, 'the listener hook does not answer: it is left alone for a while');
      },
    });
  }
}
