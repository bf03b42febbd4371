/** What is measured: one stream server on this machine. Owned by the scenario that started it, or by nobody where it was named by URL. */

import { fileURLToPath } from 'node:url';

export interface Target {
  readonly name: string;
  /** Of the stream; `{n}` in it is the number of a channel. */
  readonly url: string;
  /** Of the server processes; their descendants count too. None: their cost is not known. */
  readonly pids: readonly number[];
  /** Listeners that arrive per second. */
  readonly rate: number;
  /** Prometheus text, where it has one. */
  readonly metricsUrl?: string;
}

/** A file beside this one. */
export function path(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
