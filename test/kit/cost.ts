/**
 * What our code takes, as a ratio to a control of the same moment: whatever else the machine does befalls both alike. Of each the quickest round
 * counts.
 */

/** Before this many rounds nothing is said: the control may have been held up. */
const MIN_ROUNDS = 3;
const MAX_ROUNDS = 25;
/** So much more than is allowed comes of no machine. */
const HOPELESS = 4;

/**
 * @param nowMs the clock that they are timed with
 * @returns how many times as long `work` takes as `control`; no more rounds are made once that is less than `most`
 */
export async function costRatio(
  most: number,
  work: () => unknown,
  control: () => unknown,
  nowMs = () => performance.now(),
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

  constructor(act: () => unknown, nowMs: () => number) {
    this.#act = act;
    this.#nowMs = nowMs;
  }

  async run(): Promise<void> {
    const startMs = this.#nowMs();
    await this.#act();
    this.ms = Math.min(this.ms, this.#nowMs() - startMs);
  }
}
