/**
 * Objects whose members are getters: options that read the configuration on each access, so that a reload takes effect at once. Too slow for
 * options that are read for every chunk of audio.
 */

/** Returns an object whose members call these functions each time they are read. */
export function withGetters<T extends object>(members: { readonly [K in keyof T]-?: () => T[K] }): T {
  const object = {};
  for (const [name, get] of Object.entries(members)) {
    Object.defineProperty(object, name, { get: get as () => unknown, enumerable: true });
  }
  return object as T;
}

/** Returns the members of both in one object. Keeps getters; a spread would copy their current values. */
export function mergeGetters<A extends object, B extends object>(a: A, b: B): A & B {
  return Object.defineProperties({}, { ...descriptorsOf(a), ...descriptorsOf(b) }) as A & B;
}

function descriptorsOf(object: object): PropertyDescriptorMap {
  return Object.getOwnPropertyDescriptors(object);
}
