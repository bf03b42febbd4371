/**
 * The cost of our code as a ratio to a control at the same moment, so that other load affects both alike. The quickest round of each counts, by
 * this process's CPU time: on a busy machine, long rounds are interrupted and short ones are not.
 */

/** Minimum number of rounds, since the control may have been delayed. */
const MIN_ROUNDS = 3;
const MAX_ROUNDS = 25;
/** A ratio this many times the limit is not the machine's fault, if the work is long enough to show. */
const HOPELESS = 4;
const HOPELESS_MS = 50;

/** The kernel's accounting is too coarse below this. */
const MIN_CPU_MS = 0.2;

/**
 * @param nowMs the clock, if another process does the work
 * @returns the time of `work` divided by that of `control`; stops as soon as that is less than `most`
 */
export async function costRatio(
  most: number,
  work: () => unknown,
  control: () => unknown,
  nowMs?: () => number,
): Promise<number> {
  const [works, controls] = [new Quickest(work, nowMs), new Quickest(control, nowMs)];
  for (let round = 1; ; round++) {
    // Lets the time-out of the test run.
    await new Promise((next) => setImmediate(next));
    await works.run();
    await controls.run();
    const ratio = works.ms / controls.ms;
    const isHopeless = ratio > HOPELESS * most && works.ms > HOPELESS_MS;
    if (round >= MIN_ROUNDS && (ratio < most || isHopeless || round >= MAX_ROUNDS)) return ratio;
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
