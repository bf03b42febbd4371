/**
 * Which of several machines orders a certificate, and what it has said to the others. Without other machines there is none. In a cluster it is a
 * lease (cluster/certificate-turn.ts).
 */

/** What all machines of a certificate have in common, PEM. */
export interface SharedCertificate {
  /** The key of the account: each machine may be the one that the authority asks. */
  readonly account: string;
  /** The chain and its key; null: there is none yet. */
  readonly pair: string | null;
}

export interface AcmeTurn {
  /** This machine orders. */
  readonly isOwn: boolean;
  /** What the others are to have, if this machine orders. */
  say(shared: SharedCertificate): void;
  /** Whether this machine orders, and has said so to the others for this long. */
  wasSaid(forMs: number): boolean;
  /** The last that the machine that orders has said; null: nothing that can be used. */
  heard(): SharedCertificate | null;
}
