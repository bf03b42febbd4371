/** Several processes' tallies and a hub's, in this process; they exchange messages as over a link. */

import { Tallies } from '../../src/base/tallies.js';
import { HubTallies } from '../../src/link/facts/hub-tallies.js';
import type { TallyMessage } from '../../src/link/facts/tally-messages.js';
import { type TallySender, WorkerTallies } from '../../src/link/facts/worker-tallies.js';
import { FakeClock } from './clock.js';

const REMEMBERED = 100;
/** How long a new hub waits for the reports of all processes. */
const SETTLE_MS = 500;

export class JoinedProcess {
  readonly tallies = new Tallies(REMEMBERED);
  readonly own: WorkerTallies;
  isFull = false;
  /** The hub's sender to this process. */
  link: TallySender | null = null;

  constructor(clock: FakeClock) {
    this.own = new WorkerTallies(this.tallies, clock);
  }
}

export class JoinedProcesses {
  readonly clock = new FakeClock();
  readonly all = new Set<JoinedProcess>();
  /** The tallies of the hub. */
  tallies = new Tallies(REMEMBERED);
  /** Number of rows of the largest message so far. */
  largest = 0;
  #hub = new HubTallies(this.tallies, REMEMBERED, this.clock);

  constructor(count: number) {
    this.clock.advance(SETTLE_MS);
    for (let i = 0; i < count; i++) this.start();
  }

  /** Starts another process. */
  start(): JoinedProcess {
    const process = new JoinedProcess(this.clock);
    this.all.add(process);
    this.#connect(process);
    return process;
  }

  end(process: JoinedProcess): void {
    this.all.delete(process);
    if (process.link !== null) this.#hub.leave(process.link);
  }

  /** Replaces the hub by a new one, which knows nothing. */
  restartHub(): void {
    this.tallies = new Tallies(REMEMBERED);
    this.#hub.close();
    this.#hub = new HubTallies(this.tallies, REMEMBERED, this.clock);
    for (const process of this.all) {
      process.own.lose();
      this.#connect(process);
    }
  }

  /** Sends all changes to all processes. @param turns messages each way */
  exchange(turns = 1): void {
    for (let i = 0; i < turns; i++) {
      for (const { own } of this.all) own.say();
      this.#hub.pass(this.clock.now());
    }
  }

  /** Time passes; the processes exchange messages every quarter of a second. */
  pass(ms: number): void {
    for (let left = ms; left > 0; left -= 250) {
      this.clock.advance(Math.min(250, left));
      this.exchange();
    }
  }

  #connect(process: JoinedProcess): void {
    const link: TallySender = {
      get isFull() {
        return process.isFull;
      },
      send: (message) => process.own.onMessage(this.#sent(message)),
    };
    process.link = link;
    const hub = this.#hub;
    hub.enter(link);
    process.own.connect({ isFull: false, send: (message) => hub.hear(link, this.#sent(message)) });
  }

  #sent(message: TallyMessage): TallyMessage {
    const { counts, notices, peaks } = message.rows;
    const rows = [...counts, ...notices].reduce((sum, [, each]) => sum + each.length, peaks.length);
    this.largest = Math.max(this.largest, rows);
    return JSON.parse(JSON.stringify(message));
  }
}
