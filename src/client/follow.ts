/**
 * Follows one topic of a server (a channel, a station, what one listener hears) until it is closed: makes a connection, and the next one
 * when it ends.
 *
 *   connecting ─► connected ─► reconnecting ─► connected …      missing: the server knows no such topic; asked again slowly
 *
 * By WebSocket where there is one. Where a proxy does not let WebSockets through, though the server answers otherwise, by server-sent events.
 */

import { Backoff } from './backoff.js';
import { addressOf, browser, onWake, rootOf, type SocketConstructor } from './browser.js';
import { type Connection, type ConnectionEnd, EventConnection, refusalOf, SocketConnection } from './connection.js';
import { KnownRecords, type RecordHandlers } from './known-records.js';

export type FollowState = 'connecting' | 'connected' | 'reconnecting' | 'missing' | 'closed';

/** How to reach a server. */
export interface ServerOptions {
  /** The server's root, for example `https://radio.example/`. Default: where the page is; outside of a page it is needed. */
  readonly server?: string | URL | undefined;
  /** Default: WebSocket where there is a constructor. */
  readonly transport?: 'websocket' | 'sse' | undefined;
  /** Default: the browser's, or Node's (from 22 on). That of the package ws will do. */
  readonly WebSocket?: SocketConstructor | undefined;
}

/** One of them. */
export type FollowTarget =
  | { readonly channel: string }
  | { readonly station: string }
  /** A metaid. `sync`: titles come when they are heard (`audio`, default) or written, with their position (`wire`). */
  | { readonly listener: string; readonly sync?: 'audio' | 'wire' };

export interface FollowHandlers extends RecordHandlers {
  onState?: ((state: FollowState) => void) | undefined;
}

export type FollowOptions = ServerOptions & FollowTarget & FollowHandlers;

export interface Following {
  readonly state: FollowState;
  /** Ends it; no handler is called any more but `onState('closed')`. Idempotent. */
  close(): void;
}

/** A connection that has lasted this long was a good one: the next wait is short again. */
const GOOD_MS = 10_000;
/** Tries as which it counts when the server asks for patience. */
const SLOW_TRIES = 3;
const SLOWEST_TRIES = 5;
/** So often in a row a WebSocket did not open while the server answered HTTP: something between lets none through. */
const MAX_BLOCKED = 2;
const CHECK_MS = 10_000;
/** RFC 6455, 7.4.1 and its registry. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const NOT_FOUND = 404;

/**
 * Reports what is in force, then every change; each record once, whatever the network does.
 * @throws TypeError for a server that is not a URL, or a target that is missing
 */
export function follow(options: FollowOptions): Following {
  const { scope, id, sync } = targetOf(options);
  if (typeof id !== 'string' || id === '') throw new TypeError('channel, station or listener: name one');
  return new Follower(rootOf(options.server), `${scope}/${encodeURIComponent(id)}`, sync, options);
}

function targetOf(target: FollowTarget): { scope: string; id: string; sync?: string | undefined } {
  if ('channel' in target) return { scope: 'channel', id: target.channel };
  if ('station' in target) return { scope: 'station', id: target.station };
  return { scope: 'listener', id: target.listener, sync: target.sync };
}

/** What the module itself uses; apps get it as `Following`. */
export class Follower implements Following {
  readonly #socketUrl: URL;
  readonly #eventsUrl: URL;
  readonly #Socket: SocketConstructor | null;
  readonly #records: KnownRecords;
  readonly #onState: FollowHandlers['onState'];
  readonly #backoff = new Backoff();
  readonly #stopWaking: () => void;
  #state: FollowState = 'connecting';
  #connection: Connection | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isWaiting = false;
  #openedMs = 0;
  #blocked = 0;
  /** The server closed the connection because it had said too much. */
  hasSaidTooMuch = false;

  /** @param topic scope and id, as in a path */
  constructor(root: URL, topic: string, sync: string | undefined, options: ServerOptions & FollowHandlers) {
    this.#socketUrl = addressOf(root, `metadata/${topic}`);
    this.#eventsUrl = addressOf(root, `metadata/sse/${topic}`);
    for (const url of [this.#socketUrl, this.#eventsUrl]) if (sync !== undefined) url.searchParams.set('sync', sync);
    this.#Socket = options.transport === 'sse' ? null : (options.WebSocket ?? browser.WebSocket ?? null);
    if (options.transport === 'websocket' && this.#Socket === null)
      throw new TypeError('WebSocket: there is none here');
    // `transport: 'websocket'` is never given up for the other.
    if (options.transport === 'websocket') this.#blocked = Number.NEGATIVE_INFINITY;
    this.#records = new KnownRecords(options);
    this.#onState = options.onState;
    this.#stopWaking = onWake(
      () => this.#renew(),
      () => this.#hurry(),
    );
    this.#connect();
  }

  get state(): FollowState {
    return this.#state;
  }

  /** Whether `send` has a way of its own. */
  get canSend(): boolean {
    return this.#connection?.send != null;
  }

  /** @param text goes to the server by the connection that is open; else nowhere */
  send(text: string): void {
    this.#connection?.send?.(text);
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#drop();
    this.#stopWaking();
    this.#setState('closed');
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#isWaiting = false;
    this.#connection?.close();
    this.#connection = null;
  }

  /** Waits no longer. */
  #hurry(): void {
    if (this.#isWaiting) this.#connect();
  }

  /** The network is back: what is left of an earlier connection leads nowhere. */
  #renew(): void {
    if (this.#connection !== null) this.#setState('reconnecting');
    this.#connect();
  }

  #connect(): void {
    this.#drop();
    const handlers = {
      onOpen: () => {
        this.#openedMs = performance.now();
        this.#records.begin();
        this.#setState('connected');
      },
      onMessage: (json: string) => this.#records.take(json),
      onEnd: (end: ConnectionEnd) => this.#onEnd(end),
    };
    this.#connection =
      this.#Socket === null || this.#blocked >= MAX_BLOCKED
        ? new EventConnection(this.#eventsUrl, handlers)
        : new SocketConnection(this.#socketUrl, this.#Socket, handlers);
  }

  #onEnd(end: ConnectionEnd): void {
    const wasSocket = this.#connection instanceof SocketConnection;
    this.#connection = null;
    if (end.wasOpen && performance.now() - this.#openedMs > GOOD_MS) this.#backoff.reset();
    if (end.code === POLICY_VIOLATION) this.hasSaidTooMuch = true;
    if (end.code === POLICY_VIOLATION || end.code === TRY_AGAIN_LATER) this.#backoff.slow(SLOW_TRIES);
    if (wasSocket && !end.wasOpen) void this.#askWhy();
    else {
      // Server-sent events were a way out; the next try is a WebSocket again.
      if (!wasSocket && this.#blocked > 0) this.#blocked = 0;
      this.#wait(end);
    }
  }

  /** A WebSocket that does not open says nothing; an answer to HEAD does. */
  async #askWhy(): Promise<void> {
    this.#setState(this.#backoff.tries === 0 && this.#state === 'connecting' ? 'connecting' : 'reconnecting');
    let refusal = { status: 0, retryAfterMs: 0 };
    try {
      refusal = await refusalOf(
        await fetch(this.#eventsUrl, { method: 'HEAD', signal: AbortSignal.timeout(CHECK_MS) }),
      );
    } catch {
      // Not reachable at all.
    }
    // It was closed, or the network came back, meanwhile.
    if (this.#state === 'closed' || this.#connection !== null) return;
    this.#blocked = refusal.status === 200 ? this.#blocked + 1 : Math.min(this.#blocked, 0);
    this.#wait(refusal);
  }

  #wait({ status, retryAfterMs }: Pick<ConnectionEnd, 'status' | 'retryAfterMs'>): void {
    if (status === NOT_FOUND) this.#backoff.slow(SLOWEST_TRIES);
    this.#isWaiting = true;
    this.#timer = setTimeout(() => this.#connect(), this.#backoff.next(retryAfterMs));
    this.#setState(status === NOT_FOUND ? 'missing' : 'reconnecting');
  }

  #setState(state: FollowState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#onState?.(state);
  }
}
