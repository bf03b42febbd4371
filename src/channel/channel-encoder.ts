/** A channel's encoder for the code that connects, ends or moves it, or sends its titles. Owned by the channel. */

import type { Socket } from 'node:net';
import type { Log } from '../base/log.js';
import type { ChannelConfig } from '../config/schema.js';
import type { ConnectionPosition } from '../source/encoder-connection.js';
import { EncoderSource } from '../source/encoder-source.js';
import type { Source, SourceTitle } from '../source/source.js';
import type { Switch } from '../source/switch.js';
import type { ChannelLive } from './channel-facts-schema.js';
import { encoderOf } from './make-input.js';

export interface ChannelEncoderParts {
  /** The channel's key. */
  readonly key: string;
  readonly config: ChannelConfig;
  readonly log: Log;
  readonly switch: Switch;
  readonly live: Pick<ChannelLive, 'sends'>;
  /** Returns the state that another machine reports if it feeds the channel; null if this one does. */
  remote(): Pick<ChannelLive, 'onAir'> | null;
  /** Called with a title of an encoder that is connected to another machine. */
  onTitle(title: SourceTitle, source: Source): Promise<void>;
}

export class ChannelEncoder {
  readonly #parts: ChannelEncoderParts;
  /** When the last title arrived. */
  #cameMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ChannelEncoderParts) {
    this.#parts = parts;
  }

  /** Undefined if the channel takes no encoder. */
  get source(): EncoderSource | undefined {
    return this.#parts.switch.sources.find((candidate) => candidate instanceof EncoderSource);
  }

  /** Whether an encoder is connected, even if it has sent no audio yet. */
  get isConnected(): boolean {
    return this.source?.state === 'up';
  }

  /** Adopts an encoder's connection from another process. Called after the channel's start. */
  take(socket: Socket, ahead: Buffer, position: ConnectionPosition, aheadMs: number): void {
    const { source } = this;
    if (source === undefined) socket.destroy();
    else source.adopt(socket, ahead, position, aheadMs);
  }

  /** Ends the encoder's connection. False if none is connected. */
  end(): boolean {
    return this.source?.end() ?? false;
  }

  /** Moves the encoder with its connection to another channel, from its next frame on. Returns null, or why that is impossible. */
  moveTo(there: ChannelEncoder): string | null {
    const [source, other] = [this.source, there.source];
    if (source?.state !== 'up') return 'No encoder is connected.';
    if (other === undefined) return 'That channel accepts no encoder.';
    if (other.state === 'up') return 'That channel already has an encoder.';
    const { key: to, live } = there.#parts;
    const { sends, connectionId: connection } = source;
    if (sends === undefined) return 'The format of the encoder is not yet known.';
    if (live.sends !== null && live.sends !== sends)
      return `The encoder sends ${sends}, and that channel plays ${live.sends}.`;
    if (!source.moveTo(other, 'moved by an operator')) return 'The encoder is being disconnected.';
    this.#parts.log.info({ channel: this.#parts.key, to, connection }, 'encoder moved');
    return null;
  }

  /** As in EncoderMount. */
  async sendTitle(title: SourceTitle, cameMs: number): Promise<boolean> {
    const { config, switch: sources, remote, onTitle } = this.#parts;
    const { source } = this;
    const encoder = encoderOf(config);
    if (source === undefined || encoder === undefined) return false;
    const isTaken = config.titlesFrom.includes('encoder');
    const far = remote();
    // Titles of an encoder that is connected to another machine may arrive at any machine.
    const isFed = far === null ? source.state === 'up' : far.onAir === config.sources.indexOf(encoder);
    if (!isFed && !encoder.titlesWhileAway) return false;
    // A hook answered about a later title first.
    if (cameMs < this.#cameMs) return true;
    this.#cameMs = cameMs;
    if (isTaken && far === null) await sources.title(source, title);
    else if (isTaken) await onTitle(title, source);
    return true;
  }
}
