/**
 * What headers such as Accept prefer (RFC 9110, 12.4.2). A head may hold thousands of items, and each request is read before anything is known of its
 * client: only the first ones count.
 */

/** Browsers send fewer than ten. */
const MAX_ITEMS = 32;
const MAX_PARAMETERS = 8;

export interface Weighted {
  /** In lower case. */
  readonly name: string;
  /** 0: it is not wanted. */
  readonly q: number;
}

/** The items of a header, in their order. A weight that cannot be read is 0. */
export function weighted(header: string): Weighted[] {
  return header
    .split(',', MAX_ITEMS)
    .map((item) => item.toLowerCase().split(';', 1 + MAX_PARAMETERS))
    .map(([name = '', ...parameters]) => {
      const weight = parameters.find((text) => /^\s*q\s*=/.test(text)) ?? 'q=1';
      return { name: name.trim(), q: Number(/^\s*q\s*=\s*([0-9.]+)\s*$/.exec(weight)?.[1] ?? 0) || 0 };
    });
}
