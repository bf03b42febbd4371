/**
 * Players' reports: `{"heardMs": 12345}`, how much audio they have played since the first byte of their stream; for HLS `{"heardAt": DATE}`, the
 * PROGRAM-DATE-TIME of what they play. They arrive by WebSocket (http/watch) or POST (http/heard-route.ts) and correct the clock of the session
 * that plays with that metaid, in this process or another.
 *
 * Invariant: a rejected report changes nothing, and is counted by its reason. Any client that knows a metaid may report for it: it is a secret.
 */

import type { Clock } from '../../base/clock.js';
import { zeroCounts } from '../../base/counts.js';
import type { Sessions } from './sessions.js';

/** Maximum length of a report. */
export const REPORT_BYTES = 256;

/** RFC 3339. */
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

export const REPORT_VERDICTS = [
  'taken',
  'unreadable',
  'malformed',
  'impossible',
  'too-often',
  'not-playing',
  'former',
] as const;
export type ReportVerdict = (typeof REPORT_VERDICTS)[number];

/** Milliseconds, or for HLS a date in unix milliseconds. */
type HeardPosition = { readonly heardMs: number } | { readonly heardAtMs: number };

interface HeardReport {
  readonly position: HeardPosition;
  /** The id of the session; undefined: the current one. */
  readonly session: string | undefined;
}

/** How often one session may be corrected. */
export interface ReportBudget {
  /** When the reports accepted so far are used up. */
  reportableMs: number;
}

/** Sessions of other processes. */
export interface OtherReports {
  /** Null: this process has the session of this metaid, or none has. */
  budgetOf(metaid: string): ReportBudget | 'not-playing' | null;
  /** Does not reject. */
  report(metaid: string, bytes: Buffer): Promise<ReportVerdict>;
}

export class HeardReports {
  readonly #sessions: Sessions;
  readonly #others: OtherReports | null;
  readonly #clock: Clock;
  readonly #everyMs: () => number;
  readonly counts = zeroCounts(REPORT_VERDICTS);

  /** @param everyMs least average interval between reports of a session; two may come at once @param others null: there are no other processes */
  constructor(sessions: Sessions, clock: Clock, everyMs: () => number, others: OtherReports | null = null) {
    this.#sessions = sessions;
    this.#others = others;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** @param bytes JSON, at most REPORT_BYTES @returns a promise if the session is in another process; it does not reject */
  take(metaid: string, bytes: Buffer): ReportVerdict | Promise<ReportVerdict> {
    const budget = this.#others?.budgetOf(metaid) ?? null;
    if (budget === null) return this.#count(this.judge(metaid, bytes));
    if (budget === 'not-playing') return this.#count(budget);
    // Strangers must not make other processes work: excess reports are stopped here.
    if (!this.#spend(budget)) return this.#count('too-often');
    return this.#others!.report(metaid, bytes).then((verdict) => this.#count(verdict));
  }

  /** Judges a report, also one that another process has passed on and will count. */
  judge(metaid: string, bytes: Buffer): ReportVerdict {
    const session = this.#sessions.playing(metaid);
    if (session === undefined) return 'not-playing';
    // Checked before anything is parsed.
    if (!this.#spend(session)) return 'too-often';
    const report = readReport(bytes);
    if (typeof report === 'string') return report;
    if (report.session !== undefined && report.session !== session.id) return 'former';
    const { position } = report;
    const nowMs = this.#clock.now();
    const isTaken =
      'heardMs' in position ? session.report(position.heardMs, nowMs) : session.reportDate(position.heardAtMs, nowMs);
    return isTaken ? 'taken' : 'impossible';
  }

  #spend(budget: ReportBudget): boolean {
    const nowMs = this.#clock.now();
    const everyMs = this.#everyMs();
    if (budget.reportableMs > nowMs + everyMs) return false;
    budget.reportableMs = Math.max(budget.reportableMs, nowMs) + everyMs;
    return true;
  }

  #count(verdict: ReportVerdict): ReportVerdict {
    this.counts[verdict]++;
    return verdict;
  }
}

/** Unknown members are ignored. */
function readReport(bytes: Buffer): HeardReport | 'unreadable' | 'malformed' {
  let report: { readonly heardMs?: unknown; readonly heardAt?: unknown; readonly session?: unknown } | null;
  try {
    report = JSON.parse(bytes.toString());
  } catch {
    return 'unreadable';
  }
  if (typeof report !== 'object' || report === null) return 'unreadable';
  const { session } = report;
  const position = positionOf(report);
  if (position === null || (session !== undefined && typeof session !== 'string')) return 'malformed';
  return { position, session };
}

/** Exactly one of the two; null: neither, or both. */
function positionOf({
  heardMs,
  heardAt,
}: {
  readonly heardMs?: unknown;
  readonly heardAt?: unknown;
}): HeardPosition | null {
  if (heardAt === undefined) return typeof heardMs === 'number' ? { heardMs } : null;
  if (heardMs !== undefined || typeof heardAt !== 'string' || !DATE.test(heardAt)) return null;
  const heardAtMs = Date.parse(heardAt);
  return Number.isNaN(heardAtMs) ? null : { heardAtMs };
}
