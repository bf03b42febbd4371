/**
 * Checks figures from another process (figures.ts) before they are added up: impossible rows are left out. The limits are those of one minute of
 * one process. Pure.
 */

import { KEY } from '../base/key.js';
import {
  DIMENSIONS,
  type FigureRow,
  type MinuteFigures,
  PERIOD_MS,
  type TitleRow,
  VALUE_CHARACTERS,
} from './figures.js';

/** More connections than any process has. */
const MAX_COUNT = 2 ** 31;
/** The sum of all connections. */
const MAX_TIME_MS = Number.MAX_SAFE_INTEGER;
/** A sketch with all registers, in base64. */
const MAX_SKETCH_CHARACTERS = 4096;
const SCOPE = new RegExp(`^(?:channel|station):${KEY.source.slice(1)}`);
/** How far a minute may be from now: the clock may be set meanwhile, and up to ten minutes wait for a hub. */
export const MAX_OFF_MS = PERIOD_MS.day;

/** Whether it is a minute close to now, by the wall clock or by the steady time (../base/steady-time.ts), which minutes follow after a jump. */
export function isMinuteFigures(figures: unknown, wallMs: number, steadyMs = wallMs): figures is MinuteFigures {
  if (typeof figures !== 'object' || figures === null) return false;
  const { minuteMs, saltDayMs, rows, titles } = figures as Partial<MinuteFigures>;
  return (
    Number.isSafeInteger(minuteMs) &&
    minuteMs! % PERIOD_MS.minute === 0 &&
    [wallMs, steadyMs].some((nowMs) => Math.abs(minuteMs! - nowMs) <= MAX_OFF_MS) &&
    (saltDayMs === null || Number.isSafeInteger(saltDayMs)) &&
    Array.isArray(rows) &&
    Array.isArray(titles)
  );
}

export function isFigureRow(row: unknown): row is FigureRow {
  if (!Array.isArray(row) || row.length !== 9) return false;
  const [scope, dimension, value, begun, ended, endedMs, listenedMs, peak, sketch] = row as unknown[];
  return (
    isText(scope, SCOPE) &&
    (dimension === 'total' || DIMENSIONS.some((known) => known === dimension)) &&
    isShort(value, VALUE_CHARACTERS) &&
    [begun, ended, peak].every((count) => isFrom0To(count, MAX_COUNT)) &&
    [endedMs, listenedMs].every((ms) => isFrom0To(ms, MAX_TIME_MS)) &&
    isShort(sketch, MAX_SKETCH_CHARACTERS)
  );
}

export function isTitleRow(row: unknown): row is TitleRow {
  if (!Array.isArray(row) || row.length !== 4) return false;
  const [channel, atMs, performances, listenedMs] = row as unknown[];
  return (
    isText(channel, KEY) &&
    isFrom0To(atMs, Number.MAX_SAFE_INTEGER) &&
    isFrom0To(performances, MAX_COUNT) &&
    isFrom0To(listenedMs, MAX_TIME_MS)
  );
}

function isText(text: unknown, pattern: RegExp): boolean {
  return typeof text === 'string' && pattern.test(text);
}

function isShort(text: unknown, max: number): boolean {
  return typeof text === 'string' && text.length <= max;
}

function isFrom0To(number: unknown, max: number): boolean {
  return Number.isSafeInteger(number) && (number as number) >= 0 && (number as number) <= max;
}
