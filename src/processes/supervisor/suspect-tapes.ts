/**
 * Which tapes the next hub does not take back because they may have ended hubs. A hub reports each tape before it puts it in place, and when all are.
 * If it ends meanwhile, that tape is suspect. If it fails soon after, all of its tapes are, since it is unknown which one is bad.
 *
 *   takes a │ takes b ✕ ended                    b is suspect; ended twice within SUSPECT_MS: the next one starts without b
 *
 * Owned by the supervisor.
 */

import type { FromChild } from '../messages.js';
import type { EndOfProcess } from './managed-process.js';

/** How long a suspicion lasts, and how many exclude a tape: two within this time do not count as chance. */
const SUSPECT_MS = 60_000;
const TWICE = 2;

interface Suspicion {
  readonly channels: readonly string[];
  readonly atMs: number;
}

export class SuspectTapes {
  readonly #nowMs: () => number;
  /** One for each hub that ended, oldest first. */
  #suspicions: Suspicion[] = [];
  /** Of the present hub: the tape that it is putting in place, those in place, and when it last reported one. */
  #taking: string | null = null;
  #taken: string[] = [];
  #takenMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Called when a hub starts. */
  begin(): void {
    this.#taking = null;
    this.#taken = [];
  }

  onTakes({ channel }: Extract<FromChild, { type: 'takes' }>): void {
    if (this.#taking !== null) this.#taken.push(this.#taking);
    this.#taking = channel;
    this.#takenMs = this.#nowMs();
  }

  onEnded({ code, wasHanging }: Pick<EndOfProcess, 'code' | 'wasHanging'>): void {
    const nowMs = this.#nowMs();
    const isOwnFault = wasHanging || (code !== null && code !== 0);
    const isSoon = nowMs - this.#takenMs <= SUSPECT_MS;
    const channels = this.#taking !== null ? [this.#taking] : isOwnFault && isSoon ? this.#taken : [];
    this.begin();
    this.#suspicions = this.#suspicions.filter(({ atMs }) => nowMs - atMs <= SUSPECT_MS);
    if (channels.length > 0) this.#suspicions.push({ channels, atMs: nowMs });
  }

  /** Channels whose tapes the next hub does not take back. */
  get channels(): readonly string[] {
    const nowMs = this.#nowMs();
    const counts = new Map<string, number>();
    for (const { channels, atMs } of this.#suspicions) {
      if (nowMs - atMs > SUSPECT_MS) continue;
      for (const channel of channels) counts.set(channel, (counts.get(channel) ?? 0) + 1);
    }
    return [...counts].flatMap(([channel, count]) => (count >= TWICE ? [channel] : []));
  }
}
