/**
 * The query of a request for statistics, parsed once: subject, time span, periods. A time without an offset is in the station's time zone. A refusal
 * names all bad fields.
 */

import { type FieldError, Refusal } from '../../base/refusal.js';
import { inZone, parseRfc3339, plusBefore } from '../../metadata/time.js';
import { DIMENSIONS, type Dimension, PERIODS, type Period } from '../../statistics/figures.js';
import type { Subject, TimeSpan } from '../../statistics/queries.js';

/** A configured station. */
export interface CountedStation {
  readonly key: string;
  readonly name: string;
  readonly timezone: string;
  readonly channels: readonly string[];
}

const DAY_MS = 86_400_000;
const DATE = /^\d{4}-\d\d-\d\d$/;
const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/;
const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;
/** Within these, years have four digits in every time zone, also at the end of the last month. */
const [FIRST_YEAR, LAST_YEAR] = [1970, 9998];
const YEARS = `of the years ${FIRST_YEAR} to ${LAST_YEAR}`;
const CATEGORY = /^[\x20-\x7e]{0,64}$/;

/** Parses the parameters of one request, and collects errors. */
export class StatisticsQuery {
  readonly #query: URLSearchParams;
  readonly #errors: FieldError[] = [];

  constructor(query: URLSearchParams) {
    this.#query = query;
  }

  /** `channel=` or `station=`; with `both` a station and one of its channels. @throws Refusal not-found */
  subject(stations: readonly CountedStation[], both = false): Subject {
    const [channel, station] = [this.#query.get('channel'), this.#query.get('station')];
    if (channel === null && station === null) throw invalid([{ field: 'station', message: 'or channel is missing' }]);
    if (!both && channel !== null && station !== null) {
      throw invalid([{ field: 'channel', message: 'cannot be combined with station' }]);
    }
    const found = stations.find(
      ({ key, channels }) => (station === null || key === station) && (channel === null || channels.includes(channel)),
    );
    if (found === undefined) throw new Refusal('not-found', 'There is no such station or channel.');
    const { key, name, timezone, channels } = found;
    if (channel === null) return { kind: 'station', key, timezone, name: name || key, channels };
    return { kind: 'channel', key: channel, timezone, name: name || key, channels: [channel] };
  }

  period(): Period {
    return this.#choice('by', PERIODS) ?? 'hour';
  }

  dimension(): Dimension | undefined {
    return this.#choice('of', DIMENSIONS);
  }

  /**
   * `from` and `to`, by default the last 24 hours.
   * @param nowMs unix milliseconds @param by the period of a series: days are UTC days, as stored, so that none counts for two months
   */
  span({ timezone }: Subject, nowMs: number, by?: Period): TimeSpan {
    const beforeMs = this.#time('to', timezone, by) ?? nowMs;
    const fromMs = this.#time('from', timezone, by) ?? beforeMs - DAY_MS;
    if (fromMs >= beforeMs) this.#errors.push({ field: 'from', message: 'must be before to' });
    return { fromMs, beforeMs };
  }

  /** `month`, in the station's time zone. */
  month({ timezone }: Subject): TimeSpan & { readonly month: string } {
    const month = this.#query.get('month') ?? '';
    const [, year, number] = MONTH.exec(month) ?? [];
    if (year === undefined || !isOfYears(month)) {
      this.#errors.push({ field: 'month', message: `must be a month such as 2026-11, ${YEARS}` });
      return { month, fromMs: 0, beforeMs: 0 };
    }
    const isLast = number === '12';
    const nextYear = String(Number(year) + (isLast ? 1 : 0)).padStart(4, '0');
    const next = `${nextYear}-${isLast ? '01' : String(Number(number) + 1).padStart(2, '0')}`;
    return { month, fromMs: momentOf(`${month}-01`, timezone) ?? 0, beforeMs: momentOf(`${next}-01`, timezone) ?? 0 };
  }

  /** `form`: rows for plays, or for recordings (a report of use). */
  form(): 'plays' | 'use' {
    return this.#choice('form', ['plays', 'use']) ?? 'plays';
  }

  /** `bom`: whether CSV begins with a byte order mark. */
  hasBom(): boolean {
    return this.#choice('bom', ['0', '1']) === '1';
  }

  category(): string {
    const category = this.#query.get('category') ?? '';
    if (!CATEGORY.test(category)) {
      this.#errors.push({ field: 'category', message: 'must be at most 64 characters of ASCII' });
    }
    return category;
  }

  /** Called after all parameters are read. @throws Refusal invalid, with all bad fields */
  check(): void {
    if (this.#errors.length > 0) throw invalid(this.#errors);
  }

  #choice<const T extends string>(field: string, values: readonly T[]): T | undefined {
    const given = this.#query.get(field);
    if (given === null) return undefined;
    const value = values.find((each) => each === given);
    if (value === undefined) this.#errors.push({ field, message: `must be one of: ${values.join(', ')}` });
    return value;
  }

  #time(field: string, timezone: string, by: Period | undefined): number | undefined {
    const text = this.#query.get(field);
    if (text === null) return undefined;
    const zone = by === 'day' && DATE.test(text) ? 'UTC' : timezone;
    const moment = isOfYears(text) ? momentOf(text, zone) : undefined;
    if (moment === undefined) {
      this.#errors.push({
        field,
        message: `must be a day such as 2026-11-23, or a time such as 2026-11-23T12:00:00+01:00, ${YEARS}`,
      });
    }
    return moment;
  }
}

/** Whether the year is allowed. @param text begins with the year */
function isOfYears(text: string): boolean {
  const year = Number(text.slice(0, 4));
  return year >= FIRST_YEAR && year <= LAST_YEAR;
}

/** Unix milliseconds; undefined: not a time. */
function momentOf(text: string, timezone: string): number | undefined {
  const local = DATE.test(text) ? `${text}T00:00:00` : text;
  if (LOCAL.test(local)) {
    const seconds = inZone(local, timezone);
    return seconds === local ? undefined : Number(seconds) * 1000;
  }
  const seconds = parseRfc3339(plusBefore(text));
  return seconds === null ? undefined : seconds * 1000;
}

function invalid(errors: readonly FieldError[]): Refusal {
  return new Refusal('invalid', 'Some fields are missing or invalid.', { errors });
}
