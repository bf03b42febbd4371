/**
 * Whether the tape of the node that feeds a channel comes, where it is wanted. When it stops, and when it comes again, the log has a line, and the
 * alerts and the channel's facts change. Owned by one SharedAudio.
 */

import type { Log } from '../../base/log.js';
import { ALONE_MS } from '../titles/feeding-time.js';
import type { OwnerLink } from './owner-link.js';
import type { RemoteFacts } from './remote-facts.js';

export interface OwnerWatchParts {
  readonly channel: string;
  readonly log: Log;
  readonly link: OwnerLink;
  readonly remote: RemoteFacts;
  /** What is known of the channel has changed. */
  onFacts(channel: string): void;
}

export class OwnerWatch {
  readonly #parts: OwnerWatchParts;
  #lost = '';

  constructor(parts: OwnerWatchParts) {
    this.#parts = parts;
  }

  /** The node whose tape does not come; '': there is none, or it comes. */
  get lost(): string {
    return this.#lost;
  }

  /** A few times a second. @param node that feeds the channel elsewhere; '': none does */
  look(nowMs: number, node: string): void {
    const { link } = this.#parts;
    if (this.#lost !== '') {
      if (node === this.#lost && !(link.isConnected && link.audio.isAnswered)) return;
      this.#onBack(node);
    }
    if (node !== '' && nowMs - link.lostSinceMs > ALONE_MS) this.#onLost(node);
  }

  #onLost(node: string): void {
    const { channel, log, link, remote, onFacts } = this.#parts;
    this.#lost = node;
    // Also while nobody listens: new listeners are sent elsewhere until it is back.
    link.audio.want(true);
    remote.lose(link.lostSinceMs);
    onFacts(channel);
    log.warn({ channel, node }, 'no audio comes from the machine that feeds the channel');
  }

  #onBack(node: string): void {
    const { channel, log, link, remote, onFacts } = this.#parts;
    if (node === this.#lost) log.info({ channel, node }, 'audio comes again from the machine that feeds the channel');
    this.#lost = '';
    if (link.audio.listeners === 0) link.audio.want(false);
    remote.lose(Number.POSITIVE_INFINITY);
    onFacts(channel);
  }
}
