/**
 * Takes a channel's tape from the node that feeds it, over a connection of its own, while it is wanted here. The tape stays when the connection is
 * lost, and continues over the next one, to the same node or another.
 */

import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { HlsReceiver } from '../../link/hls/hls-receiver.js';
import type { LinkedAudio } from '../../link/tapes/linked-audio.js';
import { TapeReceiver } from '../../link/tapes/tape-receiver.js';
import { machineOf } from '../../link/wire/left-alone.js';
import { LinkConnection, LinkSilent } from '../../link/wire/link-connection.js';
import type { Machine } from './tape-client.js';

export interface OwnerLinkParts {
  readonly channel: string;
  readonly clock: Clock;
  /** Null: none, or this node. */
  owner(): Machine | null;
  ask(owner: Machine): Promise<Duplex>;
  /** Maximum length of the part of a tape that is kept. */
  maxLagMs?(): number;
  /** The connection is lost. */
  onLost(): void;
  onError(error: unknown): void;
}

/** How long a tape is taken after it was last wanted. */
const LINGER_MS = 10_000;
/** Between two attempts to connect. */
const RETRY_MS = 200;
/** How long the last segments of HLS are waited for when a tape was taken. */
const HLS_WHOLE_MS = 200;

export class OwnerLink {
  readonly audio: LinkedAudio;
  /** The HLS that the node cuts. */
  readonly hls = new HlsReceiver(() => this.look());
  readonly #parts: OwnerLinkParts;
  readonly #receiver: TapeReceiver;
  #connection: LinkConnection | null = null;
  #isConnecting = false;
  /** Since when the owner has been unreachable while its tape is wanted, monotonic milliseconds; +∞: it is reached. */
  lostSinceMs = Number.POSITIVE_INFINITY;
  /** Whether the owner is silent; a process that has ended would refuse the connection. */
  isSilent = false;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: OwnerLinkParts) {
    this.#parts = parts;
    this.#receiver = new TapeReceiver(parts.clock, LINGER_MS, () => this.look(), parts.maxLagMs);
    this.audio = this.#receiver.audio(parts.channel);
  }

  get isConnected(): boolean {
    return this.#connection !== null;
  }

  /**
   * Whether the part of the owner's tape that existed when it was asked for has arrived, as listeners continue at its edge. The rest of a former
   * owner's tape does not count.
   */
  get isThere(): boolean {
    const { tape, isAnswered } = this.audio;
    return isAnswered && tape !== undefined && tape.head > tape.tail && tape.head >= tape.comesTo;
  }

  /** Resolves when the segments of HLS that were asked for are here, or do not come in time. */
  hlsIsWhole(): Promise<void> {
    const { clock } = this.#parts;
    return new Promise((resolve) => {
      const alarm = clock.alarm(clock.now() + HLS_WHOLE_MS, { onAlarm: () => resolve() });
      void this.hls.whole().then(() => {
        alarm.cancel();
        resolve();
      });
    });
  }

  /** Connects if the tape is wanted and missing, or disconnects. */
  look(): void {
    const owner = this.#parts.owner();
    if (this.#isClosed || owner === null) return;
    if (!this.audio.isWanted && !this.hls.isWanted) {
      this.found();
      this.disconnect();
    } else if (this.#connection === null && !this.#isConnecting && this.#retry === null) void this.#open(owner);
  }

  /** The tape is not waited for any more. */
  giveUp(): void {
    this.found();
    this.disconnect();
    this.audio.want(false);
  }

  disconnect(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.close();
  }

  close(): void {
    this.#isClosed = true;
    this.disconnect();
  }

  /** Never rejects. */
  async #open(asked: Machine): Promise<void> {
    const { clock, ask, owner } = this.#parts;
    this.#isConnecting = true;
    this.lostSinceMs = Math.min(this.lostSinceMs, clock.now());
    try {
      const stream = await ask(asked);
      if (this.#isClosed || owner()?.url !== asked.url) stream.destroy();
      else {
        const onBroken = (error: unknown) => this.#onBroken(error);
        const peer = machineOf(asked.node, stream);
        const connection: LinkConnection = new LinkConnection(stream, onBroken, { peer, clock });
        this.#connection = connection;
        this.found();
        this.#receiver.connect(connection);
        this.hls.connect(connection);
        stream.once('close', () => this.#onClosed(connection));
      }
    } catch (error) {
      // Retried: the owner may have changed by then.
      if (isTimeout(error)) this.isSilent = true;
    } finally {
      this.#isConnecting = false;
      if (this.#connection === null) this.#lookAgain();
    }
  }

  /** The owner is reached, or not needed. */
  found(): void {
    this.lostSinceMs = Number.POSITIVE_INFINITY;
    this.isSilent = false;
  }

  #onBroken(error: unknown): void {
    if (error instanceof LinkSilent) this.isSilent = true;
    this.#parts.onError(error);
  }

  #lookAgain(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      this.look();
    }, RETRY_MS).unref();
  }

  #onClosed(connection: LinkConnection): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    this.lostSinceMs = this.isSilent ? connection.heardMs : this.#parts.clock.now();
    this.#parts.onLost();
    this.look();
  }
}

/** Whether it is a time-out of undici, or of the whole attempt. */
function isTimeout(error: unknown): boolean {
  return (
    error instanceof Error && /TIMEOUT|TimeoutError/.test(`${error.name} ${(error as NodeJS.ErrnoException).code}`)
  );
}
