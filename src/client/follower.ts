/**
 * Follows one topic of a server until it is closed: opens a connection, and the next one when it ends.
 *
 *   connecting ─► connected ─► reconnecting ─► connected …      missing: the server does not know the topic; retried slowly
 *
 * By WebSocket if there is one; by server-sent events if WebSockets do not open although the server answers HTTP.
 */

import { Backoff } from './backoff.js';
import { addressOf, browser, onWake } from './browser.js';
import { KnownRecords } from './known-records.js';
import {
  type Connection,
  type ConnectionEnd,
  EventConnection,
  refusalOf,
  SocketConnection,
} from './topic-connection.js';
import type { FollowHandlers, Following, FollowState, ServerOptions, SocketConstructor } from './types.js';

/** After a connection that has lasted this long the next pause is short again. */
const GOOD_MS = 10_000;
/** Pauses are as long as after this many tries: if the server asks for patience, and if it does not know the topic. */
const SLOW_TRIES = 3;
const SLOWEST_TRIES = 5;
/** After this many WebSockets in a row that did not open although the server answers HTTP, a proxy is assumed to block them. */
const MAX_BLOCKED = 2;
const CHECK_MS = 10_000;
/** RFC 6455, 7.4.1 and its registry. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const NOT_FOUND = 404;

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
  /** The server closed the connection because of too many messages. */
  hasSaidTooMuch = false;

  /** @param topic scope and id, as in a path */
  constructor(root: URL, topic: string, sync: string | undefined, options: ServerOptions & FollowHandlers) {
    this.#socketUrl = addressOf(root, `metadata/${topic}`);
    this.#eventsUrl = addressOf(root, `metadata/sse/${topic}`);
    for (const url of [this.#socketUrl, this.#eventsUrl]) if (sync !== undefined) url.searchParams.set('sync', sync);
    this.#Socket = options.transport === 'sse' ? null : (options.WebSocket ?? browser.WebSocket ?? null);
    if (options.transport === 'websocket' && this.#Socket === null)
      throw new TypeError('WebSocket: there is none here');
    // With `transport: 'websocket'` there is no fallback.
    if (options.transport === 'websocket') this.#blocked = Number.NEGATIVE_INFINITY;
    this.#records = new KnownRecords({
      onNow: (record, isNews) => options.onNow?.(record, isNews),
      // `onNow` of the same message may have closed it.
      onNext: (record, channelkey) => this.#state !== 'closed' && options.onNext?.(record, channelkey),
    });
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

  /** Whether the connection can send. */
  get canSend(): boolean {
    return this.#connection?.send != null;
  }

  /** Sends by the open connection, if it can. */
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

  /** Ends a pause. */
  #hurry(): void {
    if (this.#isWaiting) this.#connect();
  }

  /** The network is back: an old connection is useless. */
  #renew(): void {
    if (this.#connection !== null) this.#setState('reconnecting');
    // Its handler may have closed it.
    if (this.#state !== 'closed') this.#connect();
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
      // After server-sent events the next try is a WebSocket again.
      if (!wasSocket && this.#blocked > 0) this.#blocked = 0;
      this.#wait(end);
    }
  }

  /** A WebSocket that does not open gives no reason; an answer to HEAD does. */
  async #askWhy(): Promise<void> {
    this.#setState(this.#backoff.tries === 0 && this.#state === 'connecting' ? 'connecting' : 'reconnecting');
    let refusal = { status: 0, retryAfterMs: 0 };
    try {
      refusal = await refusalOf(
        await fetch(this.#eventsUrl, { method: 'HEAD', signal: AbortSignal.timeout(CHECK_MS) }),
      );
    } catch {
      // Unreachable.
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
