/**
 * The command's first lines: the signals that stop it are listened to before anything else is loaded. As process 1 of a container it would not
 * even die of a SIGTERM that comes before, since the kernel keeps signals without a handler from process 1.
 * Invariant: it imports nothing, so that these lines run as early as node lets them. What follows is in app/run.ts, or in cli/.
 */

const stop = new AbortController();
const ask = (signal: NodeJS.Signals): void => stop.abort(signal);
process.on('SIGTERM', ask);
process.on('SIGINT', ask);
process.on('SIGHUP', () => undefined);
// Nothing is open yet.
const leave = (): void => process.exit(0);
stop.signal.addEventListener('abort', leave);
const [, , command, ...args] = process.argv;
if (command === 'measure-offset') {
  const { measureOffset } = await import('./cli/measure-offset.js');
  stop.signal.removeEventListener('abort', leave);
  process.exitCode = await measureOffset(args, stop.signal);
} else {
  const { run } = await import('./app/run.js');
  stop.signal.removeEventListener('abort', leave);
  await run(stop.signal);
}
