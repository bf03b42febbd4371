/**
 * Reports to systemd (Type=notify, sd_notify(3)) that this server is ready, reloads or stops, and, while it is well, that it is alive. Node has no
 * datagram sockets of the AF_UNIX family, so `systemd-notify` sends each message: the unit needs NotifyAccess=all.
 *
 *   every third of WATCHDOG_USEC ──► is anything wrong? ──no──► WATCHDOG=1
 *                                         └── yes ──► STATUS=… without WATCHDOG=1: after WATCHDOG_USEC systemd restarts the server
 *
 * Messages are sent one after the other, in order. Owned by run.ts. Without NOTIFY_SOCKET it does nothing.
 */

import { execFile } from 'node:child_process';
import type { Log } from '../../base/log.js';

const COMMAND = 'systemd-notify';
/** The time limit for the command, which itself waits 5 s for systemd to read the message. */
const SEND_MS = 7000;
/** Signs of life per WATCHDOG_USEC. */
const SIGNS = 3;
const MICROS_PER_MS = 1000;

/** What is wrong with the server, in a few words; null if it works. */
export type ServerFault = string | null;

export class ServiceManager {
  readonly #log: Log;
  /** Environment of the command; null if no service manager listens. */
  readonly #env: NodeJS.ProcessEnv | null;
  /** Between two signs of life, milliseconds; null if none are wanted. */
  readonly #signMs: number | null;
  #timer: NodeJS.Timeout | undefined;
  #sent: Promise<void> = Promise.resolve();
  #isSigning = false;
  #fault: ServerFault = null;
  #status = '';
  #hasFailed = false;

  /** @param env systemd's variables are removed from it, since they are for this process only */
  constructor(env: NodeJS.ProcessEnv, log: Log) {
    this.#log = log;
    const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: micros, WATCHDOG_PID: pid } = env;
    for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
    this.#env = socket ? { PATH: env['PATH'], NOTIFY_SOCKET: socket } : null;
    const isWatched = this.#env !== null && Number(micros) > 0 && (pid === undefined || Number(pid) === process.pid);
    this.#signMs = isWatched ? Number(micros) / MICROS_PER_MS / SIGNS : null;
  }

  /**
   * Reports that the server is ready.
   * @param status a line that `systemctl status` shows @param fault called before each sign of life
   */
  ready(status: string, fault: () => ServerFault): void {
    this.#status = status;
    this.#say('READY=1', `STATUS=${status}`);
    if (this.#signMs !== null) this.#timer = setInterval(() => this.#sign(fault()), this.#signMs).unref();
  }

  /** Reports a reload while `work` is under way, for which `systemctl reload` waits. Rejects as the work does. */
  async reload(work: () => unknown): Promise<void> {
    const micros = process.hrtime.bigint() / 1000n;
    this.#say('RELOADING=1', `MONOTONIC_USEC=${micros}`);
    try {
      await work();
    } finally {
      this.#say('READY=1', `STATUS=${this.#status}`);
    }
  }

  /** Reports the stop and ends the signs of life: TimeoutStopSec applies from now on. Resolves when that is sent, or has failed. */
  stopping(): Promise<void> {
    clearInterval(this.#timer);
    this.#say('STOPPING=1');
    return this.#sent;
  }

  #sign(fault: ServerFault): void {
    if (fault !== this.#fault) {
      this.#fault = fault;
      if (fault !== null) this.#log.error({ fault }, 'no watchdog signal to the service manager');
      this.#say(`STATUS=${fault ?? this.#status}`);
    }
    // Signs do not pile up if systemd does not read them.
    if (fault !== null || this.#isSigning) return;
    this.#isSigning = true;
    this.#say('WATCHDOG=1');
    void this.#sent.then(() => {
      this.#isSigning = false;
    });
  }

  #say(...lines: readonly string[]): void {
    const env = this.#env;
    if (env !== null) this.#sent = this.#sent.then(() => this.#send(lines, env));
  }

  /** Resolves when the message is sent, or has failed, which is logged. */
  #send(lines: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
    return new Promise((resolve) => {
      execFile(COMMAND, lines, { env, timeout: SEND_MS }, (error) => {
        if (error !== null && !this.#hasFailed) {
          this.#log.warn(
            { err: error },
            `${COMMAND} failed: the service manager does not know the state of this server`,
          );
        }
        this.#hasFailed = error !== null;
        resolve();
      });
    });
  }
}
