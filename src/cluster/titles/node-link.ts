/**
 * A node's connection to the cluster: it joins, reads the log from its position on, and joins again whenever the connection is lost. Entries
 * go to the engine, in order. A gap in the log, which is bounded, is found by the numbers; then the last values are read.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterTime } from '../cluster-time.js';
import { checkedLog } from '../log/checked-log.js';
import type { Commit, CommitAnswer } from '../log/log-schema.js';
import type { OpenSharedLog, SharedLog } from '../log/shared-log.js';
import { Standstill } from '../tapes/standstill.js';
import { type BadEntry, type LastValues, type LogBell, type LogEntry, readEntry, readLasts } from './log-entry.js';
import type { SavedPosition } from './ordered-schema.js';

export interface Joined {
  readonly log: SharedLog;
  readonly epoch: string;
  /** The epoch is another than the one that this node knows, so changes of this node may be missing there. */
  readonly isOther: boolean;
  /** All last values, by channel; null: the log continues from the node's position. */
  readonly last: LastValues | null;
}

export interface NodeLinkParts {
  readonly open: OpenSharedLog;
  position(): SavedPosition;
  channels(): readonly string[];
  /** Whether all channels were configured when the log was read up to this position. */
  isWhole(): boolean;
  lastStamp(): number;
  onJoined(joined: Joined): void;
  /** An entry from before the joining, in order, in between new ones. The next one follows when this resolves. */
  onPast(entry: LogEntry | LogBell | BadEntry): Promise<void>;
  /** With consecutive numbers. */
  onEntry(entry: LogEntry | LogBell | BadEntry): void;
  onLost(reason: Error): void;
  /** The log was read up to its end at the joining. @param isOther as Joined has it */
  onCaughtUp(isOther: boolean): void;
  /** Gets the log's time at each joining, and once a second. */
  readonly time: ClusterTime;
}

/** Maximum number of entries in one read, and how long it waits: an answer shows that the log is alive. */
const READ_ENTRIES = 100;
const READ_WAIT_MS = 1000;
/** The same for past entries: small enough not to delay new titles. */
const PAST_ENTRIES = 10;
/** How often the log's clock is read at a joining: the quickest answer is the most exact. */
const CLOCK_ASKS = 3;
/** Between two attempts; the same after a refusal. */
const [RETRY_MS, REFUSED_MS] = [200, 2000];
const [FORGOTTEN, UNWAITING] = ['it was emptied, or has different data', 'it answers before its log has an entry'];

export class NodeLink {
  readonly #parts: NodeLinkParts;
  #log: SharedLog | null = null;
  #epoch = '';
  #seq = 0;
  /** It reads past entries too, from the first to the last at the joining, for the history only: the last values are known. */
  #isReadingPast = false;
  /** Whether to read them once more after that. */
  #rereads = false;
  /** The log's last entry at the joining; null: past entries were read. */
  #joined: { readonly seq: number; readonly isOther: boolean } | null = null;
  /** Entries between the known position and the log are missing. */
  #misses = false;
  #readMs = performance.now();
  readonly #closing = new AbortController();
  #running: Promise<void> | null = null;
  #waitMs = RETRY_MS;
  /** Maximum number of entries in one read. */
  #most = READ_ENTRIES;
  readonly #standstill = new Standstill();
  /** The connection was lost while this process was suspended; `over` resolves when the entries of that time are read. */
  #waking: { readonly over: Promise<void>; readonly end: () => void } | null = null;

  constructor(parts: NodeLinkParts) {
    this.#parts = parts;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** When the log was last read to its end, monotonic milliseconds. */
  get readMs(): number {
    return this.#readMs;
  }

  /** Resolves at once; after a suspension that has cost the connection, when the entries of that time are read, or joining has failed. */
  async awake(): Promise<void> {
    await this.#waking?.over;
  }

  /** Starts joining. Resolves after the first attempt, successful or not. */
  async start(): Promise<void> {
    const first = this.#join();
    this.#running = first.then(() => this.#run());
    await first;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#standstill.close();
    this.#log?.close();
    this.#wake();
    await this.#running;
  }

  /** Whether the entries before the joining are still being read. */
  get isCatchingUp(): boolean {
    return this.#joined !== null;
  }

  /** Whether the log is read from its first entry; a node that ends meanwhile starts again there. */
  get isReadingPast(): boolean {
    return this.#isReadingPast;
  }

  /** The number of the last entry that was read. */
  get seq(): number {
    return this.#seq;
  }

  /** The last values of these channels; one without a value is left out. Rejects as the log does. */
  async last(log: SharedLog, channels: readonly string[]): Promise<LastValues> {
    return readLasts(await log.last(channels));
  }

  /** Joins again and reads all last values, as entries are missing. */
  rejoin(): void {
    this.#misses = true;
    this.#log?.close('entries of its log are missing: reading everything again');
  }

  /** It takes no changes (memory, disk, rights): it is treated as lost, and not asked again at once. */
  refused(log: SharedLog, reason: string): void {
    this.#waitMs = REFUSED_MS;
    log.close(reason);
  }

  /** Rejects with LogLost, or with the error that the log answers. */
  async commit(log: SharedLog, change: Omit<Commit, 'epoch'>): Promise<CommitAnswer> {
    const readSeq = this.#seq;
    const answer = await log.commit({ ...change, epoch: this.#epoch });
    if (answer.verdict === 'epoch') log.close(FORGOTTEN);
    // Its log begins anew within the same life of the data: parts of it were removed. This node would wait for the entry for ever.
    else if (answer.verdict === 'ok' && answer.number <= readSeq) this.rejoin();
    return answer;
  }

  /** Reads the log from its first entry again: channels were added. After the next joining, where there is none now (LogPosition). */
  reread(): void {
    const log = this.#log;
    this.#rereads = this.#isReadingPast;
    if (log === null || this.#rereads) return;
    this.#isReadingPast = true;
    this.#joined ??= { seq: this.#seq, isOther: false };
    void this.#readPast(log, this.#joined);
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const log = this.#log;
      if (log !== null) await this.#read(log);
      this.#log = null;
      if (this.#isClosed) return;
      await pause(this.#waitMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      this.#waitMs = RETRY_MS;
      if (!this.#isClosed) await this.#join();
    }
  }

  #caughtUp({ isOther, seq }: { readonly seq: number; readonly isOther: boolean }): void {
    this.#joined = null;
    this.#isReadingPast = false;
    this.#seq = Math.max(this.#seq, seq);
    this.#parts.onCaughtUp(isOther);
    this.#wake();
  }

  #onLost(reason: Error): void {
    const isSecond = this.#waking !== null;
    this.#wake();
    if (!isSecond && !this.#isClosed && this.#standstill.isRecent) {
      let end: () => void = () => undefined;
      const over = new Promise<void>((resolve) => {
        end = resolve;
      });
      this.#waking = { over, end };
    }
    this.#parts.onLost(reason);
  }

  #wake(): void {
    this.#waking?.end();
    this.#waking = null;
  }

  async #join(): Promise<void> {
    const { open, position, channels, isWhole, lastStamp, time, onJoined } = this.#parts;
    let log: SharedLog | null = null;
    try {
      // Until it has joined, a loss makes the requests below reject.
      log = checkedLog(await open((reason) => log !== null && log === this.#log && this.#onLost(reason)));
      const { epoch: mine, seq: mySeq, id } = position();
      for (let i = 0; i < CLOCK_ASKS; i++) await learnTime(log, time);
      const joining = { epoch: mine, seq: mySeq, id, freshEpoch: randomUUID(), lastStamp: lastStamp() };
      const { epoch, seq, goesOn: isThere } = await log.hello(joining);
      const goesOn = isThere && isWhole() && !this.#misses;
      const last = goesOn ? null : readLasts(await log.last(channels()));
      // A position that may not be read must not count as reached.
      for (const waitMs of [0, 1]) await log.entriesAfter(seq, 1, waitMs);
      this.#epoch = epoch;
      this.#seq = goesOn ? mySeq : seq;
      this.#isReadingPast = !goesOn;
      this.#rereads = false;
      const joined = (this.#joined = { seq, isOther: epoch !== mine });
      this.#misses = false;
      this.#log = log;
      if (log.isLost || this.#isClosed) throw new Error('the connection was lost');
      onJoined({ log, epoch, isOther: epoch !== mine, last });
      if (goesOn) return;
      this.#wake();
      void this.#readPast(log, joined);
    } catch (error) {
      this.#log = null;
      log?.close();
      this.#wake();
      if (!this.#isClosed) this.#parts.onLost(error as Error);
    }
  }

  /** Until the connection is lost. */
  async #read(log: SharedLog): Promise<void> {
    try {
      let checkedMs = performance.now();
      while (!log.isLost) {
        // In an emptied log the next number would not come for a long time.
        if (performance.now() - checkedMs >= READ_WAIT_MS) {
          if ((await log.epoch()) !== this.#epoch) return log.close(FORGOTTEN);
          await learnTime(log, this.#parts.time);
          checkedMs = performance.now();
        }
        const askedMs = performance.now();
        const entries = await log.entriesAfter(this.#seq, this.#most, READ_WAIT_MS);
        if (entries.length === 0 && performance.now() - askedMs < READ_WAIT_MS / 2) return this.refused(log, UNWAITING);
        const isAll = entries.length < this.#most;
        if (isAll) this.#readMs = performance.now();
        if (isAll && !this.#isReadingPast) this.#most = READ_ENTRIES;
        for (const entry of entries.map(readEntry)) {
          // Written by another program: the cluster writes one entry per number.
          if (entry.seq <= this.#seq) continue;
          // The missing entries were trimmed before they were read.
          if (entry.seq !== this.#seq + 1) return this.rejoin();
          this.#seq = entry.seq;
          this.#parts.onEntry(entry);
        }
        const joined = this.#isReadingPast ? null : this.#joined;
        if (joined !== null && (this.#seq >= joined.seq || entries.length === 0)) this.#caughtUp(joined);
      }
    } catch (error) {
      this.#onUnread(log, error);
    }
  }

  /** The entries may have been too long for one answer. */
  #onUnread(log: SharedLog, error: unknown): void {
    this.#most = Math.max(1, this.#most / 10);
    log.close((error as Error).message);
  }

  /** Never rejects: it closes the connection where it fails. */
  async #readPast(log: SharedLog, first: { readonly seq: number; readonly isOther: boolean }): Promise<void> {
    let joined = first;
    try {
      for (let seq = 0; seq < joined.seq; ) {
        const entries = (await log.entriesAfter(seq, Math.min(PAST_ENTRIES, this.#most), 0)).map(readEntry);
        for (const entry of entries) if (entry.seq <= joined.seq) await this.#parts.onPast(entry);
        seq = entries.at(-1)?.seq ?? joined.seq;
        if (seq < joined.seq || !this.#rereads || this.#log !== log) continue;
        this.#rereads = false;
        joined = { ...joined, seq: this.#seq };
        seq = 0;
      }
      if (this.#log === log) this.#caughtUp(joined);
    } catch (error) {
      this.#onUnread(log, error);
    }
  }
}

/** Rejects as the log does. */
async function learnTime(log: SharedLog, time: ClusterTime): Promise<void> {
  const askedMs = time.now();
  time.learn(await log.timeMs(), askedMs, time.now());
}
