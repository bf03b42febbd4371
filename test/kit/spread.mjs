// Preloaded into a server of several processes: spreads its connections among the workers by a seed (TEST_SPREAD), in the order of acceptance. On an
// idle machine the system would give nearly all to one worker. A worker passes each accepted connection, unread, to the supervisor, which passes it
// to the drawn worker.
import { ChildProcess } from 'node:child_process';
import net from 'node:net';
import { Seeded } from './seeded.mjs';

// Node hides messages with this prefix from the program's listeners.
const CMD = 'NODE_SPREAD';
const isWorker = process.env.AIRSPLICE_PROCESS === 'worker';
if (isWorker) work();
else if (process.env.AIRSPLICE_PROCESS === undefined) supervise(Number(process.env.TEST_SPREAD));

function work() {
  /** Port → function that takes a connection. */
  const taking = new Map();
  const { listen } = net.Server.prototype;
  net.Server.prototype.listen = function (...args) {
    this.once('listening', () => {
      const { port } = this.address();
      // The link's socket has no port.
      if (port === undefined) return;
      const handle = this._handle;
      const { onconnection } = handle;
      if (typeof onconnection !== 'function') throw new Error('this Node takes connections in another way');
      taking.set(port, (connection) => onconnection.call(handle, 0, connection));
      handle.onconnection = (status, connection) => {
        if (status !== 0 || !process.connected) return onconnection.call(handle, status, connection);
        process.send({ cmd: CMD, port }, connection, () => connection.close());
      };
      process.send({ cmd: CMD, port, isTaking: true });
      this.once('close', () => {
        taking.delete(port);
        if (process.connected) process.send({ cmd: CMD, port, isTaking: false });
      });
    });
    return listen.apply(this, args);
  };
  process.on('internalMessage', (message, connection) => {
    if (message.cmd !== CMD) return;
    const take = taking.get(message.port);
    if (take === undefined) connection.close();
    else take(connection);
  });
}

function supervise(seed) {
  /** Port → workers that take its connections. */
  const taking = new Map();
  const numbers = new Seeded(seed);
  const { emit } = ChildProcess.prototype;
  ChildProcess.prototype.emit = function (event, ...args) {
    const [message, connection] = args;
    if (event !== 'internalMessage' || message?.cmd !== CMD) return emit.call(this, event, ...args);
    const { port } = message;
    const workers = (taking.get(port) ?? []).filter((worker) => worker.connected);
    if (message.isTaking !== undefined) {
      const others = workers.filter((worker) => worker !== this);
      // By age, not by the order in which they became ready.
      taking.set(port, message.isTaking ? [...others, this].sort((a, b) => a.pid - b.pid) : others);
    } else if (workers.length === 0) connection.close();
    else workers[numbers.below(workers.length)].send({ cmd: CMD, port }, connection, () => connection.close());
    return true;
  };
}
