/** Ranges of whole numbers as people write them: `103`, `1001-1008`. Pure. */

export interface NumberRange {
  readonly from: number;
  /** Included. */
  readonly to: number;
}

/** Of ids of content types, which have four digits at most. */
const RANGE = /^(\d{1,4})(?:-(\d{1,4}))?$/;

/** @returns undefined: it is none */
export function numberRange(text: string): NumberRange | undefined {
  const [, first, last = first] = RANGE.exec(text.trim()) ?? [];
  if (first === undefined) return undefined;
  const [from, to] = [Number(first), Number(last)];
  return from <= to ? { from, to } : undefined;
}

export function isInRanges(ranges: readonly NumberRange[], value: number): boolean {
  return ranges.some(({ from, to }) => value >= from && value <= to);
}
