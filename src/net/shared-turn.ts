/**
 * A value that several machines share and one of them decides. In a cluster it is a lease (cluster/sealed-turn.ts); without other machines there
 * is none.
 */

export interface SharedTurn<T> {
  /** Whether this machine decides. */
  readonly isOwn: boolean;
  /** Publishes this value to the others, if this machine decides. */
  say(shared: T): void;
  /** Whether this machine decides, and published its present value at least this long ago. */
  wasSaid(forMs: number): boolean;
  /** The last value of the machine that decides, another one; null: none that can be used. */
  heard(): T | null;
}
