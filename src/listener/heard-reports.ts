/**
 * What players report about themselves: `{"heardMs": 12345}`, how much audio they have played since the first byte of their stream. It comes by
 * WebSocket (http/watch) or POST (http/heard.ts), is read here, and corrects the clock of the session that plays with that metaid.
 *
 * Invariant: a report that is not taken changes nothing, and is counted by its reason. A client that
 * knows a metaid may report for it: it is a secret.
 */

import type { Clock } from '../base/clock.js';
import type { Sessions } from './sessions.js';

/** A longer report is not read. */
export const REPORT_BYTES = 256;

export type ReportVerdict =
  | 'taken'
  | 'unreadable'
  | 'malformed'
  | 'impossible'
  | 'too-often'
  | 'not-playing'
  | 'former';

interface HeardReport {
  readonly heardMs: number;
  /** The id of the session that it is about; undefined: the present one. */
  readonly session: string | undefined;
}

export class HeardReports {
  readonly #sessions: Sessions;
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly counts: Record<ReportVerdict, number> = {
    taken: 0,
    unreadable: 0,
    malformed: 0,
    impossible: 0,
    'too-often': 0,
    'not-playing': 0,
    former: 0,
  };

  /** @param everyMs how often a session may be corrected, on average: two reports may come at once */
  constructor(sessions: Sessions, clock: Clock, everyMs: number) {
    this.#sessions = sessions;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** @param bytes JSON, at most REPORT_BYTES */
  take(metaid: string, bytes: Buffer): ReportVerdict {
    const verdict = this.#judge(metaid, bytes);
    this.counts[verdict]++;
    return verdict;
  }

  #judge(metaid: string, bytes: Buffer): ReportVerdict {
    const session = this.#sessions.playing(metaid);
    if (session === undefined) return 'not-playing';
    const nowMs = this.#clock.now();
    // Looked at before anything is read.
    if (session.reportableMs > nowMs + this.#everyMs) return 'too-often';
    session.reportableMs = Math.max(session.reportableMs, nowMs) + this.#everyMs;
    const report = readReport(bytes);
    if (typeof report === 'string') return report;
    if (report.session !== undefined && report.session !== session.id) return 'former';
    return session.report(report.heardMs, nowMs) ? 'taken' : 'impossible';
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
