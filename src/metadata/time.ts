/**
 * Moments as pushes have them, and as readers get them. Inside, a moment is unix seconds to the millisecond between the years 0000 and 9999:
 * what RFC 3339 can write, so that every accepted moment can be written. Readers get whole seconds.
 */

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const FIRST_SECONDS = -62_167_219_200; // 0000-01-01T00:00:00Z
const LAST_SECONDS = 253_402_300_799; // 9999-12-31T23:59:59Z

/** Unix seconds; what is finer than a millisecond is cut, the leap second :60 is the next minute's first. Null when it is none (RFC 3339, section 5.6). */
export function parseRfc3339(text: string): number | null {
  const parts = RFC3339.exec(text);
  if (parts === null) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const offsetHours = Number(parts[9] ?? 0);
  const offsetMinutes = Number(parts[10] ?? 0);
  if (hour > 23 || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59) return null;
  // Not Date.UTC: it takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1) return null; // a day that the month does not have leads out of it
  const offset = (parts[8] === '-' ? -1 : 1) * (offsetHours * 3600 + offsetMinutes * 60);
  return inRange((date.getTime() + (hour * 3600 + minute * 60 + second - offset) * 1000 + ms) / 1000);
}

/** A query's time: unix seconds, with a fraction or not, 13 digits of milliseconds, or RFC 3339 whose `+` before the offset has become a blank. */
export function parseQueryTime(text: string): number | null {
  if (/^\d{13}$/.test(text)) return inRange(Number(text) / 1000);
  const unix = /^(-?\d{1,15})(?:\.(\d{1,3})\d*)?$/.exec(text);
  if (unix !== null) return inRange(Number(unix[2] === undefined ? unix[1] : `${unix[1]}.${unix[2]}`));
  return parseRfc3339(text.replace(/ (?=\d\d:\d\d$)/, '+'));
}

/** RFC 3339 in a query, as unix milliseconds: what is finer is cut. Null when it is none. */
export function parseQueryMs(text: string): number | null {
  const seconds = parseRfc3339(text.replace(/ (?=\d\d:\d\d$)/, '+'));
  return seconds === null ? null : Math.round(seconds * 1000);
}

function inRange(seconds: number): number | null {
  return seconds >= FIRST_SECONDS && seconds < LAST_SECONDS + 1 ? seconds + 0 : null;
}

/** `2026-11-20T12:37:28Z`: whole seconds, UTC; a fraction is cut. */
export function utcTime(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** One for each zone: making a formatter costs more than a thousand uses of it. The zones are those of the configuration. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/**
 * `DD.MM.YYYY HH:MM:SS` in a zone (src/metadata/README.md, "The channel record").
 * @param timezone an IANA name; throws RangeError for any other
 */
export function localTime(unixSeconds: number, timezone: string): string {
  let formatter = formatters.get(timezone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      hourCycle: 'h23', // midnight is 00, not 24
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formatters.set(timezone, formatter);
  }
  const part: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of formatter.formatToParts(unixSeconds * 1000)) part[type] = value;
  const date = `${part.day}.${part.month}.${part.year!.padStart(4, '0')}`;
  return `${date} ${part.hour}:${part.minute}:${part.second}`;
}
