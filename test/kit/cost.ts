/**
 * What our code takes, as a ratio to a control of the same moment: whatever else the machine does befalls both alike. Of each the quickest round
 * counts, by the time in which this process ran: on a busy machine a long round is interrupted and a short one is not.
 */

/** Before this many rounds nothing is said: the control may have been held up. */
const MIN_ROUNDS = 3;
const MAX_ROUNDS = 25;
/** So much more than is allowed comes of no machine. */
const HOPELESS = 4;

/** The kernel's accounting is too coarse for less. */
const MIN_CPU_MS = 0.2;

/**
 * @param nowMs the clock that they are timed with, where another process does the work
 * @returns how many times as long `work` takes as `control`; no more rounds are made once that is less than `most`
 */
export async function costRatio(
  most: number,
  work: () => unknown,
  control: () => unknown,
  nowMs?: () => number,
): Promise<number> {
  const [works, controls] = [new Quickest(work, nowMs), new Quickest(control, nowMs)];
  for (let round = 1; ; round++) {
    // The time-out of the test gets its turn.
    await new Promise((next) => setImmediate(next));
    await works.run();
    await controls.run();
    const ratio = works.ms / controls.ms;
    if (round >= MIN_ROUNDS && (ratio < most || ratio > HOPELESS * most || round >= MAX_ROUNDS)) return ratio;
  }
}

class Quickest {
  ms = Number.POSITIVE_INFINITY;
  readonly #act: () => unknown;
  readonly #nowMs: () => number;
  readonly #isOwn: boolean;

  constructor(act: () => unknown, nowMs?: () => number) {
    this.#act = act;
    this.#nowMs = nowMs ?? (() => performance.now());
    this.#isOwn = nowMs === undefined;
  }

  async run(): Promise<void> {
    const cpu = process.cpuUsage();
    const startMs = this.#nowMs();
    await this.#act();
    const tookMs = this.#nowMs() - startMs;
    const { user, system } = process.cpuUsage(cpu);
    const cpuMs = (user + system) / 1000;
    this.ms = Math.min(this.ms, tookMs, this.#isOwn && cpuMs >= MIN_CPU_MS ? cpuMs : tookMs);
  }
}
