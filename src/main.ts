#!/usr/bin/env node
/**
 * The entry point: it handles the signals that stop the program before it loads anything else. As process 1 of a container it would otherwise
 * survive an early SIGTERM, since the kernel delivers no signal without a handler to process 1.
 * Invariant: it imports nothing, so that these lines run as early as node lets them. What follows is in processes/, or in cli/.
 */

const stop = new AbortController();
const ask = (signal: NodeJS.Signals): void => stop.abort(signal);
process.on('SIGTERM', ask);
process.on('SIGINT', ask);
process.on('SIGHUP', () => undefined);
process.on('SIGUSR2', () => undefined);
// Nothing is open yet.
const leave = (): void => process.exit(0);
stop.signal.addEventListener('abort', leave);
if (process.env['AIRSPLICE_PROCESS'] !== undefined && process.send !== undefined) {
  // A child of a supervisor, which says when to stop: a terminal or a service manager may signal all of them.
  const { runChild } = await import('./processes/child.js');
  stop.signal.removeEventListener('abort', leave);
  await runChild();
} else {
  const { readWords } = await import('./cli/commands.js');
  const { command, args } = readWords(process.argv.slice(2));
  if (command.load === null) {
    const { run } = await import('./processes/run.js');
    stop.signal.removeEventListener('abort', leave);
    await run(args, stop.signal);
  } else {
    const { runCommand } = await import('./cli/command.js');
    stop.signal.removeEventListener('abort', leave);
    process.exitCode = await runCommand(command, args, stop.signal);
  }
}
