/** How the commands of this folder end. */

import { stopAll } from './process.js';

/**
 * Runs a command, and stops all that it has started. Its exit code: what `main` resolves with; 2 where it fails, with the usage where an argument is
 * wrong.
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
