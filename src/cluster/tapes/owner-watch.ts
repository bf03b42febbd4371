/**
 * Watches whether the tape of a channel's owner arrives while it is wanted. When it stops, and when it arrives again, a line is logged, and the
 * alerts and the channel's facts change. Owned by one SharedAudio.
 */

import type { Log } from '../../base/log.js';
import { ALONE_MS } from './feeding-time.js';
import type { OwnerLink } from './owner-link.js';
import type { RemoteFacts } from './remote-facts.js';

export interface OwnerWatchParts {
  readonly channel: string;
  readonly log: Log;
  readonly link: OwnerLink;
  readonly remote: RemoteFacts;
  /** The facts of the channel have changed. */
  onFacts(channel: string): void;
}

export class OwnerWatch {
  readonly #parts: OwnerWatchParts;
  #lost = '';

  constructor(parts: OwnerWatchParts) {
    this.#parts = parts;
  }

  /** The owner whose tape is missing; '': none. */
  get lost(): string {
    return this.#lost;
  }

  /** Called a few times a second. @param node that feeds the channel elsewhere; '': none */
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
    // Also without listeners: new ones are redirected until it is back.
    link.audio.want(true);
    remote.lose(link.lostSinceMs);
    onFacts(channel);
    log.warn({ channel, node }, 'no audio arrives from the machine that feeds the channel');
  }

  #onBack(node: string): void {
    const { channel, log, link, remote, onFacts } = this.#parts;
    if (node === this.#lost) log.info({ channel, node }, 'audio is back from the machine that feeds the channel');
    this.#lost = '';
    if (link.audio.listeners === 0) link.audio.want(false);
    remote.lose(Number.POSITIVE_INFINITY);
    onFacts(channel);
  }
}
