/**
 * Reads the configuration file, checks all of it, and returns it or throws all problems at once with their places.
 * Nothing else reads the file, and only the variables that it names are read from the environment.
 */

import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { printable } from '../base/printable.js';
import { crossCheck } from './checks.js';
import { ConfigDocument, type Path, type Problem } from './document.js';
import { type Config, configSchema } from './schema.js';
import type { ConfigContext } from './station-config.js';

export interface LoadedConfig extends Config {
  /** Station and channel keys in the order of the file, in which a station's readers get them. */
  readonly order: readonly { readonly station: string; readonly channels: readonly string[] }[];
}

/** The data of a valid file, from which other processes make the same configuration (remakeConfig). Secrets are in it as written. */
export interface CheckedConfig {
  readonly path: string;
  /** The file's data with variables filled in. */
  readonly value: unknown;
  readonly order: LoadedConfig['order'];
}

/** The configuration cannot be used. Its message has a line `file:line:column: path: message` for each problem. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  constructor(file: string, problems: readonly Problem[]) {
    const sorted = unique(problems).sort((a, b) => a.line - b.line || a.column - b.column);
    // Names in the file are untrusted text.
    const lines = sorted.map((p) => `${file}:${p.line}:${p.column}: ${p.path && `${p.path}: `}${p.message}`);
    super(lines.map(printable).join('\n'));
    this.name = 'ConfigError';
    this.problems = sorted;
  }
}

/**
 * Loads the configuration at `path` (YAML; `${NAME}` and `${NAME:-default}` in values are taken from `env`).
 * Synchronous, for the start of the process. Throws ConfigError.
 * @param text of the file, if it was read before @param audioProblem see ConfigContext
 */
export function loadConfig(...args: Parameters<typeof checkConfig>): LoadedConfig {
  return checkConfig(...args).config;
}

/** As loadConfig, with the data for remakeConfig. */
export function checkConfig(
  path: string,
  env: NodeJS.ProcessEnv,
  text = read(path),
  audioProblem?: ConfigContext['audioProblem'],
): { readonly config: LoadedConfig; readonly checked: CheckedConfig } {
  const document = new ConfigDocument(text, env);
  if (document.broken) throw new ConfigError(path, document.problems);
  const { value } = document;
  const result = parse(path, env, value, audioProblem);
  const found = [
    ...(result.error?.issues ?? []).flatMap((issue) => explain(issue, document)),
    ...crossCheck(value, env).map(({ path, at, message }) => document.problemAt(path, at, message)),
    // A member with an unset variable has other problems too; one is enough.
  ].filter((problem) => !document.problems.some(({ path }) => path !== '' && path === problem.path));
  if (document.problems.length > 0 || !result.success || found.length > 0) {
    throw new ConfigError(path, [...document.problems, ...found]);
  }
  const order = document.keysAt(['stations']).map((station) => {
    return { station, channels: document.keysAt(['stations', station, 'channels']) };
  });
  return { config: { ...result.data, order }, checked: { path, value, order } };
}

/** The configuration in another process. Throws if it became invalid since: for example, a file that it names has gone. */
export function remakeConfig({ path, value, order }: CheckedConfig, env: NodeJS.ProcessEnv): LoadedConfig {
  const { data, error } = parse(path, env, value);
  if (error === undefined) return { ...data, order };
  const problems = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new Error(`${path}: ${problems.join('; ')}`);
}

function parse(path: string, env: NodeJS.ProcessEnv, value: unknown, audioProblem?: ConfigContext['audioProblem']) {
  return configSchema({ env, folder: dirname(resolve(path)), audioProblem }).safeParse(value);
}

function read(path: string): string {
  const bytes = bytesOf(path);
  const text = bytes.toString();
  if (isUtf8(bytes)) return text;
  const lines = text.slice(0, text.indexOf('\ufffd')).split('\n');
  const end = { line: lines.length, column: lines.at(-1)!.length + 1, path: '' };
  throw new ConfigError(path, [{ ...end, message: 'The file is not UTF-8: save it in that encoding' }]);
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new ConfigError(path, [{ line: 1, column: 1, path: '', message: `The file cannot be read (${code})` }]);
  }
}

/** A zod issue as problems with places: one for each unknown member. */
function explain(issue: z.core.$ZodIssue, document: ConfigDocument): Problem[] {
  const path = issue.path as Path;
  if (issue.code === 'unrecognized_keys') {
    const sentences = issue.message.split('\n');
    return issue.keys.map((key, i) => document.problemAt([...path, key], 'key', sentences[i]!));
  }
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => document.problemAt(path, 'key', inner.message));
  }
  const value = valueAt(document.value, path);
  const state =
    issue.code === 'custom' ? '' : value === undefined ? 'is missing; ' : value === null ? 'is empty; ' : '';
  return [document.problemAt(path, 'value', state + issue.message)];
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, step) => (at as Record<string | number, unknown> | null | undefined)?.[step], value);
}

// Several checks of one member may fail with the same sentence.
function unique(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}
