/**
 * Parses and formats moments. Internally a moment is unix seconds to the millisecond between the years 0000 and 9999, the range of RFC 3339.
 * Readers get whole seconds.
 */

import { isTimezone } from '../config/field.js';
import type { Zone } from './zone.js';

/** RFC 3339, section 5.6, and variants: a blank for the T or before the offset, a decimal comma, an offset without colon or minutes, or none. */
const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?: ?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?))?$/;
const UNIX = /^(-?\d{1,15})(?:[.,](\d*))?$/;
/** Digits of unix time in milliseconds: seconds with as many digits are after the year 9999. */
const MS_DIGITS = 13;
export const FIRST_SECONDS = -62_167_219_200; // 0000-01-01T00:00:00Z
export const LAST_SECONDS = 253_402_300_799; // 9999-12-31T23:59:59Z

/** Unix seconds, cut to milliseconds; the leap second :60 is the next minute's first. Null: invalid, or without an offset. */
export function parseRfc3339(text: string): number | null {
  const parts = DATE_TIME.exec(text);
  return parts === null || isLocal(parts) ? null : momentOf(parts);
}

/** The time of a push as unix seconds: a date and time (without an offset in UTC: see inZone), unix seconds, or 13 digits of milliseconds. */
export function parsePushTime(text: string): number | null {
  const unix = UNIX.exec(text);
  if (unix === null) {
    const parts = DATE_TIME.exec(text);
    return parts === null ? null : momentOf(parts);
  }
  const [, whole = '', fraction = ''] = unix;
  const seconds = Number(`${whole}.${fraction.slice(0, 3)}`);
  return inRange(/^\d+$/.test(whole) && whole.length === MS_DIGITS ? Math.trunc(seconds) / 1000 : seconds);
}

/**
 * Converts a time without an offset to unix seconds in a zone; returns other text unchanged. Of two moments with the same local time (the clock
 * was set back) the first counts; a skipped local time (it was set forward) counts as if it had not been set.
 */
export function inZone(text: string, zone: Zone): string {
  const parts = DATE_TIME.exec(text);
  if (parts === null || !isLocal(parts)) return text;
  const local = momentOf(parts);
  if (local === null) return text;
  if (typeof zone === 'number') return String(local - zone);
  // Not cached, since senders choose the zone.
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  // The offset before any change of that day, and after it.
  const before = local - offsetSeconds(format, local - 86_400);
  const after = local - offsetSeconds(format, local + 86_400);
  const isBefore = before + offsetSeconds(format, before) === local || after + offsetSeconds(format, after) !== local;
  return String(isBefore ? before : after);
}

/** Whether this process knows a time zone. Fast for zones in use. */
export function isZone(timezone: string): boolean {
  return zones.has(timezone) || isTimezone(timezone);
}

function offsetSeconds(format: Intl.DateTimeFormat, unixSeconds: number): number {
  const name = format.formatToParts(unixSeconds * 1000).find(({ type }) => type === 'timeZoneName')!.value;
  const [, sign, hours, minutes, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name) ?? [];
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
}

/** Formatters of offsets by zone. */
const offsetFormatters = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-23T23:00:00+01:00`: RFC 3339 in a configured zone, whole seconds. */
export function zonedTime(unixSeconds: number, timezone: string): string {
  let format = offsetFormatters.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
    offsetFormatters.set(timezone, format);
  }
  const offset = offsetSeconds(format, unixSeconds);
  const minutes = Math.trunc(Math.abs(offset) / 60);
  const two = (number: number) => String(number).padStart(2, '0');
  const written = `${offset < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}:${two(minutes % 60)}`;
  return `${new Date((unixSeconds + offset) * 1000).toISOString().slice(0, 19)}${written}`;
}

function isLocal(parts: RegExpExecArray): boolean {
  return parts[8] === undefined && parts[9] === undefined;
}

/** Without an offset in UTC. */
function momentOf(parts: RegExpExecArray): number | null {
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const offsetHours = Number(parts[10] ?? 0);
  const offsetMinutes = Number(parts[11] ?? 0);
  if (hour > 23 || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59) return null;
  // Not Date.UTC: it takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1) return null; // a day that the month does not have leads out of it
  const offset = (parts[9] === '-' ? -1 : 1) * (offsetHours * 3600 + offsetMinutes * 60);
  return inRange((date.getTime() + (hour * 3600 + minute * 60 + second - offset) * 1000 + ms) / 1000);
}

/** Restores the `+` of an offset, which has become a blank in a query. */
export function plusBefore(text: string): string {
  return text.replace(/ (?=\d\d(?::?\d\d)?$)/, '+');
}

/** RFC 3339 in a query, as unix milliseconds. Null: invalid. */
export function parseQueryMs(text: string): number | null {
  const seconds = parseRfc3339(plusBefore(text));
  return seconds === null ? null : Math.round(seconds * 1000);
}

function inRange(seconds: number): number | null {
  return seconds >= FIRST_SECONDS && seconds < LAST_SECONDS + 1 ? seconds + 0 : null;
}

/** `2026-11-20T12:37:28Z`: whole seconds, UTC; a fraction is cut. */
export function utcTime(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** By configured zone: making a formatter costs more than a thousand uses. The last second's text is kept, too. */
const zones = new Map<string, { readonly formatter: Intl.DateTimeFormat; lastSeconds: number; lastText: string }>();

/**
 * `DD.MM.YYYY HH:MM:SS` in a zone (src/metadata/README.md, "The channel record").
 * @param timezone an IANA name; throws RangeError for any other
 */
export function localTime(unixSeconds: number, timezone: string): string {
  let zone = zones.get(timezone);
  if (zone === undefined) {
    const formatter = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      hourCycle: 'h23', // midnight is 00, not 24
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    zones.set(timezone, (zone = { formatter, lastSeconds: Number.NaN, lastText: '' }));
  }
  if (unixSeconds === zone.lastSeconds) return zone.lastText;
  const part: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of zone.formatter.formatToParts(unixSeconds * 1000)) part[type] = value;
  const date = `${part.day}.${part.month}.${part.year!.padStart(4, '0')}`;
  zone.lastText = `${date} ${part.hour}:${part.minute}:${part.second}`;
  zone.lastSeconds = unixSeconds;
  return zone.lastText;
}
