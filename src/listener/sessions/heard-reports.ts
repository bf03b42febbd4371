/**
 * Players' reports: `{"heardMs": 12345}`, how much audio they have played since the first byte of their stream. They come by WebSocket
 * (http/watch) or POST (http/heard-route.ts) and correct the clock of the session that plays with that metaid, in this process or another.
 *
 * Invariant: a rejected report changes nothing, and is counted by its reason. Any client that knows a metaid may report for it: it is a secret.
 */

import type { Clock } from '../../base/clock.js';
import { zeroCounts } from '../../base/counts.js';
import type { Sessions } from './sessions.js';

/** The longest report that is read. */
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
    // Strangers must not make other processes work: excess reports are stopped here.
    if (!this.#spend(budget)) return this.#count('too-often');
    return this.#others!.report(metaid, bytes).then((verdict) => this.#count(verdict));
  }

  /** A report that another process has passed on and will count. */
  judge(metaid: string, bytes: Buffer): ReportVerdict {
    const session = this.#sessions.playing(metaid);
    if (session === undefined) return 'not-playing';
    // Checked before anything is parsed.
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

/** Unknown members are ignored. */
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
