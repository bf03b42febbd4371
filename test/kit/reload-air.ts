/**
 * Predicts what a channel's listeners hear while its sources change: a model of the source on air, from reload plans only, and a pattern of the
 * allowed sequences. Sources are identified by name, and in the pattern by a letter each.
 */

import type { SourceChange } from './reload-plan.js';

/** How long a removed source plays on while its replacement does not connect, and how long until that is seen. */
const LEAVING_MS = 12_000;
/** A source on air for less than this may not have had a frame sent. */
const HEARD_MS = 1000;

export class ChannelAir {
  /** Null: silence. */
  onAir: string | null = null;
  /** Whether another source is due on air, but was not seen there yet. */
  isOpen = false;
  /** Until then, the source on air is unknown. */
  unknownUntilMs = 0;
  #parts: string[] = [];
  /** True after several changes at once: only the final source is known. */
  #isFuzzy = false;
  #changedMs = Number.NEGATIVE_INFINITY;
  readonly #letters = new Map<string, string>();

  /**
   * @param before names of its sources @param after their names now @param change from a plan; absent: only the available sources have changed
   * @param isThere whether a source would play
   */
  change(
    before: readonly string[],
    after: readonly string[],
    change: SourceChange | undefined,
    isThere: (name: string) => boolean,
  ) {
    const place = this.onAir === null ? -1 : before.indexOf(this.onAir);
    const gone = change?.gone.has(place) ?? false;
    const anew = this.onAir !== null && (change?.anew.has(after.indexOf(this.onAir)) ?? false);
    const next = after.find(isThere) ?? null;
    const nowMs = performance.now();
    if (!gone && !anew && next === this.onAir && !this.isOpen && nowMs > this.unknownUntilMs) return;
    // A removed source plays on while its replacement does not connect.
    if ((gone || anew) && after.some((name) => name.endsWith('/dead'))) this.unknownUntilMs = nowMs + LEAVING_MS;
    if (this.isOpen || nowMs < this.unknownUntilMs || nowMs - this.#changedMs < HEARD_MS) this.#isFuzzy = true;
    const below = after.slice(next === null ? 0 : after.indexOf(next) + 1);
    const meanwhile = gone || anew ? below : next?.startsWith('file ') ? playingBefore(below, this.onAir) : [];
    const between = meanwhile.length === 0 ? '' : `[${meanwhile.map((name) => this.letter(name)).join('')}]*`;
    this.#parts.push(`${between}${next === null ? '' : this.letter(next)}`);
    this.onAir = next;
    this.isOpen = true;
  }

  /** The source on air was seen there. */
  seen(): void {
    this.isOpen = false;
    this.#changedMs = performance.now();
  }

  letter(name: string): string {
    const known = this.#letters.get(name) ?? String.fromCharCode(97 + this.#letters.size);
    this.#letters.set(name, known);
    return known;
  }

  /** The fault of the sequence of sources heard since the last call; '': none. */
  judge(heard: readonly string[]): string {
    const [pattern, isFuzzy] = [this.#parts.join(''), this.#isFuzzy];
    this.#parts = [];
    this.#isFuzzy = this.isOpen;
    if (isFuzzy || this.isOpen) return '';
    const letters = heard.map((name) => this.letter(name)).join('');
    if (new RegExp(`^${pattern}$`).test(letters)) return '';
    const names = [...this.#letters].map(([name, letter]) => `${letter}: ${name}`).join(', ');
    return `heard ${JSON.stringify(letters)}, planned ${JSON.stringify(pattern)} (${names})`;
  }
}

/** Sources that may be heard until the first frame of a file that just begins: better ones that play already. */
function playingBefore(names: readonly string[], onAir: string | null): readonly string[] {
  const place = onAir === null ? -1 : names.indexOf(onAir);
  return names.slice(0, Math.max(place, 0)).filter((name) => !name.startsWith('file '));
}
