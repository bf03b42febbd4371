/** Whether two values of options are the same, secrets and all. Pure. */

import { isDeepStrictEqual } from 'node:util';

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Passwords to be sent are behind a call; keys compare themselves. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, i) => isSame(each, b[i]));
  if (!isMap(a) || !isMap(b)) return isDeepStrictEqual(a, b);
  if (typeof a['reveal'] === 'function' && typeof b['reveal'] === 'function') return a['reveal']() === b['reveal']();
  if (typeof a['equals'] === 'function') return a['equals'](b) === true;
  const names = Object.keys({ ...a, ...b });
  const areMaps = [a, b].every((each) => Object.getPrototypeOf(each) === Object.prototype);
  return areMaps ? names.every((name) => isSame(a[name], b[name])) : isDeepStrictEqual(a, b);
}
