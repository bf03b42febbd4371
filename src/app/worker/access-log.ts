/** The file of the access log, if one is configured. */

import type { Repeats } from '../../base/log.js';
import { Output } from '../../base/output.js';
import type { LoadedConfig } from '../../config/load.js';

/** Null: none is configured. */
export async function openAccessLog({ accessLog }: LoadedConfig, repeats: Repeats): Promise<Output | null> {
  const { file, bufferBytes } = accessLog;
  if (file === '') return null;
  const onFailed = (error: unknown) =>
    repeats.warn('access log', { err: error }, 'the access log could not be written');
  return Output.to(file, { bufferBytes, onFailed });
}
