/**
 * Answers the messages of one client of the old WebSocket: hapi nes, protocol version 2 (hapijs/nes, PROTOCOL.md). Every message is
 * JSON with a `type` and an `id` of the client's; the answer has both, and a refusal also `statusCode` and
 * `payload: {error, message}`. Knows no sockets. Owns its subscriptions: `close` ends them all.
 */

import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { Refusal } from '../../base/refusal.js';
import { asRefusal } from '../problem.js';
import type { Scope } from '../reads.js';
import type { Topic } from './watchers.js';

export interface NesParts {
  /** Sends a text to this client. */
  answer(json: string): void;
  /** @throws Refusal not-found */
  checkExists(topic: Topic): void;
  /** Sends this client the present records and every change, with this path, until the returned function is called. */
  subscribe(path: string, topic: Topic): () => void;
  /** Milliseconds: the interval of pings, and how long the client has to answer. */
  readonly heartbeat: { readonly interval: number; readonly timeout: number };
  readonly maxSubscriptions: number;
  onError(error: unknown): void;
}

export const NES_PING = '{"type":"ping"}';
const VERSION = '2';
const PATH = /^\/(metachannel|metastation|metadata)\/([A-Za-z0-9._~-]{1,128})$/;
const SCOPES: Readonly<Record<string, Scope>> = {
  metachannel: 'channel',
  metastation: 'station',
  metadata: 'listener',
};

type NesRequest = Readonly<Record<string, unknown>>;

interface NesSubscription {
  readonly path: string;
  readonly topic: Topic;
}

/** A refusal that names the path of a subscription. */
class PathRefusal extends Error {
  readonly path: string;
  constructor(path: string, cause: unknown) {
    super('', { cause });
    this.path = path;
  }
}

export class NesSession {
  readonly #parts: NesParts;
  /** Path → the function that ends the subscription. */
  readonly #subscriptions = new Map<string, () => void>();
  #isInitialized = false;

  constructor(parts: NesParts) {
    this.#parts = parts;
  }

  /** Handles one message. */
  take(text: string): void {
    const request = parse(text);
    const { type, id } = request ?? {};
    try {
      if (request === undefined || typeof type !== 'string' || type === '') throw bad('Cannot parse message');
      // The answer to our ping; some clients send it without an id.
      if (type === 'ping') return;
      if ((typeof id !== 'string' && typeof id !== 'number') || !id) throw bad('Message missing id');
      this.#handle(type, id, request);
    } catch (error) {
      const path = error instanceof PathRefusal ? error.path : undefined;
      const { status, message } = asRefusal(error instanceof PathRefusal ? error.cause : error, this.#parts.onError);
      const payload = { error: STATUS_CODES[status], message };
      this.#parts.answer(JSON.stringify({ type: plain(type), id: plain(id), path, statusCode: status, payload }));
    }
  }

  /** The connection has closed. */
  close(): void {
    for (const end of this.#subscriptions.values()) end();
    this.#subscriptions.clear();
  }

  #handle(type: string, id: string | number, request: NesRequest): void {
    if (type === 'hello') this.#hello(id, request);
    else if (!this.#isInitialized) throw bad('Connection is not initialized');
    else if (type === 'sub') this.#sub(id, request['path']);
    else if (type === 'unsub') this.#unsub(id, request['path']);
    // Readers need no authentication.
    else if (type === 'reauth') this.#answer({ type, id });
    else if (type === 'message') throw new Refusal('not-implemented', 'Messages are not accepted here');
    else if (type === 'request') {
      if (typeof request['method'] !== 'string') throw bad('Message missing method');
      if (typeof request['path'] !== 'string') throw bad('Message missing path');
      throw new Refusal('not-found', 'Poll by HTTP, or subscribe');
    } else throw bad('Unknown message type');
  }

  #hello(id: string | number, { version, subs = [] }: NesRequest): void {
    if (this.#isInitialized) throw bad('Connection already initialized');
    if (version !== VERSION) throw bad(`Incorrect protocol version (expected ${VERSION})`);
    if (!Array.isArray(subs)) throw bad('subs must be a list of paths');
    const paths = [...new Set<unknown>(subs)];
    const subscriptions = paths.map((path, i) => this.#subscription(path, i));
    // All subscriptions or none, since clients treat a refused hello as fatal.
    this.#isInitialized = true;
    this.#answer({ type: 'hello', id, heartbeat: this.#parts.heartbeat, socket: randomUUID() });
    for (const subscription of subscriptions) this.#begin(subscription);
  }

  #sub(id: string | number, path: unknown): void {
    const again = this.#subscriptions.has(path as string);
    const subscription = again ? undefined : this.#subscription(path, this.#subscriptions.size);
    this.#answer({ type: 'sub', id, path });
    if (subscription !== undefined) this.#begin(subscription);
  }

  #unsub(id: string | number, path: unknown): void {
    const end = this.#subscriptions.get(path as string);
    this.#subscriptions.delete(path as string);
    end?.();
    this.#answer({ type: 'unsub', id });
  }

  #begin({ path, topic }: NesSubscription): void {
    this.#subscriptions.set(path, this.#parts.subscribe(path, topic));
  }

  /** @param others the number of other subscriptions @throws PathRefusal */
  #subscription(path: unknown, others: number): NesSubscription {
    if (typeof path !== 'string') throw bad('Message missing path');
    try {
      if (path.includes('?')) throw bad('Subscription path cannot contain query');
      const match = PATH.exec(path);
      if (match === null) throw new Refusal('not-found', 'Subscription not found');
      const [, name = '', id = ''] = match;
      const topic = { scope: SCOPES[name]!, id };
      this.#parts.checkExists(topic);
      if (others >= this.#parts.maxSubscriptions) {
        throw new Refusal('too-many', `At most ${this.#parts.maxSubscriptions} subscriptions`);
      }
      return { path, topic };
    } catch (error) {
      throw new PathRefusal(path, error);
    }
  }

  #answer(message: object): void {
    this.#parts.answer(JSON.stringify(message));
  }
}

/** For an answer. Undefined: an object or a list, which may be too deep to be written again. */
function plain(value: unknown): unknown {
  return typeof value === 'object' ? undefined : value;
}

/** Undefined: not a JSON object. */
function parse(text: string): NesRequest | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as NesRequest) : undefined;
  } catch {
    return undefined;
  }
}

/** Detail → refusal, made once: most of its cost is the stack trace of the error. */
const BAD = new Map<string, Refusal>();

/** @param detail one of those in this file */
function bad(detail: string): Refusal {
  let refusal = BAD.get(detail);
  if (refusal === undefined) BAD.set(detail, (refusal = new Refusal('bad-request', detail)));
  return refusal;
}
