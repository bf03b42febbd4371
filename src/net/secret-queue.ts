/**
 * A line of secrets that wait for their turn (secret-gate.ts): origins take turns, and of one origin whoever came first is next.
 *
 *   lanes   a: 1 2 3    b: 1    c: 1 2      turns: a1 b1 c1 a2 c2 a3
 *
 * Where an origin has all its places the last of them is drawn among all that asked since the turn before, so whoever keeps many requests
 * open does not get each place that frees. Who is not drawn hears so at the next turn, up to as many as there are places: whoever asks again at once
 * gains nothing. Where the whole line is full, an origin with fewer places takes the last one of the origin with most.
 * Invariant: at most `most` have a place, `mostOfOrigin` of them of one origin, and at most `most` others wait to hear that they have none.
 */

export type SecretVerdict = 'right' | 'wrong' | 'too-many';

/** @param retrySeconds after which a place in the line may be free, of `too-many`; else 0 */
export type OnVerdict = (verdict: SecretVerdict, retrySeconds: number) => void;

export interface SecretQueueOptions {
  /** Between two turns. */
  readonly everyMs: number;
  /** Places. */
  readonly most: number;
  readonly mostOfOrigin: number;
  /** In [0, 1). */
  random(): number;
  /** So many more, or fewer, wait. */
  onCount(change: number): void;
}

/** Those of one origin. */
interface OriginQueue {
  readonly waiting: WaitingSecret[];
  /** How many asked for the last place since the turn before, its holder counted in. */
  asked: number;
}

/** Somebody whose turn has not come. */
export class WaitingSecret {
  readonly origin: string;
  readonly compare: () => boolean;
  readonly onVerdict: OnVerdict;
  onLeave: ((waiting: WaitingSecret) => void) | null;

  constructor(origin: string, compare: () => boolean, onVerdict: OnVerdict, onLeave: (waiting: WaitingSecret) => void) {
    this.origin = origin;
    this.compare = compare;
    this.onVerdict = onVerdict;
    this.onLeave = onLeave;
  }

  /** The connection has ended: its place is free, and there is no verdict. Idempotent. */
  leave(): void {
    this.onLeave?.(this);
    this.onLeave = null;
  }
}

export class SecretQueue {
  readonly everyMs: number;
  readonly most: number;
  readonly #options: SecretQueueOptions;
  /** The origin whose turn is next comes first. None is empty. */
  readonly #lanes = new Map<string, OriginQueue>();
  /** Without a place; the next turn tells them. */
  readonly #undrawn = new Set<WaitingSecret>();
  #count = 0;
  /** How many asked for a place of a full line since the turn before. */
  #asked = 0;

  constructor(options: SecretQueueOptions) {
    this.#options = options;
    this.everyMs = options.everyMs;
    this.most = options.most;
  }

  /** When somebody without a place should ask again. */
  get retrySeconds(): number {
    return Math.max(1, Math.ceil((this.#count * this.everyMs) / 1000));
  }

  /** Takes a place, or another's, or none. Null: it has none, and was told so. */
  add(origin: string, compare: () => boolean, onVerdict: OnVerdict): WaitingSecret | null {
    const waiting = new WaitingSecret(origin, compare, onVerdict, (gone) => this.#leave(gone));
    const own = this.#lanes.get(origin);
    const ownSize = own?.waiting.length ?? 0;
    if (ownSize >= this.#options.mostOfOrigin) {
      own!.asked++;
      return this.#draw(waiting, own!, own!.asked);
    }
    if (this.#count < this.most) {
      // The holder of the last place is one of those who asked for it.
      this.#seat(waiting).asked = 1;
      return waiting;
    }
    const largest = this.#largest();
    return this.#draw(waiting, largest, largest.waiting.length > ownSize + 1 ? 1 : ++this.#asked);
  }

  /** Whose turn it is; null: nobody waits. Whoever has not been drawn by now is told. */
  turn(): WaitingSecret | null {
    this.#asked = 1;
    const [first] = this.#lanes;
    const next = first === undefined ? null : first[1].waiting[0]!;
    if (first !== undefined && next !== null) {
      const [origin, lane] = first;
      next.leave();
      lane.asked = 0;
      // Others first.
      if (this.#lanes.delete(origin)) this.#lanes.set(origin, lane);
    }
    const { retrySeconds } = this;
    for (const each of [...this.#undrawn]) refuse(each, retrySeconds);
    return next;
  }

  close(): void {
    for (const each of [...[...this.#lanes.values()].flatMap(({ waiting }) => waiting), ...this.#undrawn]) {
      refuse(each, 1);
    }
  }

  /** It gets the last place of this lane with a chance of one in `asked`. */
  #draw(waiting: WaitingSecret, lane: OriginQueue, asked: number): WaitingSecret | null {
    const isDrawn = asked <= 1 || this.#options.random() * asked < 1;
    const loser = isDrawn ? lane.waiting.at(-1)! : waiting;
    const { retrySeconds } = this;
    if (isDrawn) {
      this.#unseat(loser);
      this.#seat(waiting).asked = loser.origin === waiting.origin ? asked : 1;
      this.#options.onCount(-1);
    }
    if (this.#undrawn.size < this.most) {
      this.#undrawn.add(loser);
      this.#options.onCount(1);
    } else {
      loser.onLeave = null;
      loser.onVerdict('too-many', retrySeconds);
      if (loser === waiting) return null;
    }
    return waiting;
  }

  #seat(waiting: WaitingSecret): OriginQueue {
    let lane = this.#lanes.get(waiting.origin);
    if (lane === undefined) this.#lanes.set(waiting.origin, (lane = { waiting: [], asked: 0 }));
    lane.waiting.push(waiting);
    this.#count++;
    this.#options.onCount(1);
    return lane;
  }

  /** False: it has no place. */
  #unseat(waiting: WaitingSecret): boolean {
    const lane = this.#lanes.get(waiting.origin);
    const at = lane?.waiting.indexOf(waiting) ?? -1;
    if (at < 0) return false;
    lane!.waiting.splice(at, 1);
    if (lane!.waiting.length === 0) this.#lanes.delete(waiting.origin);
    this.#count--;
    return true;
  }

  #leave(waiting: WaitingSecret): void {
    if (this.#undrawn.delete(waiting) || this.#unseat(waiting)) this.#options.onCount(-1);
  }

  /** The origin with most places, of several the one whose turn is last. Only a full line asks. */
  #largest(): OriginQueue {
    let largest: OriginQueue | null = null;
    for (const lane of this.#lanes.values()) {
      if (largest === null || lane.waiting.length >= largest.waiting.length) largest = lane;
    }
    return largest!;
  }
}

function refuse(waiting: WaitingSecret, retrySeconds: number): void {
  waiting.leave();
  waiting.onVerdict('too-many', retrySeconds);
}
