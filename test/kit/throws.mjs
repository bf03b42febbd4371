// Preloaded into a server under test: SIGUSR2 raises an uncaught exception, SIGHUP an unhandled rejection.
process.on('SIGUSR2', () => setTimeout(() => throwIt('out of a timer'), 1));
process.on('SIGHUP', () => void Promise.reject(new Error('out of a promise')));

function throwIt(message) {
  throw new Error(message);
}
