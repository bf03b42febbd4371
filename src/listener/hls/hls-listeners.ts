/**
 * The private listeners of HLS in this process, by their tokens. One lives as long as its playlist is requested, here or in another process; it is
 * counted as listeners of streams are, and ends as they do.
 *
 *   admitted ─ open ─► request, request … ─► none for 3 × TARGETDURATION + 5 s: left; an operator, a limit, the end of the server
 *
 * Made by app/worker/worker.ts.
 */

import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import type { HlsChannels } from '../../hls/hls-channels.js';
import type { HlsSource } from '../../hls/hls-feed.js';
import type { Audience } from '../cursor/audience.js';
import type { Ending } from '../cursor/ending.js';
import type { ListenerClient } from '../cursor/listener-start.js';
import type { ListenerRequest, ListenerStats } from '../listener-stats.js';
import type { Session } from '../sessions/session.js';
import type { Sessions } from '../sessions/sessions.js';
import { playerKey, type SharedPlayers } from '../sessions/shared-players.js';
import { HlsListener } from './hls-listener.js';

export interface HlsListenersParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly audience: Audience;
  readonly sessions: Sessions;
  readonly stats: ListenerStats;
  readonly channels: HlsChannels;
  /** The listeners of all processes; null: there are no other processes. */
  readonly players: SharedPlayers | null;
  /** The time of a clock that all processes share, milliseconds. */
  sharedMs(): number;
}

/** A player that was admitted, and is counted in the audience. */
export interface AdmittedPlayer {
  readonly token: string;
  /** What it listens to, by its mount. */
  readonly source: HlsSource;
  readonly client: ListenerClient;
  /** Null: none. */
  readonly metaid: string | null;
  /** For statistics and the access log. */
  readonly request: ListenerRequest;
  readonly limitMs: number;
  /** Called once, when it has left the audience. */
  onEnd(lastedMs: number): void;
}

export class HlsListeners {
  readonly #parts: HlsListenersParts;
  readonly #byToken = new Map<string, HlsListener>();
  /** Called when the last one has ended. */
  #onNone: () => void = () => undefined;

  constructor(parts: HlsListenersParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#byToken.size;
  }

  /** Resolves when there are none. Called once. */
  async left(): Promise<void> {
    if (this.count > 0) await new Promise<void>((resolve) => (this.#onNone = resolve));
  }

  /** @param mount the mount of the request: a token is not valid at another one, nor after a reload has given the path to another channel */
  find(token: string, { path, audio }: { readonly path: string } & Pick<HlsSource, 'audio'>): HlsListener | undefined {
    const listener = this.#byToken.get(token);
    return listener?.client.mount === path && listener.channel === audio.key ? listener : undefined;
  }

  all(): Iterable<HlsListener> {
    return this.#byToken.values();
  }

  open(player: AdmittedPlayer): HlsListener {
    const { clock, audience, channels, players } = this.#parts;
    const { token, source, client, limitMs } = player;
    const { audio } = source;
    // The same request at a path that a reload has given to another channel: the list of the former one is not requested any more.
    this.#byToken.get(token)?.end('left');
    const session = this.#session(player);
    const key = players === null ? '' : playerKey(token, client.mount, audio.key);
    const counted = this.#parts.stats.join(audio.key, player.request, player.metaid);
    const end = (ending: Ending) => {
      if (this.#byToken.get(token) !== listener) return;
      this.#byToken.delete(token);
      players?.remove(key);
      if (session !== null) this.#parts.sessions.close(session);
      audience.depart(audio, ending, listener.bytes);
      // One that has left has listened until its last request.
      const lastedMs = (ending === 'left' ? listener.askedMs : clock.now()) - listener.startedMs;
      player.onEnd(lastedMs);
      this.#parts.stats.leave(counted, listener.bytes, lastedMs);
      const seconds = Math.round(lastedMs / 1000);
      this.#parts.log.debug(
        { channel: audio.key, hls: true, ending, seconds, bytes: listener.bytes },
        'listener ended',
      );
      if (this.count === 0) this.#onNone();
    };
    const facts = { id: audience.nextId(), token, audio, client, session, endMs: clock.now() + limitMs, end };
    const listener: HlsListener = new HlsListener(facts, clock, () => channels.titles(source));
    this.#byToken.set(token, listener);
    this.ask(listener, source);
    players?.add(key, {
      sinceMs: this.#parts.sharedMs(),
      onAsked: (bytes) => this.#sent(listener, source, bytes),
      onRemote: () => listener.end('left'),
    });
    return listener;
  }

  /** It requests its playlist, which keeps it. */
  ask(listener: HlsListener, { hls }: HlsSource): void {
    listener.ask(this.#parts.clock.now(), (hls?.segmentSeconds ?? 0) * 1000);
  }

  /** It was sent its playlist. @param bytes of it */
  send(listener: HlsListener, source: HlsSource, bytes: number): void {
    const window = this.#parts.channels.of(source)?.window;
    if (window?.isEmpty === false) listener.send(window, bytes, this.#parts.clock.now());
  }

  /** Ends all listeners of a channel, or of all channels. */
  endAll(ending: Ending, channel?: string): void {
    for (const listener of [...this.#byToken.values()]) {
      if (channel === undefined || listener.channel === channel) listener.end(ending);
    }
  }

  /** Once a second. */
  tidy(nowMs: number): void {
    for (const listener of [...this.#byToken.values()]) {
      if (nowMs >= listener.endMs) listener.end('overtime');
      else if (nowMs > listener.dueMs) listener.end('left');
      else if (listener.isWithoutTitles) listener.title(nowMs);
    }
  }

  #session({ metaid, source: { audio }, client: { mount } }: AdmittedPlayer): Session | null {
    if (metaid === null) return null;
    return this.#parts.sessions.open({ metaid, channel: audio.key, mount, isDated: true });
  }

  /** Another process has sent it a playlist; the one here shows its place just as well. */
  #sent(listener: HlsListener, source: HlsSource, bytes: number): void {
    this.#parts.channels.ask(source);
    this.ask(listener, source);
    this.send(listener, source, bytes);
  }
}
