/** Runs the command line as a person or a shell does; returns its output and exit code. */

import { execFile } from 'node:child_process';
import { PROGRAM } from './process.js';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** @param more variables added to the environment */
export function runProgram(program: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ran> {
  // Without the test runner's hooks, which triple the time to start.
  const env = { ...process.env, NODE_OPTIONS: '', ...more };
  return new Promise((resolve) => {
    execFile(program, args, { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

export function airsplice(args: readonly string[], more?: NodeJS.ProcessEnv): Promise<Ran> {
  return runProgram(process.execPath, [...PROGRAM, ...args], more);
}
