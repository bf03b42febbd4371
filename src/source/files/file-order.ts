/**
 * The order in which a switch prefers its sources: as configured, except among files. Of several files, one with the codec that listeners hear comes
 * first, then one with the same sample rate and channels, so that they can go on. Also: which files the switch waits for. Pure.
 */

import { type AudioFormat, likeness } from '../../audio/frames/audio-format.js';
import type { Input } from '../input.js';

/** How long to wait for a file that has not delivered yet before the next best one is started, so that not both are heard in turn. */
const FILE_MS = 500;

/**
 * @param onAir counts as having the format on air if its own is unknown
 * @param playing the format that listeners hear; null: nothing was played yet
 * @returns each input once
 */
export function orderOf(inputs: readonly Input[], onAir: Input | null, playing: AudioFormat | null): readonly Input[] {
  const files = inputs.filter(({ source }) => source.kind === 'file');
  if (files.length < 2 || playing === null) return inputs;
  const likenessOf = (input: Input) => {
    const format = input.source.format ?? (input === onAir ? playing : null);
    return format === null ? 0 : likeness(format, playing);
  };
  files.sort((one, other) => likenessOf(other) - likenessOf(one));
  return inputs.map((input) => (input.source.kind === 'file' ? files.shift()! : input));
}

/** Whether a file that is better than this input is about to deliver. */
export function isFileComing(inputs: readonly Input[], input: Input, onAir: Input | null, nowMs: number): boolean {
  return inputs.some((each) => {
    const isBetter = each.source.kind === 'file' && each.rank < input.rank && each !== onAir && !each.hasFailed;
    return isBetter && (!each.running || isComing(each, nowMs));
  });
}

/** Whether it was started a moment ago. */
export function isComing({ source, runningSinceMs }: Input, nowMs: number): boolean {
  return source.kind === 'file' && nowMs - runningSinceMs < FILE_MS;
}
