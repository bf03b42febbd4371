/** Compares values of options, including secrets, and keeps what was made from unchanged ones. Pure. */

import { isDeepStrictEqual } from 'node:util';

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether two values are equal. Passwords to be sent are behind a call; keys have their own comparison. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, i) => isSame(each, b[i]));
  if (!isMap(a) || !isMap(b)) return isDeepStrictEqual(a, b);
  if (typeof a['reveal'] === 'function' && typeof b['reveal'] === 'function') return a['reveal']() === b['reveal']();
  if (typeof a['equals'] === 'function') return a['equals'](b) === true;
  const names = Object.keys({ ...a, ...b });
  const areMaps = [a, b].every((each) => Object.getPrototypeOf(each) === Object.prototype);
  return areMaps ? names.every((name) => isSame(a[name], b[name])) : isDeepStrictEqual(a, b);
}

/** Makes an object for each entry of a list; keeps those with equal options. @returns `gone`: those no longer needed, for the caller to close */
export function remade<C, T extends { readonly config: C }>(
  before: readonly T[],
  configs: readonly C[],
  make: (config: C) => T,
): { readonly all: readonly T[]; readonly gone: readonly T[] } {
  const gone = [...before];
  const all = configs.map((config) => {
    const at = gone.findIndex((each) => isSame(each.config, config));
    return at < 0 ? make(config) : gone.splice(at, 1)[0]!;
  });
  return { all, gone };
}
