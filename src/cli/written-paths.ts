/** The paths that a server writes to, from the text of its configuration. Opens no file that it names; needs only the variables in these paths. */

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigDocument } from '../config/document.js';
import { ConfigError, loadConfig } from '../config/load.js';

/** Null: unknown, or nowhere. */
export interface WrittenPaths {
  readonly folder: string | null;
  readonly accessLog: string | null;
}

/** @param path of the configuration, which need not exist */
export function writtenPaths(path: string, text: string): WrittenPaths {
  const { value, problems } = new ConfigDocument(text, process.env);
  const { data, accessLog } = (value ?? {}) as { readonly data?: unknown; readonly accessLog?: unknown };
  const member = (section: unknown, name: string) => (section as Readonly<Record<string, unknown>> | null)?.[name];
  const [folder = './data', log] = [member(data, 'folder'), member(accessLog, 'file')];
  const absolute = (each: unknown, name: string) => {
    const isKnown = typeof each === 'string' && each !== '' && !problems.some((problem) => problem.path === name);
    return isKnown ? resolve(dirname(path), each) : null;
  };
  return {
    folder: value === undefined ? null : absolute(folder, 'data.folder'),
    accessLog: log === '-' ? null : absolute(log, 'accessLog.file'),
  };
}

/**
 * The data folder of a configuration; a shell need not have the variables of its secrets. Null: the configuration does not name it, and the
 * problem was reported.
 */
export function dataFolder(path: string): string | null {
  try {
    return folderIn(path) ?? loadConfig(path, process.env).data.folder;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`airsplice: ${error.message}\n`);
    return null;
  }
}

/** Null: not named, or the file cannot be read, which loadConfig reports. */
function folderIn(path: string): string | null {
  try {
    return writtenPaths(path, readFileSync(path, 'utf8')).folder;
  } catch {
    return null;
  }
}
