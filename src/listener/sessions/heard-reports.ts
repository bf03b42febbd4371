/**
 * What players report about themselves: `{"heardMs": 12345}`, how much audio they have played since the first byte of their stream. It comes by
 * WebSocket (http/watch) or POST (http/heard.ts), is read here, and corrects the clock of the session that plays with that metaid.
 *
 * Where another process has that session the report is passed on to it.
 *
 * Invariant: a report that is not taken changes nothing, and is counted by its reason. A client that
 * knows a metaid may report for it: it is a secret.
 */

import type { Clock } from '../../base/clock.js';
import type { Sessions } from './sessions.js';

/** A longer report is not read. */
export const REPORT_BYTES = 256;

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

interface HeardReport {
  readonly heardMs: number;
  /** The id of the session that it is about; undefined: the present one. */
  readonly session: string | undefined;
}

/** How often one session may be corrected. */
export interface ReportBudget {
  /** Until when there were reports enough. */
  reportableMs: number;
}

/** Sessions of other processes. */
export interface OtherReports {
  /** Of the session of this metaid. Null: it is here, or nowhere. */
  budgetOf(metaid: string): ReportBudget | 'not-playing' | null;
  /** Does not reject. */
  report(metaid: string, bytes: Buffer): Promise<ReportVerdict>;
}

export class HeardReports {
  readonly #sessions: Sessions;
  readonly #others: OtherReports | null;
  readonly #clock: Clock;
  readonly #everyMs: () => number;
  readonly counts: Record<ReportVerdict, number> = {
    taken: 0,
    unreadable: 0,
    malformed: 0,
    impossible: 0,
    'too-often': 0,
    'not-playing': 0,
    former: 0,
  };

  /** @param everyMs how often a session may be corrected, on average: two reports may come at once @param others null: there are none */
  constructor(sessions: Sessions, clock: Clock, everyMs: () => number, others: OtherReports | null = null) {
    this.#sessions = sessions;
    this.#others = others;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** @param bytes JSON, at most REPORT_BYTES @returns at once where the session is of this process; does not reject */
  take(metaid: string, bytes: Buffer): ReportVerdict | Promise<ReportVerdict> {
    const budget = this.#others?.budgetOf(metaid) ?? null;
    if (budget === null) return this.#count(this.judge(metaid, bytes));
    if (budget === 'not-playing') return this.#count(budget);
    // Strangers must not make other processes work: what comes too often goes no further.
    if (!this.#spend(budget)) return this.#count('too-often');
    return this.#others!.report(metaid, bytes).then((verdict) => this.#count(verdict));
  }

  /** What another process has passed on, which counts it. */
  judge(metaid: string, bytes: Buffer): ReportVerdict {
    const session = this.#sessions.playing(metaid);
    if (session === undefined) return 'not-playing';
    // Looked at before anything is read.
    if (!this.#spend(session)) return 'too-often';
    const report = readReport(bytes);
    if (typeof report === 'string') return report;
    if (report.session !== undefined && report.session !== session.id) return 'former';
    return session.report(report.heardMs, this.#clock.now()) ? 'taken' : 'impossible';
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

/** Members that are not known are ignored. */
function readReport(bytes: Buffer): HeardReport | 'unreadable' | 'malformed' {
  let report: { readonly heardMs?: unknown; readonly session?: unknown } | null;
  try {
    report = JSON.parse(bytes.toString());
  } catch {
    return 'unreadable';
  }
  if (typeof report !== 'object' || report === null) return 'unreadable';
  const { heardMs, session } = report;
  if (typeof heardMs !== 'number' || (session !== undefined && typeof session !== 'string')) return 'malformed';
  return { heardMs, session };
}
