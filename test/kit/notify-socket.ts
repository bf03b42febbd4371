/** The socket for a service's messages to systemd (sd_notify(3)), in Python, since Node has no datagram sockets of this kind. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { until } from './until.js';

/** Closes received file descriptors, by which the sender knows that its message was read (BARRIER). */
const RECEIVER = `
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
print('[]', flush=True)
while True:
    data, files, _, _ = socket.recv_fds(server, 65536, 8)
    for file in files:
        os.close(file)
    print(json.dumps(data.decode().splitlines()), flush=True)
`;

export class NotifySocket {
  /** The value for NOTIFY_SOCKET. */
  readonly path: string;
  /** Every line, in order, without barriers. */
  readonly lines: string[] = [];
  #isBound = false;

  constructor(t: Test, folder: string) {
    this.path = join(folder, 'notify.sock');
    const receiver = spawn('python3', ['-c', RECEIVER, this.path], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => receiver.kill());
    createInterface(receiver.stdout).on('line', (line) => {
      this.#isBound = true;
      this.lines.push(...(JSON.parse(line) as string[]).filter((each) => each !== 'BARRIER=1'));
    });
  }

  async bound(): Promise<this> {
    await until(() => this.#isBound, 30_000);
    return this;
  }

  count(line: string): number {
    return this.lines.filter((each) => each === line).length;
  }

  /** Waits for `count` lines that begin with this text. */
  async heard(line: string, count = 1, ms = 30_000): Promise<void> {
    await until(
      () => this.lines.filter((each) => each.startsWith(line)).length >= count,
      ms,
      () => `${count} of ${line}; heard: ${this.lines.join(' ')}`,
    );
  }
}
