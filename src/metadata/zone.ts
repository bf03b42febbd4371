/** The time zone of a push, for a `time` without an offset: src/metadata/README.md, "Push fields". Pure. */

import { isTimezone } from '../config/field.js';
import { WINDOWS_ZONES } from './windows-zones.js';

/** An IANA name that this process knows, or an offset in seconds. */
export type Zone = string | number;

/** `-05:00`, `+0100`, `UTC+1`, `GMT-3`; also with U+2212 as minus. */
const OFFSET = /^(?:UTC|GMT)? ?([+\-\u2212])(\d{1,2})(?::?([0-5]\d))?$/i;
/** The greatest offset of any time zone. */
const MAX_OFFSET_SECONDS = 14 * 3600;
/** IANA's names of three letters. Node accepts ambiguous others: BST for Dhaka, CST for Chicago. */
const SHORT = new Set('CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET'.split(' '));

/** Null: unknown. @param name clean */
export function readZone(name: string): Zone | null {
  const [, sign, hours, minutes = 0] = OFFSET.exec(name) ?? [];
  if (sign !== undefined) {
    const seconds = Number(hours) * 3600 + Number(minutes) * 60;
    if (seconds > MAX_OFFSET_SECONDS) return null;
    return sign === '+' ? seconds : -seconds;
  }
  if (/^Z$/i.test(name)) return 0;
  const iana = WINDOWS_ZONES.get(name.toLowerCase().replace(/ (?:daylight|summer) time\b/, ' standard time')) ?? name;
  const isShort = /^[a-z]{3}$/i.test(iana);
  return isTimezone(iana) && (!isShort || SHORT.has(iana.toUpperCase())) ? iana : null;
}

/** Restores the `+` of an offset, which has become a blank in a query. */
export function plusOfZone(text: string): string {
  return text.replace(/^((?:Etc\/)?(?:UTC|GMT))? (?=\d)/i, '$1+');
}
