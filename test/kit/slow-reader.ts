/**
 * A player with a tiny receive buffer, so that unread bytes are not acknowledged; in Python, since Node cannot set a socket's buffer. It reads at a
 * rate, pauses once, and reports when bytes arrived.
 */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';

export interface SlowReaderOptions {
  /** Bytes per second. */
  readonly rate: number;
  /** When it pauses, and for how long, seconds. */
  readonly pauseAt?: number;
  readonly pauseSeconds?: number;
}

const SCRIPT = `
import socket, sys, time
port, rate, pause_at, pause = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
s.connect(('127.0.0.1', port))
s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
start = last = time.monotonic()
got, budget = 0, 0.0
while True:
    now = time.monotonic()
    if pause > 0 and now - start >= pause_at:
        time.sleep(pause)
        pause, last = 0, time.monotonic()
        continue
    budget = min(rate * 0.1, budget + (now - last) * rate)
    last = now
    if budget >= 1:
        data = s.recv(int(budget))
        if not data: break
        got += len(data)
        budget -= len(data)
        print('%.6f %d' % (time.monotonic(), got), flush=True)
    else:
        time.sleep(0.005)
`;

/** Monotonic milliseconds, and the number of bytes so far. */
export type Arrival = readonly [atMs: number, bytes: number];

/** Reads from a port of this machine until the test ends. @returns a growing list */
export function readSlowly(t: Test, port: number, options: SlowReaderOptions): readonly Arrival[] {
  const arrivals: Arrival[] = [];
  const { rate, pauseAt = 0, pauseSeconds = 0 } = options;
  const child = spawn('python3', ['-c', SCRIPT, ...[port, rate, pauseAt, pauseSeconds].map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [seconds, bytes] = line.split(' ').map(Number);
    arrivals.push([seconds! * 1000, bytes!]);
  });
  return arrivals;
}
