/**
 * How many connections the system's limit on open files allows. Each connection is a file; so is everything that the server itself opens:
 * store, logs, pulled streams, the hook's calls, pages read from disk. Linux only: on other systems nothing is known, and nothing restricted.
 */

import { readdirSync, readFileSync } from 'node:fs';
import type { Log } from '../../base/log.js';
import type { LoadedConfig } from '../../config/load.js';

/** Beside the files open at the start: calls of the hook, files being read, a log that is reopened, connections being refused. */
const SPARE_FILES = 32;
/** A source: its stream, the next one that is tried, a file and its list. */
const FILES_PER_SOURCE = 4;
/** However low the limit is. */
const MIN_CONNECTIONS = 8;

export interface FileLimit {
  readonly files: number;
  /** What is left of them for connections, at least a few. */
  readonly connections: number;
}

/** Called when everything that stays open is open. Null: unknown, or there is no limit. */
function fileLimit(sources: number): FileLimit | null {
  try {
    const files = softLimit(readFileSync('/proc/self/limits', 'latin1'));
    if (files === null) return null;
    const own = readdirSync('/proc/self/fd').length + SPARE_FILES + FILES_PER_SOURCE * sources;
    return { files, connections: Math.max(MIN_CONNECTIONS, files - own) };
  } catch {
    return null;
  }
}

/** @param limits as /proc/self/limits has it. Node has raised the soft limit to the hard one by now. */
export function softLimit(limits: string): number | null {
  const found = /^Max open files\s+(\d+)\s/m.exec(limits);
  return found === null ? null : Number(found[1]);
}

/** What takes connections. */
interface Restrictable {
  /** Takes no more connections than these, as the process can have no more. */
  restrict(connections: number): void;
}

/** Connections past the system's limit cannot be refused politely, and the server itself could not open files then. */
export function restrictToFileLimit(config: LoadedConfig, app: Restrictable, log: Log): void {
  const channels = Object.values(config.stations).flatMap((station) => Object.values(station.channels));
  const limit = fileLimit(channels.reduce((sum, { sources }) => sum + sources.length, 0));
  const wanted = config.limits.connections;
  if (limit === null || limit.connections >= wanted) return;
  app.restrict(limit.connections);
  const fields = { files: limit.files, connections: limit.connections, wanted };
  log.warn(
    fields,
    'too few open files are allowed for limits.connections: the limit is lower now (ulimit -n, LimitNOFILE)',
  );
}
