/**
 * How far a node has come in the log, in memory and in its store: after a restart it continues from there. While the log's past is read, the position
 * to continue from stays at its beginning; if this process ends before its end, the next one reads it again. Owned by the engine.
 */

import { check } from '../../metadata/record-schema.js';
import type { Store } from '../../store/store.js';
import { logPositionSchema, type SavedPosition } from './ordered-schema.js';

/** Its name among the store's documents. */
const DOCUMENT = 'cluster';
/** A smaller change of the skew is not saved. */
const KEPT_SKEW_STEP_MS = 1000;

export class LogPosition {
  readonly #store: Store;
  #position: SavedPosition;
  /** The place of the last entry that was read; `#place` stays behind it while the past is read. */
  #read: SavedPosition;
  #skewMs: number;
  readonly #channels: readonly string[] | undefined;
  /** Channels that were not there when the log was read up to the place: it has to be read again. */
  readonly #unread = new Set<string>();
  #saved = '';

  constructor(store: Store) {
    this.#store = store;
    const kept = check(logPositionSchema, store.document(DOCUMENT)).value;
    this.#position = { epoch: kept?.epoch ?? '', seq: kept?.seq ?? 0, id: kept?.id ?? '' };
    this.#read = this.#position;
    this.#skewMs = kept?.skewMs ?? 0;
    this.#channels = kept?.channels;
  }

  /** Where a restarted node continues. */
  get position(): SavedPosition {
    return this.#position;
  }

  /** Whether the changes of all channels were read up to the place. */
  get isWhole(): boolean {
    return this.#unread.size === 0;
  }

  /** @param channels of the configuration with which the process begins */
  begin(channels: readonly string[]): void {
    const known = new Set(this.#channels ?? channels);
    this.expect(channels.filter((channel) => !known.has(channel)));
  }

  /** These channels were added. */
  expect(added: readonly string[]): void {
    for (const channel of added) this.#unread.add(channel);
  }

  /** The number of the last entry that was read. */
  get seq(): number {
    return this.#read.seq;
  }

  /** How far this machine's clock was last known to be ahead of the cluster time. */
  get skewMs(): number {
    return this.#skewMs;
  }

  /**
   * In another life of the data the place stays in the former one until the past is read, since the log may lack what this node has.
   * @param seq of the log's last entry @param isContinued whether the log continues from `place`; else its past is read
   */
  join(epoch: string, seq: number, isContinued: boolean): void {
    this.#read = { epoch, seq, id: isContinued ? this.#position.id : '' };
    if (isContinued) this.#position = this.#read;
    else if (epoch === this.#position.epoch) this.#position = { epoch, seq: 0, id: '' };
  }

  /** @param isReadingPast whether past entries are read meanwhile */
  onRead(seq: number, id: string, isReadingPast: boolean): void {
    this.#read = { epoch: this.#read.epoch, seq, id };
    if (!isReadingPast) this.#position = this.#read;
  }

  /** The log's past has been read as well. */
  onCaughtUp(): void {
    this.#position = this.#read;
    this.#unread.clear();
  }

  /** Rejects if the store fails. @param channels that are read @param applied resolves when all entries that were read are applied */
  async save(skewMs: number, channels: readonly string[], applied: () => Promise<void>): Promise<void> {
    if (Math.abs(skewMs - this.#skewMs) > KEPT_SKEW_STEP_MS) this.#skewMs = skewMs;
    const read = channels.filter((channel) => !this.#unread.has(channel)).sort();
    const position = { ...this.#position, skewMs: this.#skewMs, channels: read };
    const text = JSON.stringify(position);
    if (text === this.#saved) return;
    await applied();
    await this.#store.saveDocument(DOCUMENT, position);
    this.#saved = text;
  }
}
