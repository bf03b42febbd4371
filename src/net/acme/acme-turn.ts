/** Which of several machines orders a certificate, and what it shares with the others. */

import type { SharedTurn } from '../shared-turn.js';

/** What all machines of a certificate share, PEM. */
export interface SharedCertificate {
  /** The key of the account: each machine may be the one that the authority asks. */
  readonly account: string;
  /** The chain and its key; null: there is none yet. */
  readonly pair: string | null;
}

export type AcmeTurn = SharedTurn<SharedCertificate>;
