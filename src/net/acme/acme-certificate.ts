/**
 * One certificate that the server obtains by ACME: ordered if there is no usable one, and again when two thirds of its life are over. Owned by
 * AcmeCertificates, which calls `look` once a second.
 *
 *   none, damaged, or due ─► the turn (of several machines one orders) ─► order ─► written ─► net/tls/certificate.ts finds it, in every process
 *                                └─ failed: a pause, which doubles from 2 minutes to 6 hours, or as the authority says
 *
 * Invariant: a certificate is ordered at most ORDERS_AN_HOUR times an hour, whatever fails and however often the server starts, since authorities
 * lock out clients that order more often. Each order is noted on disk before it is made.
 */

import type { Clock } from '../../base/clock.js';
import type { AcmeConfig } from '../../config/addresses/tls.js';
import { type AcmeFiles, type KeptPair, pairOf } from './acme-files.js';
import { isKey } from './acme-key.js';
import type { AcmeTurn } from './acme-turn.js';

/** Let's Encrypt allows five failed proofs an hour. */
export const ORDERS_AN_HOUR = 4;
const HOUR_MS = 3_600_000;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [120_000, 6 * HOUR_MS];
/** Spreads the orders of many servers after an authority's outage. */
const JITTER = 0.25;
/** After this part of its life it is renewed. */
const RENEW_AT = 2 / 3;
/** How often its files are read. */
const LOOK_MS = 2000;
/** The other machines have to know the account before the authority asks one of them. */
const SPREAD_MS = 2000;
/** How long the first order waits for this server to answer itself (own-proof.ts): the authority may reach it although it cannot reach itself. */
const UNPROVED_MS = 30_000;

export interface AcmeOutput {
  /** At the start: there is no usable certificate. */
  onMissing(): void;
  /** A new certificate was written. */
  onIssued(pair: KeptPair): void;
  /** Called for the first failure in a row, and when the reason changes. @param pauseMs until the next order */
  onFailed(reason: string, pauseMs: number): void;
  /** Its files cannot be read or written: called for the first failure in a row, and when the reason changes. */
  onError(error: Error): void;
}

export interface AcmeCertificateParts {
  readonly acme: AcmeConfig;
  readonly files: AcmeFiles;
  readonly clock: Clock;
  /** Null: no other machine serves these domains. */
  readonly turn: AcmeTurn | null;
  /** Resolves with a chain and its key, PEM; rejects with an OrderRefused. */
  order(acme: AcmeConfig, accountKey: string): Promise<string>;
  /** Whether this server would answer the authority. */
  isProved(acme: AcmeConfig, accountKey: string): Promise<boolean>;
  random(): number;
}

export class AcmeCertificate {
  readonly counts = { issued: 0, failed: 0 };
  /** Why the last look at its files failed; null: it did not. */
  #lookFault: string | null = null;
  /** Why the last order failed; null: it did not. */
  problem: string | null = null;
  readonly #parts: AcmeCertificateParts;
  readonly #output: AcmeOutput;
  /** When it stops waiting for this server to answer itself, monotonic milliseconds; null: it does not wait. */
  #unprovedMs: number | null;
  #isPrepared = false;
  #isBusy = false;
  #lookAtMs = Number.NEGATIVE_INFINITY;
  #nextOrderMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** The failure that was reported last; null: the next one is reported. */
  #said: string | null = null;
  #pair: KeptPair | null = null;

  constructor(parts: AcmeCertificateParts, output: AcmeOutput) {
    this.#parts = parts;
    this.#output = output;
    this.#unprovedMs = parts.clock.now() + UNPROVED_MS;
  }

  /** Null: there is none, or its files were not read yet. */
  get pair(): KeptPair | null {
    return this.#pair;
  }

  /** Whether it is reading its files, or being ordered. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** A reload has changed its options: it may be ordered at once, as former failures may be mended. */
  again(): void {
    this.#nextOrderMs = Number.NEGATIVE_INFINITY;
    this.#failures = 0;
    this.#said = null;
  }

  /** Called once a second. */
  look(nowMs: number): void {
    if (this.#isBusy || nowMs < this.#lookAtMs) return;
    this.#isBusy = true;
    void this.#look()
      .then(
        () => {
          this.#lookFault = null;
        },
        (error: Error) => {
          if (this.#lookFault !== error.message) this.#output.onError(error);
          this.#lookFault = error.message;
        },
      )
      .finally(() => {
        this.#isBusy = false;
        this.#lookAtMs = this.#parts.clock.now() + LOOK_MS;
      });
  }

  async #look(): Promise<void> {
    const { files, turn, clock } = this.#parts;
    if (!this.#isPrepared) await this.#prepare();
    this.#isPrepared = true;
    if (turn !== null && !turn.isOwn) await this.#follow(turn);
    const account = await files.account();
    this.#pair = await files.pair();
    turn?.say({ account, pair: this.#pair?.pem ?? null });
    if (!this.#isDue() || clock.now() < this.#nextOrderMs) return;
    if (turn !== null && !turn.wasSaid(SPREAD_MS)) return;
    if (await this.#isProved(account)) await this.#order(account);
  }

  async #isProved(account: string): Promise<boolean> {
    const { acme, clock, isProved } = this.#parts;
    if (this.#unprovedMs === null) return true;
    if (!(await isProved(acme, account)) && clock.now() < this.#unprovedMs) return false;
    this.#unprovedMs = null;
    return true;
  }

  /** A certificate of former domains of this address serves until there is a new one. */
  async #prepare(): Promise<void> {
    const { acme, files, clock } = this.#parts;
    await files.prepare();
    if ((await files.pair()) !== null) return;
    const former = await files.formerPair(acme.domains, clock.wallMs());
    if (former === null) this.#output.onMissing();
    else await files.savePair(former.pem);
  }

  /** Takes account and certificate of the machine that orders. */
  async #follow(turn: AcmeTurn): Promise<void> {
    const { files } = this.#parts;
    const heard = turn.heard();
    if (heard === null || !isKey(heard.account)) return;
    if (heard.account !== (await files.account())) await files.saveAccount(heard.account);
    const theirs = heard.pair === null ? null : pairOf(heard.pair);
    const own = await files.pair();
    // One that expires earlier is stale, or replayed by an attacker.
    if (theirs === null || (own !== null && this.#isWhole(own) && theirs.endsMs <= own.endsMs)) return;
    await files.savePair(theirs.pem);
    this.#said = null;
    this.problem = null;
    this.#output.onIssued(theirs);
  }

  #isDue(): boolean {
    if (this.#pair === null || !this.#isWhole(this.#pair)) return true;
    const { beginsMs, endsMs } = this.#pair;
    return this.#parts.clock.wallMs() >= beginsMs + (endsMs - beginsMs) * RENEW_AT;
  }

  #isWhole({ isFor }: KeptPair): boolean {
    return this.#parts.acme.domains.every(isFor);
  }

  async #order(account: string): Promise<void> {
    const { acme, files, clock, order } = this.#parts;
    const wallMs = clock.wallMs();
    // A time in the future comes from a clock that was wrong.
    const lately = (await files.orders()).filter((atMs) => atMs > wallMs - HOUR_MS && atMs <= wallMs);
    if (lately.length >= ORDERS_AN_HOUR) {
      this.#nextOrderMs = clock.now() + Math.min(...lately) + HOUR_MS - wallMs;
      return;
    }
    await files.saveOrders([...lately, wallMs]);
    try {
      const pem = await order(acme, account);
      await files.savePair(pem);
      this.#pair = pairOf(pem)!;
      this.#parts.turn?.say({ account, pair: pem });
      this.counts.issued++;
      this.#output.onIssued(this.#pair);
      // Otherwise it would be ordered again and again.
      if (this.#isDue())
        throw new Error('the new certificate is already due for renewal: is the clock of this machine right?');
      this.#failures = 0;
      this.#said = null;
      this.problem = null;
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error & { readonly afterMs?: number }): void {
    const { clock, random } = this.#parts;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 20), LONGEST_PAUSE_MS);
    const spreadMs = pauseMs * (1 - JITTER + 2 * JITTER * random());
    const waitMs = Math.max(spreadMs, error.afterMs ?? 0);
    this.#failures++;
    this.counts.failed++;
    this.#nextOrderMs = clock.now() + waitMs;
    if (this.#said !== error.message) this.#output.onFailed(error.message, waitMs);
    this.#said = error.message;
    this.problem = error.message;
  }
}
