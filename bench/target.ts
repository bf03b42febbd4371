/** A stream server on this machine to be measured. Owned by the scenario that started it; one named by URL has no owner here. */

import { fileURLToPath } from 'node:url';

export interface Target {
  readonly name: string;
  /** URL of the stream; `{n}` in it is the number of a channel. */
  readonly url: string;
  /** The server's processes; their descendants count too. Empty: their cost is unknown. */
  readonly pids: readonly number[];
  /** Listeners that arrive per second. */
  readonly rate: number;
  /** URL of Prometheus text, if any. */
  readonly metricsUrl?: string;
}

/** A file beside this one. */
export function path(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
