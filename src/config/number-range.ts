/** Ranges of whole numbers as people write them: `103`, `1001-1008`. Pure. */

export interface NumberRange {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
}

/** Ids of content types have four digits at most. */
const RANGE = /^(\d{1,4})(?:-(\d{1,4}))?$/;

/** Parses a range. @returns undefined if it is not one */
export function numberRange(text: string): NumberRange | undefined {
  const [, first, last = first] = RANGE.exec(text.trim()) ?? [];
  if (first === undefined) return undefined;
  const [from, to] = [Number(first), Number(last)];
  return from <= to ? { from, to } : undefined;
}

export function isInRanges(ranges: readonly NumberRange[], value: number): boolean {
  return ranges.some(({ from, to }) => value >= from && value <= to);
}
