/**
 * The state of the machine in the last seconds, printed with a failure: its load, the CPU time stolen by other machines on the host, the delay of
 * an idle process.
 */

import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';

const TICK_MS = 100;
const LOOK_BACK_MS = 5000;

export class MachineLoad {
  #ticks = [];
  #lastMs = performance.now();
  #timer;

  /** Measures until `close`. */
  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  close() {
    clearInterval(this.#timer);
  }

  /** @returns the longest delay of this nearly idle process, in ms */
  get idleDelayMs() {
    return Math.max(0, ...this.#ticks.map(({ lateMs }) => lateMs));
  }

  /** @returns the busy share of the CPU time, 0 to 1; 0 if the system does not report it */
  get busyShare() {
    return this.#share('busy');
  }

  /** As `busyShare`, for the last `ms`. */
  busyShareOver(ms) {
    return this.#share('busy', Math.ceil(ms / TICK_MS));
  }

  toString() {
    const steal = Math.round(100 * this.#share('steal'));
    const busy = Math.round(100 * this.busyShare);
    const [load] = loadavg();
    return `load ${load.toFixed(1)}, ${busy} % busy, ${steal} % stolen, an idle process was up to ${Math.round(this.idleDelayMs)} ms late`;
  }

  #share(what, ticks = this.#ticks.length) {
    const first = this.#ticks.at(-ticks) ?? this.#ticks[0];
    const last = this.#ticks.at(-1);
    if (first === undefined || last.total === first.total) return 0;
    return (last[what] - first[what]) / (last.total - first.total);
  }

  #tick() {
    const nowMs = performance.now();
    this.#ticks.push({ nowMs, lateMs: Math.max(0, nowMs - this.#lastMs - TICK_MS), ...processorTimes() });
    this.#lastMs = nowMs;
    while (this.#ticks[0].nowMs < nowMs - LOOK_BACK_MS) this.#ticks.shift();
  }
}

/** Times of all processors since the machine's start, in ticks (proc(5), /proc/stat). */
function processorTimes() {
  try {
    const [, ...times] = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0].split(/\s+/);
    const [user, nice, system, idle, wait, irq, softIrq, steal] = times.map(Number);
    const busy = user + nice + system + irq + softIrq;
    return { busy, steal, total: busy + idle + wait + steal };
  } catch {
    return { busy: 0, steal: 0, total: 0 };
  }
}
