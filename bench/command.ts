/** Runs the commands of this folder. */

import { stopAll } from './process.js';

/**
 * Runs a command, and stops all its processes. The exit code is the result of `main`; 2 if it fails, with the usage if an argument is wrong.
 */
export async function runCommand(main: () => Promise<number>, usage: string): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    const { message, name } = error as Error;
    process.stderr.write(`${message}\n${/RangeError|TypeError/.test(name) ? `\n${usage}\n` : ''}`);
    process.exitCode = 2;
  } finally {
    await stopAll();
  }
}
