/**
 * What a channel's listeners must hear while its sources change: a model of which source is on air, made of plans only, and a pattern of the places
 * at which another one may begin. Sources are known by name, in the pattern by a letter each.
 */

import type { SourceChange } from './reload-plan.js';

/** For how long a source that was taken out plays on, while one in its place does not come; and for how long it takes to see that. */
const LEAVING_MS = 12_000;
/** Shorter on air, and not a frame of it may have been sent. */
const HEARD_MS = 1000;

export class ChannelAir {
  /** Null: silence. */
  onAir: string | null = null;
  /** Another source was to be on air, and it has not been seen there. */
  isOpen = false;
  /** Until then it is not known which one is on air. */
  unknownUntilMs = 0;
  #parts: string[] = [];
  /** Several changes at a time: only where it ended is known. */
  #isFuzzy = false;
  #changedMs = Number.NEGATIVE_INFINITY;
  readonly #letters = new Map<string, string>();

  /**
   * @param before names of its sources @param after the same, as they are now @param change of a plan; absent: only what is there has changed
   * @param isThere whether a source plays, if it is asked to
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
    // One that does not come is waited for in the place of one that goes.
    if ((gone || anew) && after.some((name) => name.endsWith('/dead'))) this.unknownUntilMs = nowMs + LEAVING_MS;
    if (this.isOpen || nowMs < this.unknownUntilMs || nowMs - this.#changedMs < HEARD_MS) this.#isFuzzy = true;
    const below = after.slice(next === null ? 0 : after.indexOf(next) + 1);
    const meanwhile = gone || anew ? below : next?.startsWith('file ') ? playingBefore(below, this.onAir) : [];
    const between = meanwhile.length === 0 ? '' : `[${meanwhile.map((name) => this.letter(name)).join('')}]*`;
    this.#parts.push(`${between}${next === null ? '' : this.letter(next)}`);
    this.onAir = next;
    this.isOpen = true;
  }

  /** The one on air was seen there. */
  seen(): void {
    this.isOpen = false;
    this.#changedMs = performance.now();
  }

  letter(name: string): string {
    const known = this.#letters.get(name) ?? String.fromCharCode(97 + this.#letters.size);
    this.#letters.set(name, known);
    return known;
  }

  /** What is wrong with the sources that were heard, one behind the other, since this was asked last; '': nothing. */
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

/** A file begins only now: until its first frame what is better than the one on air, and plays already, may be heard. */
function playingBefore(names: readonly string[], onAir: string | null): readonly string[] {
  const place = onAir === null ? -1 : names.indexOf(onAir);
  return names.slice(0, Math.max(place, 0)).filter((name) => !name.startsWith('file '));
}
