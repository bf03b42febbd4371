/** A command of the command line, and how it is run. commands.ts has all of them. */

import { parseArgs } from 'node:util';
import { KEY } from '../base/key.js';
import { printableLines } from '../base/printable.js';
import { meant } from '../base/spelling.js';
import { messageOf } from '../net/outbound/message-of.js';
import { usageOf } from './terminal/help.js';
import { OwnOutput } from './terminal/own-output.js';
import type { Syntax } from './terminal/syntax.js';

/** The parsed arguments of a command. */
export interface CommandLine {
  /** By option name. */
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly operands: readonly string[];
}

/** @param stop ends the command @returns the exit code. Rejects with UsageError (exit code 2), or another error (1) */
export type RunCommand = (line: CommandLine, stop: AbortSignal) => Promise<number>;

export interface Command extends Syntax {
  /** Loads its code; null: the server, which main.ts runs. */
  readonly load: (() => Promise<RunCommand>) | null;
}

/** The command line is wrong: the usage is shown, and the exit code is 2. */
export class UsageError extends Error {}

/** Throws UsageError. */
export function parseLine({ options, operands }: Syntax, args: readonly string[]): CommandLine {
  const max = operands === '' ? 0 : 1;
  const min = operands.startsWith('[') ? 0 : max;
  const { values, positionals } = parse(options, args);
  if (positionals.length < min) throw new UsageError('an argument is missing');
  const extra = positionals[max];
  if (extra !== undefined) {
    const isServer = options['url'] !== undefined && /^https?:/.test(extra);
    throw new UsageError(`"${extra}" is one argument too many${isServer ? '; did you mean --url?' : ''}`);
  }
  return { values, operands: positionals };
}

function parse(options: Syntax['options'], args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { ...options }, allowPositionals: true });
  } catch (error) {
    // Its first sentence names the option.
    const [sentence = ''] = messageOf(error).split('. ', 1);
    const [, option] = /^Unknown option '--([^']+)'/.exec(sentence) ?? [];
    throw new UsageError(option === undefined ? sentence : `${sentence}${meant(option, Object.keys(options), '--')}`);
  }
}

/**
 * Runs a command and reports its error. Never rejects. Stops it when the reader of its output has gone, which is not a fault.
 * @returns the exit code
 */
export async function runCommand(command: Command, args: readonly string[], stop: AbortSignal): Promise<number> {
  const output = new OwnOutput();
  const code = await codeOf(command, args, stop, output.signal);
  const fault = await output.fault();
  if (fault === null) return code;
  process.stderr.write(`airsplice: ${fault}\n`);
  return 1;
}

async function codeOf(
  command: Command,
  args: readonly string[],
  stop: AbortSignal,
  unread: AbortSignal,
): Promise<number> {
  try {
    const line = parseLine(command, args);
    const run = await command.load!();
    return await run(line, AbortSignal.any([stop, unread]));
  } catch (error) {
    // The stop itself made it fail.
    if (unread.aborted) return 0;
    const isUsage = error instanceof UsageError;
    process.stderr.write(`airsplice: ${printableLines(messageOf(error))}\n${isUsage ? `${usageOf(command)}\n` : ''}`);
    return isUsage ? 2 : 1;
  }
}

/** The value of an option; undefined: not given. */
export function textOf({ values }: CommandLine, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** A key of a channel or a station. Throws UsageError. @param what names it in the error */
export function readKey(text: string, what = 'channel key'): string {
  if (KEY.test(text)) return text;
  throw new UsageError(`a ${what} is 1 to 64 of A-Z a-z 0-9 _ -`);
}

/** The value of a numeric option. Throws UsageError. */
export function numberOf(line: CommandLine, name: string, preset: number, min: number, max: number): number {
  const text = textOf(line, name);
  if (text === undefined) return preset;
  const value = Number(text);
  if (text.trim() !== '' && value >= min && value <= max) return value;
  throw new UsageError(`--${name} must be a number from ${min} to ${max}`);
}

/** The value of an option that is a whole number. Throws UsageError. */
export function wholeOf(line: CommandLine, name: string, preset: number, min: number, max: number): number {
  const value = numberOf(line, name, preset, min, max);
  if (Number.isInteger(value)) return value;
  throw new UsageError(`--${name} must be a whole number from ${min} to ${max}`);
}
