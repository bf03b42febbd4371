/** A time zone as pushes name it, for a `time` without an offset: src/metadata/README.md, "Push fields". Pure. */

import { WINDOWS_ZONES } from './windows-zones.js';

/** An IANA name that this process knows, or an offset in seconds. */
export type Zone = string | number;

/** `-05:00`, `+0100`, `UTC+1`, `GMT-3`; a minus sign counts as one. */
const OFFSET = /^(?:UTC|GMT)? ?([+\-\u2212])(\d{1,2})(?::?([0-5]\d))?$/i;
/** No clock of the world is further from UTC. */
const MAX_OFFSET_SECONDS = 14 * 3600;
/** Names of three letters that IANA has. Node takes others too, each for one of its meanings: BST for Dhaka, CST for Chicago. */
const SHORT = new Set('CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET'.split(' '));

/** Null: it is none. @param name clean */
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
  return isZoneName(iana) && (!isShort || SHORT.has(iana.toUpperCase())) ? iana : null;
}

/** Not the offsets that newer versions of Node take for names of zones. */
function isZoneName(name: string): boolean {
  if (!/^[a-z]/i.test(name)) return false;
  try {
    // Not kept: senders name it.
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** In a query the `+` of an offset has become a blank. */
export function plusOfZone(text: string): string {
  return text.replace(/^((?:Etc\/)?(?:UTC|GMT))? (?=\d)/i, '$1+');
}
