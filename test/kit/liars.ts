/** Hostile machines and workers: they have the secret and use the link's protocol, but send false values to one server, as fast as it allows. */

import { readdirSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Test } from 'tap';
import { NO_FACTS } from '../../src/channel/channel-facts-schema.js';
import { askForLog, askForSessions, askForTape, type TapeClientOptions } from '../../src/cluster/tapes/tape-client.js';
import { TapeServer } from '../../src/cluster/tapes/tape-server.js';
import type { ClusterEngine } from '../../src/cluster/titles/cluster-engine.js';
import { greeting } from '../../src/link/wire/link-version.js';
import { CONTROL } from '../../src/link/wire/message-types.js';
import { framed, plainLies, uint32 } from './lies.js';
import { askedLease, leaseQuestion, questionsOf } from './log-questions.js';
import { Player } from './player.js';
import type { Random } from './random.js';
import { BRIDGE_MESSAGES, CLOCKS, liesOf, SESSION_MESSAGES } from './session-lies.js';
import { fromHub, fromWorker, type KnownMessage } from './tape-lies.js';

/** The messages of a hostile peer on one connection: correct except for one false value. */
interface Story {
  readonly what: string;
  readonly bytes: Buffer;
}

const json = (value: unknown): Buffer => {
  const text = Buffer.from(JSON.stringify(value) ?? 'undefined');
  return framed(CONTROL, Buffer.concat([uint32(text.length), text]));
};

/** A message with the number of the requested subscription. */
function ofSubscription(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeUInt32LE(id, 5);
  return copy;
}

/** Deals its items in an order by seed, over and over. */
class Deck<T> {
  readonly #random: Random;
  readonly #all: readonly T[];
  #left: T[] = [];
  taken = 0;

  constructor(random: Random, all: readonly T[]) {
    this.#random = random;
    this.#all = all;
  }

  next(): T {
    if (this.#left.length === 0) this.#left = [...this.#all];
    this.taken++;
    const at = this.#random.int(0, this.#left.length - 1);
    const one = this.#left[at]!;
    this.#left[at] = this.#left.at(-1)!;
    this.#left.pop();
    return one;
  }
}

/** Facts of a channel with audio. */
const FACTS = JSON.stringify({ ...NO_FACTS, hopeful: true, hasSegments: true, onAir: 0, metaint: 256 });

/** A machine that feeds a channel, according to Redis. */
export class LyingOwner {
  readonly channel: string;
  readonly #t: Test;
  readonly #deck: Deck<{ readonly message: KnownMessage; readonly what: string; readonly payload: Buffer }>;
  readonly #place: number;
  #server: TapeServer | null = null;
  #port = 0;
  #urls = 0;
  #player: Player | null = null;

  constructor(t: Test, channel: string, place: number, random: Random) {
    this.#t = t;
    this.channel = channel;
    this.#place = place;
    const kinds = ['frames', 'ogg'] as const;
    const messages = kinds.flatMap((kind) => fromHub(kind, channel));
    this.#deck = new Deck(
      random,
      messages.flatMap((message) => [...message.lies()].map((lie) => ({ message, ...lie }))),
    );
  }

  /** Number of false messages so far. */
  get count(): number {
    return this.#deck.taken;
  }

  /** A new machine each time, since the victim avoids the previous one. */
  get #url(): string {
    return `http://127.${10 + this.#place}.${this.#urls >> 8}.${this.#urls & 255}:${this.#port}`;
  }

  /** @param port the victim's, for listeners */
  async start(secret: Buffer, port: number): Promise<void> {
    this.#server = new TapeServer({
      host: '0.0.0.0',
      port: 0,
      secret,
      isOwnHost: () => true,
      onError: () => undefined,
      onTape: (_, stream) => this.#lie(stream),
      onSessions: (_, stream) => void stream.destroy(),
      onLog: (stream) => void stream.destroy(),
    });
    this.#port = await this.#server.listen();
    this.#t.teardown(() => this.#server?.close());
    this.#listen(port);
  }

  /** Keeps its lease, and has a listener of the victim play its channel. */
  async renew(engine: ClusterEngine, port: number): Promise<void> {
    const lease = askedLease(this.channel, { wish: 3, facts: FACTS });
    await engine.lease(leaseQuestion(`owner-${this.channel}`, this.#url, lease)).catch(() => null);
    if (this.#player?.closed) this.#listen(port);
  }

  #listen(port: number): void {
    this.#player = new Player(port, `/${this.channel}`);
    this.#t.teardown(() => this.#player?.close());
  }

  #lie(stream: Duplex): boolean {
    this.#urls++;
    stream.on('error', () => undefined);
    stream.write(greeting());
    let seen = Buffer.alloc(0);
    stream.on('data', (chunk: Buffer) => {
      // After the greeting: the length of the first message, its type, the number of the subscription.
      seen = Buffer.concat([seen, chunk]);
      if (seen.length < 12 + 9 || seen.length - chunk.length >= 12 + 9) return;
      const id = seen.readUInt32LE(12 + 5);
      const { message, payload } = this.#deck.next();
      const lie = framed(message.type, Buffer.concat([uint32(id), payload]));
      for (const each of [...message.before, lie, ...message.after]) {
        stream.write(each === lie ? lie : ofSubscription(each, id));
      }
      // Gives the victim a moment to use what it accepted.
      setTimeout(() => stream.destroy(), 300).unref();
    });
    return true;
  }
}

/** A machine that requests the victim's tapes. */
export class LyingMachine {
  readonly #deck: Deck<Story & { readonly of: 'tape' | 'sessions' | 'log' }>;
  readonly #random: Random;
  #names = 0;

  constructor(random: Random, channel: string) {
    this.#random = random;
    const story = (of: 'tape' | 'sessions' | 'log', what: string, ...bytes: readonly Buffer[]) => {
      return { of, what, bytes: Buffer.concat([greeting(), ...bytes]) };
    };
    const tapes = fromWorker(channel).flatMap((message) =>
      [...message.lies()].map(({ what, payload }) => {
        const lie = framed(message.type, Buffer.concat([uint32(1), payload]));
        return story('tape', `${message.name} ${what}`, ...message.before, lie);
      }),
    );
    const known = json(CLOCKS);
    const sessions = SESSION_MESSAGES.flatMap((message) =>
      [...liesOf(message)].map(({ what, bytes }) => story('sessions', `${message.name} ${what}`, known, bytes)),
    );
    const bridges = BRIDGE_MESSAGES.flatMap((message) =>
      [...plainLies(message)].map(({ what, value }) => {
        return story('sessions', what, ...(message === CLOCKS ? [] : [known]), json(value));
      }),
    );
    const logs = Object.entries({ ...questionsOf(channel), close: [] }).flatMap(([ask, args]) =>
      [...plainLies({ type: 'ask', id: 1, ask, args })].map(({ what, value }) =>
        story('log', `${ask} ${what}`, json(value)),
      ),
    );
    this.#deck = new Deck(random, [...tapes, ...sessions, ...bridges, ...logs]);
  }

  get count(): number {
    return this.#deck.taken;
  }

  /** Never rejects. */
  async lie(url: string, channel: string, options: TapeClientOptions): Promise<void> {
    const { of, bytes } = this.#deck.next();
    // A new machine each time, since the victim avoids the previous one.
    const own = { ...options, node: `liar-${this.#random.int(0, 99)}-${this.#names++}` };
    try {
      const tape = () => askForTape(url, channel, 'listen', own);
      const stream = await { tape, sessions: () => askForSessions(url, own), log: () => askForLog(url, own) }[of]();
      stream.on('error', () => undefined).resume();
      stream.write(bytes);
      setTimeout(() => stream.destroy(), 200).unref();
    } catch {
      // The victim refused it.
    }
  }
}

/** A worker that an attacker has taken over. */
export class LyingWorker {
  readonly #deck: Deck<Story>;
  readonly #folder: string;
  #number = 1_000_000;

  /** @param folder the server's temporary folder @param channel the channel to attack */
  constructor(random: Random, folder: string, channel: string) {
    this.#folder = folder;
    const said = saidByWorker(channel).flatMap((message) =>
      [...plainLies(message)].map(({ what, value }) => ({
        what: `${(message as { type: string }).type} ${what}`,
        bytes: json(value),
      })),
    );
    const tapes = fromWorker(channel).flatMap((message) =>
      [...message.lies()].map(({ what, payload }) => {
        const lie = framed(message.type, Buffer.concat([uint32(1), payload]));
        return { what: `${message.name} ${what}`, bytes: Buffer.concat([...message.before, lie]) };
      }),
    );
    const sessions = SESSION_MESSAGES.flatMap((message) =>
      [...liesOf(message)].map(({ what, bytes }) => ({ what: `${message.name} ${what}`, bytes })),
    );
    this.#deck = new Deck(random, [...said, ...tapes, ...sessions]);
  }

  get count(): number {
    return this.#deck.taken;
  }

  /** Resolves when everything is sent, or there is no hub. */
  async lie(): Promise<void> {
    const folder = readdirSync(this.#folder).find((name) => name.startsWith('airsplice-'));
    const path = folder && readdirSync(join(this.#folder, folder)).findLast((name) => name.endsWith('.hub'));
    if (path === undefined) return;
    const { bytes } = this.#deck.next();
    const socket = net.connect(join(this.#folder, folder!, path));
    await new Promise<void>((resolve) => {
      socket.on('error', () => resolve()).once('connect', resolve);
    });
    socket.resume();
    socket.write(Buffer.concat([greeting(), json({ type: 'hello', worker: ++this.#number, tickets: null }), bytes]));
    setTimeout(() => socket.destroy(), 200).unref();
  }
}

/** Valid messages of a worker other than those of tapes and sessions. */
export function saidByWorker(channel: string): object[] {
  const input = {
    type: 'now',
    artist: 'a',
    song: 's',
    id: 'i',
    separator: ' / ',
    durationSeconds: 1,
    timeSeconds: 1_795_178_248,
    etype: 1,
    isrc: 'x',
    cover: 'https://a.example/c.png',
    album: 'b',
    timezone: 'UTC',
    images: '{"x":{"url":"https://a.example/c.png"}}',
    extdata: '{"x":1}',
  };
  const ask = (question: string, asked: unknown) => ({ type: 'ask', id: 1, question, ask: asked });
  const admin = (question: string, asked: unknown) => ask('admin', { question, ask: asked });
  const everywhere = (question: string, asked: unknown) => ask('everywhere', { question, ask: asked });
  const token = {
    id: 'x',
    channel,
    name: 'n',
    sinceMs: 1,
    by: 'b',
    sha256: 'a'.repeat(64),
    untilMs: null,
  };
  const block = { network: '192.0.2.1', untilMs: 2e12, reason: '', by: 'b', sinceMs: 1 };
  const rows = {
    counts: [['unique', [['192.0.2.7', 3]]]],
    peaks: [['listeners', 2]],
    notices: [['pushes', [['x', 1]]]],
  };
  const metric = {
    name: 'x',
    help: 'x',
    type: 'counter',
    values: [{ value: 1, labels: { a: 'b' } }],
    aggregator: 'sum',
  };
  const figureRow = [`channel:${channel}`, 'total', '', 1, 1, 1, 1, 1, 'l'];
  const figures = { minuteMs: Date.now(), saltDayMs: null, rows: [figureRow], titles: [[channel, 1, 1, 1]] };
  return [
    { type: 'tallies', rows, isFirst: false },
    { type: 'metrics', metrics: [metric] },
    { type: 'hello', worker: 5, tickets: null },
    { type: 'figures', figures },
    { type: 'answer', id: 1, answer: [metric] },
    { type: 'applied', turn: 1 },
    ask('title', { channel, title: { artist: 'a', song: 's', cover: '' } }),
    ask('push', { channel, input, connection: 'c1' }),
    ask('withdraw', { channel, what: { held: 'x' } }),
    ask('metrics', null),
    ...[admin('putToken', token), admin('rotateToken', { id: 'x', made: token, untilMs: null }), admin('block', block)],
    ...[admin('depth', { channel }), admin('pin', { channel, place: 0 }), admin('unblock', { network: '192.0.2.1' })],
    ...[admin('putFallback', { channel, to: '/live', by: 'b', sinceMs: 1 }), admin('used', null)],
    everywhere('ages', { channel, most: 10 }),
    everywhere('listeners', { channel, ranges: { 1: { from: 0, count: 1 } } }),
    everywhere('move', { filter: { channel }, to: channel }),
    everywhere('crowd', { channel }),
    everywhere('log', { afterMs: 0 }),
  ];
}
