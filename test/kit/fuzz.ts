/**
 * The framework of all fuzzers. It makes inputs from words of a target's grammar, and checks the errors, the time and the promises of the target
 * (fuzz-targets.ts). A fault is a Finding, with the seed and the bytes; `minimised` shrinks it, and it is kept in
 * test/corpus/TARGET/NAME.bin, which test/corpus.test.ts plays first. By hand:
 *
 *   npx tsx test/kit/fuzz-run.ts TARGET [COUNT]      SEED=… repeats a run; a finding is written to the corpus
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { longestTurnMs } from './longest-turn.js';
import { pause } from './pause.js';
import { Random } from './random.js';

const CORPUS = new URL('../corpus/', import.meta.url).pathname;
/** An input that takes longer is played again; three turns of this CPU time are a finding. */
const MAX_MS = 50;
const MAX_TRIES = 400;
/** Seeds by which an input of a corpus is cut, in addition to the one in its name. */
const CUTS = [0, 1, 2, 3];
/** How late the effect of an input on a busy server may be. */
const LATE_MS = 20;
const STEPS = 7;

export interface FuzzTarget {
  readonly name: string;
  /** Valid inputs, to be mutated. */
  readonly seeds: readonly Buffer[];
  /** Words of the grammar. */
  readonly words: readonly Buffer[];
  /** Maximum length of a repetition; default 10,000 bytes. */
  readonly muchBytes?: number;
  /** Number of inputs played together; default 1, for a `play` that has no later effects. */
  readonly atOnce?: number;
  /** Plays one input; throws or rejects with a fault. May cut it at random by `random`. */
  play(bytes: Buffer, random: Random): void | Promise<void>;
}

/** An input, and the seed by which it is cut, so that it can be played again. */
export interface Input {
  readonly bytes: Buffer;
  readonly seed: number;
}

export class Finding extends Error {
  readonly target: string;
  readonly input: Input;

  /** @param seed of the run, to repeat it */
  constructor(target: string, input: Input, cause: unknown, seed?: number) {
    const text = JSON.stringify(input.bytes.toString('latin1', 0, 2000));
    const run = seed === undefined ? '' : `, seed ${seed}`;
    super(
      `${target}${run}, cut by ${input.seed}: ${cause instanceof Error ? (cause.stack ?? cause.message) : cause}\n${text}`,
    );
    this.target = target;
    this.input = input;
  }
}

/** Makes an input: a seed or noise, with some mutations. */
export function mutant(random: Random, seeds: readonly Buffer[], words: readonly Buffer[], muchBytes = 10_000): Buffer {
  const pick = <T>(list: readonly T[]): T => list[random.int(0, list.length - 1)]!;
  let bytes = random.chance(0.1) ? random.bytes(random.int(0, 60)) : Buffer.from(pick(seeds));
  for (let steps = random.int(0, 4); steps > 0; steps--) {
    const at = random.int(0, bytes.length);
    const [left, right] = [bytes.subarray(0, at), bytes.subarray(at)];
    switch (random.int(0, STEPS - 1)) {
      case 0: // a word of the grammar
        bytes = Buffer.concat([left, pick(words), right]);
        break;
      case 1: // the same in the place of what stood there
        bytes = Buffer.concat([left, pick(words), right.subarray(random.int(0, 12))]);
        break;
      case 2: // a piece is missing
        bytes = Buffer.concat([left, right.subarray(random.int(0, 40))]);
        break;
      case 3: // a piece twice
        bytes = Buffer.concat([left, left.subarray(-random.int(0, 40)), right]);
        break;
      case 4: // another one's end
        bytes = Buffer.concat([left, pick(seeds).subarray(random.int(0, 40))]);
        break;
      case 5: // other bytes
        for (let n = random.int(1, 4); n > 0 && bytes.length > 0; n--)
          bytes[random.int(0, bytes.length - 1)] = random.int(0, 255);
        break;
      default: // much of something
        if (random.chance(0.1))
          bytes = Buffer.concat([left, Buffer.alloc(random.int(0, muchBytes), pick(words)), right]);
    }
  }
  return bytes;
}

/** Cuts bytes into pieces: each is, with equal chance, the whole rest or a few bytes. */
export function cut(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const to = from + (random.chance(0.5) ? bytes.length : random.int(1, 1 << random.int(0, 8)));
    pieces.push(bytes.subarray(from, to));
    from = to;
  }
  return pieces;
}

/** Collects uncaught errors, for one target at a time. */
class Uncaught {
  readonly faults: unknown[] = [];
  readonly #onFault = (fault: unknown) => void this.faults.push(fault);

  constructor() {
    process.on('uncaughtException', this.#onFault);
    process.on('unhandledRejection', this.#onFault);
  }

  /** @param patienceMs time for late errors, which must not be blamed on the next input */
  async take(patienceMs = 0): Promise<unknown> {
    await new Promise((done) => setImmediate(done));
    if (this.faults.length === 0 && patienceMs > 0) await pause(patienceMs);
    return this.faults.shift();
  }

  close(): void {
    process.off('uncaughtException', this.#onFault);
    process.off('unhandledRejection', this.#onFault);
  }
}

/** Plays `count` inputs. @throws Finding at the first fault */
export async function fuzzTarget(target: FuzzTarget, random: Random, count: number): Promise<void> {
  const { atOnce = 1, seeds, words, muchBytes } = target;
  const uncaught = new Uncaught();
  try {
    for (let played = 0; played < count; played += atOnce) {
      const inputs = Array.from({ length: Math.min(atOnce, count - played) }, () => ({
        bytes: mutant(random, seeds, words, muchBytes),
        seed: random.int(0, 2 ** 31),
      }));
      const beganMs = performance.now();
      const faults =
        atOnce === 1 ? [faultOf(target, inputs[0]!)] : await Promise.all(inputs.map((one) => faultOf(target, one)));
      const tookMs = performance.now() - beganMs;
      for (const [i, going] of faults.entries()) {
        const fault = going instanceof Promise ? await going : going;
        if (fault !== undefined) throw new Finding(target.name, inputs[i]!, fault, random.seed);
      }
      if (atOnce > 1 || played % 100 === 0) {
        const fault = await uncaught.take();
        if (fault !== undefined) await blame(target, inputs, random, uncaught, fault);
      }
      // Inputs played together wait for one another, so the limit is higher.
      if (tookMs > MAX_MS * (atOnce > 1 ? 20 : 1)) for (const one of inputs) await isSwift(target, one, random.seed);
    }
    const last = await uncaught.take();
    if (last !== undefined) throw new Finding(target.name, { bytes: Buffer.alloc(0), seed: 0 }, last, random.seed);
  } finally {
    uncaught.close();
  }
}

/** The fault of one input, if any; never throws or rejects. Not a promise if the target is synchronous. */
function faultOf(target: FuzzTarget, { bytes, seed }: Input): unknown | Promise<unknown> {
  const wrong = (error: unknown) => error ?? 'undefined was thrown';
  try {
    return target.play(bytes, new Random(seed))?.then(() => undefined, wrong);
  } catch (error) {
    return wrong(error);
  }
}

/** Finds the input that caused an uncaught error, and throws. */
async function blame(
  target: FuzzTarget,
  inputs: readonly Input[],
  random: Random,
  uncaught: Uncaught,
  first: unknown,
): Promise<never> {
  for (const one of [...inputs, ...inputs]) {
    await faultOf(target, one);
    const fault = await uncaught.take(LATE_MS);
    if (fault !== undefined) throw new Finding(target.name, one, fault, random.seed);
  }
  throw new Finding(
    target.name,
    { bytes: Buffer.concat(inputs.map(({ bytes }) => bytes)), seed: 0 },
    first,
    random.seed,
  );
}

/** Asserts that no turn of the loop is long, by CPU time, since on a busy machine everything is late. */
async function isSwift(target: FuzzTarget, one: Input, seed?: number): Promise<void> {
  let minMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3 && minMs > MAX_MS; i++)
    minMs = Math.min(minMs, await longestTurnMs(async () => faultOf(target, one)));
  if (minMs > MAX_MS) {
    const cause = `${one.bytes.length} bytes held the loop for ${Math.round(minMs)} ms of CPU`;
    throw new Finding(target.name, one, cause, seed);
  }
}

/** Plays one input alone, cut by its seed and by a few others. @throws Finding */
export async function playAlone(target: FuzzTarget, { bytes, seed }: Input): Promise<void> {
  const uncaught = new Uncaught();
  try {
    for (const cutBy of [...CUTS, seed]) {
      const input = { bytes, seed: cutBy };
      const fault = (await faultOf(target, input)) ?? (await uncaught.take(target.atOnce === undefined ? 0 : LATE_MS));
      if (fault !== undefined) throw new Finding(target.name, input, fault);
    }
    await isSwift(target, { bytes, seed });
  } finally {
    uncaught.close();
  }
}

/** A smaller input with a fault: removes pieces while the fault remains. */
export async function minimised(target: FuzzTarget, { bytes, seed }: Input): Promise<Buffer> {
  let best = bytes;
  let tries = 0;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.length && tries < MAX_TRIES; tries++) {
      const less = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      const goesWrong = await playAlone(target, { bytes: less, seed }).then(
        () => false,
        () => true,
      );
      if (goesWrong) best = less;
      else at += size;
    }
  }
  return best;
}

/** Former findings by name (`NAME@SEED.bin` if the cuts matter). */
export function corpusOf(target: string): (Input & { readonly name: string })[] {
  const folder = join(CORPUS, target);
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.bin'));
    return names.sort().map((name) => {
      return { name, bytes: readFileSync(join(folder, name)), seed: Number(/@(\d+)\./.exec(name)?.[1] ?? 0) };
    });
  } catch {
    return [];
  }
}

/** @returns the path */
export function keep(target: string, name: string, bytes: Buffer): string {
  mkdirSync(join(CORPUS, target), { recursive: true });
  const path = join(CORPUS, target, `${name}.bin`);
  writeFileSync(path, bytes);
  return path;
}
