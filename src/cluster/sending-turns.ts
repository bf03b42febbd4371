/**
 * Which machine sends the titles of a channel to its webhooks, looks for their covers, and lists it in directories. Each such channel has a
 * lease, beside those of the audio (tapes/leases.ts), which any machine may have, whichever feeds the channel. The facts of the lease are the
 * version up to which titles were sent, where the next machine continues.
 *
 * While the shared log is away, leases stay where they are.
 */

import { type Leased, type LeaseOwner, Leases, type LeasesParts, NO_RANK } from './tapes/leases.js';

export interface SendingTurnsParts extends Pick<LeasesParts, 'node' | 'ask' | 'onNameTaken' | 'onBad' | 'onError'> {
  /** This machine got the lease of a channel. @param version up to which another machine has sent titles; null: unknown */
  onTaken(channel: string, version: number | null): void;
}

/** No channel has a slash in its key. */
const SUFFIX = '/titles';

export class SendingTurns {
  readonly #parts: SendingTurnsParts;
  readonly #turns = new Map<string, Turn>();
  /** By task: the channels for which it is done. */
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  /** Set if no audio is shared: then these leases are requested by themselves. */
  #leases: Leases | null = null;

  constructor(parts: SendingTurnsParts) {
    this.#parts = parts;
  }

  /** Requests the leases from now on, for machines that share no audio and have no other leases. */
  start(): void {
    const { node, ask, onNameTaken, onBad, onError } = this.#parts;
    const channels = () => this.leased();
    this.#leases = new Leases({ node, url: '', ask, channels, onNameTaken, onBad, onError });
    void this.#leases.start();
  }

  /** Gives up its leases. @param isNext whether the next process of this machine, which starts in a moment, keeps them */
  async close(isNext: boolean): Promise<void> {
    await (isNext ? this.#leases?.hold() : this.#leases?.close());
  }

  /** @param what the task, done for these channels only */
  set(what: 'webhooks' | 'covers' | 'directories', channels: Iterable<string>): void {
    this.#wanted.set(what, new Set(channels));
    const wanted = new Set([...this.#wanted.values()].flatMap((all) => [...all]));
    for (const channel of this.#turns.keys()) if (!wanted.has(channel)) this.#turns.delete(channel);
    for (const channel of wanted) {
      if (this.#turns.has(channel)) continue;
      const { node, onTaken } = this.#parts;
      this.#turns.set(channel, new Turn(node, (version) => onTaken(channel, version)));
    }
    this.#leases?.poke();
  }

  has(channel: string): boolean {
    return this.#turns.get(channel)?.isOwn ?? false;
  }

  did(channel: string, version: number): void {
    this.#turns.get(channel)?.did(version);
  }

  /** By name. */
  *leased(): Iterable<readonly [name: string, leased: Leased]> {
    for (const [channel, turn] of this.#turns) yield [channel + SUFFIX, turn];
  }
}

class Turn implements Leased {
  readonly wish = 1;
  readonly rank = NO_RANK;
  isOwn = false;
  readonly #node: string;
  readonly #onTaken: (version: number | null) => void;
  #sent = 0;
  #said = 0;
  /** The version up to which another machine has sent. */
  #theirs: number | null = null;

  constructor(node: string, onTaken: (version: number | null) => void) {
    this.#node = node;
    this.#onTaken = onTaken;
  }

  did(version: number): void {
    this.#sent = Math.max(this.#sent, version);
  }

  get facts(): string {
    if (!this.isOwn || this.#said === this.#sent) return '';
    this.#said = this.#sent;
    return String(this.#sent);
  }

  onUnsaid(): void {
    this.#said = 0;
  }

  onOwner({ node, facts }: LeaseOwner): void {
    const isOwn = node === this.#node;
    if (!isOwn && /^\d{1,15}$/.test(facts)) this.#theirs = Number(facts);
    if (isOwn === this.isOwn) return;
    this.isOwn = isOwn;
    this.#said = 0;
    if (isOwn) this.#onTaken(this.#theirs);
  }
}
