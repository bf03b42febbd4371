/**
 * What several machines have in common and one of them decides: whether this one does, and what it has said to the others. Without other machines
 * there is none. In a cluster it is a lease (cluster/sealed-turn.ts).
 */

export interface SharedTurn<T> {
  /** This machine decides. */
  readonly isOwn: boolean;
  /** What the others are to have, if this machine decides. */
  say(shared: T): void;
  /** Whether this machine decides, and has said so to the others for this long. */
  wasSaid(forMs: number): boolean;
  /** The last that the machine that decides has said; null: nothing that can be used. */
  heard(): T | null;
}
