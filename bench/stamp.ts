/**
 * The song in a benchmark's messages: the number and the time of the push, always of the same length, so that all messages have the same size. The
 * time, at which the push was made or due, is by the monotonic clock, which all processes of a machine share. Pure.
 */

export const STAMP_CHARACTERS = 24;

/** Milliseconds of the machine's monotonic clock. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function stamp(number: number, dueMs = nowMs()): string {
  return `${String(number).padStart(7, '0')} ${dueMs.toFixed(3).padStart(16, '0')}`;
}

/** The stamp in a record's `song`; undefined: none. */
export function readStamp(record: Buffer): { number: number; sentMs: number } | undefined {
  const at = record.indexOf('"song":"');
  const [number, sentMs] = record
    .toString('latin1', at + 8, at + 8 + STAMP_CHARACTERS)
    .split(' ')
    .map(Number);
  if (at < 0 || !Number.isInteger(number) || !Number.isFinite(sentMs)) return undefined;
  return { number: number!, sentMs: sentMs! };
}
