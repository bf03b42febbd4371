/**
 * A connection to Redis or Valkey, by two sockets: one for requests, one that blocks for the next log entries. It is lost for good with its first
 * failure (an error of a socket, a late answer); its owner then connects anew, and checks the outcome of pending requests (node-link.ts). The
 * package is loaded when it is needed: a server without a cluster starts without it.
 */

import { constants } from 'node:crypto';
import { isIP, Socket } from 'node:net';
import { hostOf } from '../../base/ip.js';
import { messageOf } from '../../net/outbound/message-of.js';
import { SilentRecordLimit } from '../../net/tls/silent-records.js';
import { ReplyBounds } from './reply-bounds.js';
import { CLOSED, LogLost, type OnLogLost } from './shared-log.js';

export type Reply = string | number | null | readonly Reply[];

export interface RedisOptions {
  /** redis:// or rediss://, with user and password if needed. */
  readonly url: string;
  /** URLs of Sentinels, and the name under which they know the server. Empty: the URL names the server. */
  readonly sentinels: readonly string[];
  readonly master: string;
  /** PEM of the certificate authorities; undefined: those of Node. */
  readonly ca?: Buffer | undefined;
  /** Time-out of an answer, milliseconds. */
  readonly answerMs: number;
}

const DEFAULT_PORT = 6379;
/** As the package has it for its own sockets. */
const KEEP_ALIVE_MS = 30_000;
const TLS = { tls: true as const, secureOptions: constants.SSL_OP_NO_RENEGOTIATION };
/** Factor of the time-out for long answers. */
const LONG_TIMES = 10;

export class RedisLost extends LogLost {
  override readonly name = 'RedisLost';

  constructor(reason: string, options?: ErrorOptions) {
    super(`Redis cannot be reached: ${reason}`, options);
  }
}

export class Redis {
  readonly #asking: Client;
  readonly #waiting: Client;
  readonly #answerMs: number;
  readonly #scripts = new Map<string, string>();
  /** Why it is lost; null: it is not. */
  #lost: RedisLost | null = null;
  readonly #onLost: OnLogLost;

  private constructor(asking: Client, waiting: Client, answerMs: number, onLost: OnLogLost) {
    this.#asking = asking;
    this.#waiting = waiting;
    this.#answerMs = answerMs;
    this.#onLost = onLost;
    for (const client of [asking, waiting]) client.on('error', (error: Error) => this.#lose(messageOf(error), error));
  }

  /** Connects and loads the scripts. Rejects with RedisLost. @param scripts by name @param onLost see OpenSharedLog */
  static async connect(
    options: RedisOptions,
    scripts: Readonly<Record<string, string>>,
    onLost: OnLogLost = () => undefined,
  ): Promise<Redis> {
    const connectTo = (url: string) => Redis.#connectTo(url, options, scripts, onLost);
    if (options.sentinels.length === 0) return await connectTo(options.url);
    const reasons = new Set<string>();
    // One that is cut off from the others may still name the server before a fail-over.
    for (const sentinel of options.sentinels) {
      try {
        return await connectTo(await masterUrl(sentinel, options));
      } catch (error) {
        reasons.add(messageOf(error));
      }
    }
    throw new RedisLost(`no Sentinel names a writable server (${[...reasons].join('; ')})`);
  }

  static async #connectTo(
    url: string,
    options: RedisOptions,
    scripts: Readonly<Record<string, string>>,
    onLost: OnLogLost,
  ): Promise<Redis> {
    const { answerMs } = options;
    const clients = await Promise.all([makeClient(url, options), makeClient(url, options)]);
    const redis = new Redis(...clients, answerMs, onLost);
    try {
      await within(answerMs, Promise.all(clients.map((client) => client.connect())));
      // A replica that is not promoted yet would refuse every change.
      const role = (await redis.ask(['ROLE'])) as readonly Reply[];
      if (role[0] !== 'master') throw new Error(`it is a ${role[0]}`);
      for (const [name, text] of Object.entries(scripts)) {
        redis.#scripts.set(name, (await redis.ask(['SCRIPT', 'LOAD', text])) as string);
      }
      return redis;
    } catch (error) {
      // The reason of the loss says more than the error of the closed socket.
      const lost = redis.#lost ?? new RedisLost(messageOf(error), { cause: error });
      redis.close();
      throw lost;
    }
  }

  /** Whether it is lost. */
  get isLost(): boolean {
    return this.#lost !== null;
  }

  /** Rejects with RedisLost, or with the error that Redis answers. @param isLong the answer may have megabytes */
  ask(command: readonly string[], isLong = false): Promise<Reply> {
    return this.#send(this.#asking, command, this.#answerMs * (isLong ? LONG_TIMES : 1));
  }

  /** The same for a script. */
  run(script: string, keys: readonly string[], args: readonly (string | number)[], isLong = false): Promise<Reply> {
    const command = ['EVALSHA', this.#scripts.get(script)!, `${keys.length}`, ...keys, ...args.map(String)];
    return this.ask(command, isLong);
  }

  /** The entries of a stream after this id, as `[id, fields]`. @param waitMs how long to wait for the first one */
  async entriesAfter(key: string, id: string, most: number, waitMs: number): Promise<Reply> {
    const command = ['XREAD', 'COUNT', `${most}`, 'BLOCK', `${waitMs}`, 'STREAMS', key, id];
    const streams = (await this.#send(this.#waiting, command, waitMs + this.#answerMs)) as readonly Reply[] | null;
    return streams === null ? [] : (streams[0] as readonly Reply[])[1]!;
  }

  /** Idempotent. Pending requests reject. */
  close(reason = CLOSED): void {
    this.#lose(reason);
  }

  async #send(client: Client, command: readonly string[], ms: number): Promise<Reply> {
    if (this.#lost !== null) throw this.#lost;
    try {
      return (await within(ms, client.sendCommand([...command]))) as Reply;
    } catch (error) {
      const { message } = error as Error;
      // The first word of an error of Redis. After these, only a new connection helps.
      if (/^[A-Z]+ /.test(message) && !/^(NOSCRIPT|LOADING|READONLY|MASTERDOWN|NOAUTH) /.test(message)) throw error;
      this.#lose(message, error);
      throw this.#lost;
    }
  }

  #lose(reason: string, cause?: unknown): void {
    if (this.#lost !== null) return;
    this.#lost = new RedisLost(reason, { cause });
    for (const client of [this.#asking, this.#waiting]) if (client.isOpen) client.destroy();
    this.#onLost(this.#lost);
  }
}

type Client = Awaited<ReturnType<typeof makeClient>>;

/** A client that does not reconnect by itself. */
async function makeClient(url: string, { answerMs, ca }: Pick<RedisOptions, 'answerMs' | 'ca'>) {
  const { createClient } = await import('./redis-client.js');
  const base = { reconnectStrategy: false as const, connectTimeout: answerMs, keepAlive: true };
  // The client gives no access to its TLSSocket.
  const bare = url.startsWith('rediss:') ? new Socket() : null;
  const beneath = bare && new SilentRecordLimit(bare);
  const host = hostOf(url);
  // Without a name a proxy before several servers does not know which is meant.
  const named = isIP(host) === 0 && { servername: host };
  const socket = beneath === null ? base : { ...base, ...TLS, socket: beneath, ...named, ...(ca && { ca }) };
  const client = createClient({ url, socket, RESP: 2, disableClientInfo: true, disableOfflineQueue: true });
  // One that is closed while it connects, since the other one has failed, would be opened all the same.
  client.once('end', () => client.on('connect', () => client.destroy()));
  // Not before: where createClient throws there is none who closes it.
  bare
    ?.setNoDelay()
    .setKeepAlive(true, KEEP_ALIVE_MS)
    .connect(Number(new URL(url).port || DEFAULT_PORT), host);
  // An error thrown here is an error of the client, like those of its decoder.
  const { decoder } = client._getQueue();
  const [bounds, write] = [new ReplyBounds(), decoder.write.bind(decoder)];
  decoder.write = (chunk: Buffer) => {
    beneath?.dataCame();
    bounds.push(chunk);
    write(chunk);
  };
  return client;
}

/**
 * The URL of the server as a Sentinel says it. Not by the package's `createSentinel`: its connections cannot be
 * bounded (ReplyBounds: 11 bytes of a Sentinel take 264 MB), and it sends a command again to another server.
 */
async function masterUrl(sentinel: string, options: RedisOptions): Promise<string> {
  const { url, master, answerMs } = options;
  const client = await makeClient(sentinel, options);
  client.on('error', () => undefined);
  try {
    await within(answerMs, client.connect());
    const asked = client.sendCommand<readonly string[] | null>(['SENTINEL', 'get-master-addr-by-name', master]);
    const primary = await within(answerMs, asked);
    if (primary === null) throw new Error(`it does not know the master ${master}`);
    const found = new URL(url);
    const host = primary[0]!;
    found.host = `${host.includes(':') ? `[${host}]` : host}:${primary[1]}`;
    return found.href;
  } finally {
    if (client.isOpen) client.destroy();
  }
}

/** Rejects after this time. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
