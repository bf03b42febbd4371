/**
 * Options that are looked up in the configuration whenever they are read, so that a reload is in force at once. Too slow for what is read per chunk
 * of audio.
 */

/** @param members how each member is found */
export function live<T extends object>(members: { readonly [K in keyof T]-?: () => T[K] }): T {
  const object = {};
  for (const [name, get] of Object.entries(members)) {
    Object.defineProperty(object, name, { get: get as () => unknown, enumerable: true });
  }
  return object as T;
}

/** Both as one object; what is asked for whenever it is read stays so, which a spread would end. */
export function together<A extends object, B extends object>(a: A, b: B): A & B {
  return Object.defineProperties({}, { ...descriptorsOf(a), ...descriptorsOf(b) }) as A & B;
}

function descriptorsOf(object: object): PropertyDescriptorMap {
  return Object.getOwnPropertyDescriptors(object);
}
