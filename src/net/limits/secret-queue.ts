/**
 * A queue of secrets that wait for their turn (secret-gate.ts). Origins take turns; each origin's secrets are first come, first served.
 *
 *   origins   a: 1 2 3    b: 1    c: 1 2      turns: a1 b1 c1 a2 c2 a3
 *
 * When an origin has all its slots, the last one is drawn among all that asked since the previous turn, so that a client that keeps many
 * requests open does not get each free slot. Losers are refused at the next turn, so that asking again at once gains nothing. When the whole
 * queue is full, an origin with fewer slots takes the last one of the origin with most.
 * Invariant: at most `max` secrets have a slot, `maxOfOrigin` of them of one origin, and at most `max` others wait to be refused.
 */

/** unknown: it is not known here whether it is right. */
export type SecretVerdict = 'right' | 'wrong' | 'too-many' | 'unknown';

/** Takes the same time whatever the result. Null: it is not known here whether the secret is right (SecretGate.settle). */
export type CompareSecret = () => boolean | null;

/** @param retrySeconds until a slot may be free, for `too-many`; else 0 */
export type OnVerdict = (verdict: SecretVerdict, retrySeconds: number) => void;

export interface SecretQueueOptions {
  /** The time between two turns. */
  readonly everyMs: number;
  /** Slots in all. */
  readonly max: number;
  readonly maxOfOrigin: number;
  /** A number in [0, 1). */
  random(): number;
  /** The change of the number of waiting secrets. */
  onCount(change: number): void;
}

interface OriginQueue {
  readonly waiting: WaitingSecret[];
  /** How many asked for the last slot since the previous turn, including its holder. */
  asked: number;
}

/** A secret whose turn has not come. */
export class WaitingSecret {
  readonly origin: string;
  readonly compare: CompareSecret;
  readonly onVerdict: OnVerdict;
  #onLeave: ((waiting: WaitingSecret) => void) | null;

  constructor(origin: string, compare: CompareSecret, onVerdict: OnVerdict, onLeave: (waiting: WaitingSecret) => void) {
    this.origin = origin;
    this.compare = compare;
    this.onVerdict = onVerdict;
    this.#onLeave = onLeave;
  }

  /** The connection has ended: frees the slot, without a verdict. Idempotent. */
  leave(): void {
    this.#onLeave?.(this);
    this.#onLeave = null;
  }
}

export class SecretQueue {
  readonly everyMs: number;
  readonly max: number;
  readonly #options: SecretQueueOptions;
  /** By origin, in the order of their turns; none is empty. */
  readonly #origins = new Map<string, OriginQueue>();
  /** Without a slot; refused at the next turn. */
  readonly #losers = new Set<WaitingSecret>();
  #count = 0;
  /** How many asked for a slot of a full queue since the previous turn. */
  #asked = 0;

  constructor(options: SecretQueueOptions) {
    this.#options = options;
    this.everyMs = options.everyMs;
    this.max = options.max;
  }

  /** When a client without a slot should ask again. */
  get retrySeconds(): number {
    return Math.max(1, Math.ceil((this.#count * this.everyMs) / 1000));
  }

  /** Gets a free slot, or another's, or waits to be refused at the next turn. Null: it was refused at once. */
  add(origin: string, compare: CompareSecret, onVerdict: OnVerdict): WaitingSecret | null {
    const waiting = new WaitingSecret(origin, compare, onVerdict, (gone) => this.#leave(gone));
    const own = this.#origins.get(origin);
    const ownSize = own?.waiting.length ?? 0;
    if (ownSize >= this.#options.maxOfOrigin) {
      own!.asked++;
      return this.#draw(waiting, own!, own!.asked);
    }
    if (this.#count < this.max) {
      // The holder of the last slot counts as one that asked for it.
      this.#enter(waiting).asked = 1;
      return waiting;
    }
    const largest = this.#largest();
    return this.#draw(waiting, largest, largest.waiting.length > ownSize + 1 ? 1 : ++this.#asked);
  }

  /** Takes out the next secret; null: none waits. Refuses the losers. */
  turn(): WaitingSecret | null {
    this.#asked = 1;
    const [first] = this.#origins;
    const next = first === undefined ? null : first[1].waiting[0]!;
    if (first !== undefined && next !== null) {
      const [origin, queue] = first;
      next.leave();
      queue.asked = 0;
      // The other origins come first.
      if (this.#origins.delete(origin)) this.#origins.set(origin, queue);
    }
    const { retrySeconds } = this;
    for (const each of [...this.#losers]) refuse(each, retrySeconds);
    return next;
  }

  close(): void {
    for (const each of [...[...this.#origins.values()].flatMap(({ waiting }) => waiting), ...this.#losers]) {
      refuse(each, 1);
    }
  }

  /** Gives the secret the last slot of this queue with a chance of one in `asked`. */
  #draw(waiting: WaitingSecret, queue: OriginQueue, asked: number): WaitingSecret | null {
    const isDrawn = asked <= 1 || this.#options.random() * asked < 1;
    const loser = isDrawn ? queue.waiting.at(-1)! : waiting;
    const { retrySeconds } = this;
    if (isDrawn) {
      this.#remove(loser);
      this.#enter(waiting).asked = loser.origin === waiting.origin ? asked : 1;
      this.#options.onCount(-1);
    }
    if (this.#losers.size < this.max) {
      this.#losers.add(loser);
      this.#options.onCount(1);
    } else {
      refuse(loser, retrySeconds);
      if (loser === waiting) return null;
    }
    return waiting;
  }

  #enter(waiting: WaitingSecret): OriginQueue {
    let queue = this.#origins.get(waiting.origin);
    if (queue === undefined) this.#origins.set(waiting.origin, (queue = { waiting: [], asked: 0 }));
    queue.waiting.push(waiting);
    this.#count++;
    this.#options.onCount(1);
    return queue;
  }

  /** False: it has no slot. */
  #remove(waiting: WaitingSecret): boolean {
    const queue = this.#origins.get(waiting.origin);
    const at = queue?.waiting.indexOf(waiting) ?? -1;
    if (at < 0) return false;
    queue!.waiting.splice(at, 1);
    if (queue!.waiting.length === 0) this.#origins.delete(waiting.origin);
    this.#count--;
    return true;
  }

  #leave(waiting: WaitingSecret): void {
    if (this.#losers.delete(waiting) || this.#remove(waiting)) this.#options.onCount(-1);
  }

  /** The origin with most slots, of several the one whose turn is last. Only for a full queue. */
  #largest(): OriginQueue {
    let largest: OriginQueue | null = null;
    for (const queue of this.#origins.values()) {
      if (largest === null || queue.waiting.length >= largest.waiting.length) largest = queue;
    }
    return largest!;
  }
}

function refuse(waiting: WaitingSecret, retrySeconds: number): void {
  waiting.leave();
  waiting.onVerdict('too-many', retrySeconds);
}
