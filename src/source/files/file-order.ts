/**
 * In which order a switch prefers its sources: as the configuration has them, but for files. Of several files the one comes first in which listeners
 * can go on: it has the codec of what they hear, then its rate and channels. And for which ones it waits. Pure.
 */

import { type AudioFormat, likeness } from '../../audio/frames/audio-format.js';
import type { Input } from '../input.js';

/** For how long a file is waited for that has yet to deliver, before the next best one is started: two must not play one after the other. */
const FILE_MS = 500;

/**
 * @param onAir what plays is like itself, where nothing is known of its file
 * @param playing what listeners hear; null: nothing has played
 * @returns inputs, each once
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
