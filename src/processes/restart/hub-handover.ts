/**
 * A hub hands over to the next one, which waits: its sources stop between two frames, accepted titles are committed, and tapes and encoders'
 * connections are transferred. After that it has nothing open.
 *
 *   sources, links stop ──► titles committed ──► tapes offered, connections sent ──► store closed ──► released
 */

import type { Socket } from 'node:net';
import { IDLE_OBSERVER } from '../../audio/playable-audio.js';
import type { Clock } from '../../base/clock.js';
import type { Channel } from '../../channel/channel.js';
import type { TapeNames } from '../../link/tapes/tape-names.js';
import { fedTape, type OfferedTape, offerTapes } from '../../link/tapes/tape-offer.js';
import { LINK_VERSION } from '../../link/wire/link-version.js';
import { encode } from '../../metadata/codec.js';
import { detach } from '../../net/front/handover.js';
import { connectToHub } from '../hub-socket.js';
import type { FromChild, SentConnection } from '../messages.js';

export interface HandoverParts {
  readonly clock: Clock;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly names: TapeNames;
  /** Channels whose tape is needed even without listeners. */
  readonly needed: ReadonlySet<string>;
  /** Closes the links; workers wait for the next hub. */
  closeLinks(): void;
  /** Commits accepted titles. */
  closeTitles(): Promise<void>;
  closeStore(): Promise<void>;
  send(message: FromChild, socket?: Socket, onSent?: () => void): void;
  onError(error: unknown): void;
}

/** Resolves when the next hub has everything. @param path the local socket where it takes tapes */
export async function handOver(path: string, parts: HandoverParts): Promise<void> {
  const { clock, channels, names, needed, send, onError } = parts;
  // Listeners are counted by the links, so before these close.
  const isWanted = ({ key, audio }: Channel) => audio.listeners > 0 || needed.has(key) || audio.delayedMs > 0;
  const wanted = new Set([...channels.values()].filter(isWanted).map(({ key }) => key));
  // Their tapes stay as they are when the links end.
  for (const key of wanted) channels.get(key)!.audio.observe(IDLE_OBSERVER);
  const left = [...channels.values()].map((channel) => ({ channel, ...channel.detach() }));
  parts.closeLinks();
  await parts.closeTitles();
  const offered = new Map<string, OfferedTape>();
  for (const { channel, position } of left) {
    channel.switch.flush();
    const tape = wanted.has(channel.key) ? fedTape(channel.audio, position, names) : null;
    if (tape !== null) offered.set(channel.key, tape);
  }
  const others = left.filter(({ channel }) => !offered.has(channel.key));
  const positions = others.map(({ channel, position }) => ({ channel: channel.key, position }));
  const taken = new Promise<void>((resolve) => {
    const stream = connectToHub(path, 'tapes');
    stream.once('error', () => resolve());
    stream.once('connect', () => offerTapes(stream, offered, clock, onError, resolve, { positions }));
  });
  for (const { channel, encoder } of left) {
    if (encoder === null) continue;
    const { socket, position, aheadMs } = encoder;
    const connection: SentConnection = { channel: channel.key, position, aheadMs };
    const ahead = detach(socket).toString('base64');
    const letter = { type: 'connection', text: encode(connection), ahead, version: LINK_VERSION } as const;
    send(letter, socket, () => socket.destroy());
  }
  await parts.closeStore();
  // The message may queue behind connections that are not taken yet; this process must not end before it is sent.
  await Promise.all([taken, new Promise<void>((resolve) => send({ type: 'released' }, undefined, resolve))]);
}
