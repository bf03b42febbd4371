/**
 * How far a node has come in the log, in memory and in its store: after a restart it continues from there. While the log's past is read, the position
 * to continue from stays at its beginning; if this process ends before its end, the next one reads it again. Owned by the engine.
 */

import { check } from '../../metadata/record-schema.js';
import type { Store } from '../../store/store.js';
import { placeSchema } from './ordered-schema.js';

export interface LogPlace {
  /** '': this node was never in a cluster. */
  readonly epoch: string;
  readonly seq: number;
  /** Of the change at this place. */
  readonly id: string;
}

/** Saved with the place, for a node that starts while Redis is away. */
interface KeptSkew {
  readonly skewMs?: number;
}

/** Its name among the store's documents. */
const DOCUMENT = 'cluster';
/** A smaller change of the skew is not saved. */
const KEPT_SKEW_STEP_MS = 1000;

export class LogPosition {
  readonly #store: Store;
  #place: LogPlace;
  /** The place of the last entry that was read; `#place` stays behind it while the past is read. */
  #read: LogPlace;
  #skewMs: number;
  #saved = '';

  constructor(store: Store) {
    this.#store = store;
    const kept = check<LogPlace & KeptSkew>(placeSchema, store.document(DOCUMENT)).value;
    this.#place = { epoch: kept?.epoch ?? '', seq: kept?.seq ?? 0, id: kept?.id ?? '' };
    this.#read = this.#place;
    this.#skewMs = kept?.skewMs ?? 0;
  }

  /** Where a restarted node continues. */
  get place(): LogPlace {
    return this.#place;
  }

  /** The number of the last entry that was read. */
  get seq(): number {
    return this.#read.seq;
  }

  /** How far this machine's clock was last known to be ahead of the cluster time. */
  get skewMs(): number {
    return this.#skewMs;
  }

  /** @param seq of the log's last entry @param isContinued whether the log continues from `place`; else its past is read */
  join(epoch: string, seq: number, isContinued: boolean): void {
    this.#read = { epoch, seq, id: isContinued ? this.#place.id : '' };
    this.#place = isContinued ? this.#read : { epoch, seq: 0, id: '' };
  }

  /** @param isReadingPast whether past entries are read meanwhile */
  onRead(seq: number, id: string, isReadingPast: boolean): void {
    this.#read = { epoch: this.#place.epoch, seq, id };
    if (!isReadingPast) this.#place = this.#read;
  }

  /** The log's past has been read as well. */
  onCaughtUp(): void {
    this.#place = this.#read;
  }

  /** Rejects if the store fails. @param applied resolves when all entries that were read are applied */
  async save(skewMs: number, applied: () => Promise<void>): Promise<void> {
    if (Math.abs(skewMs - this.#skewMs) > KEPT_SKEW_STEP_MS) this.#skewMs = skewMs;
    const place = { ...this.#place, skewMs: this.#skewMs };
    const text = JSON.stringify(place);
    if (text === this.#saved) return;
    await applied();
    await this.#store.saveDocument(DOCUMENT, place);
    this.#saved = text;
  }
}
