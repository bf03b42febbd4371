/** Fuzzes one target by hand (fuzz.ts); minimises a finding and writes it to the corpus. Exit code 1: there was one. */

import type { Test } from 'tap';
import { Finding, fuzzTarget, keep, minimised } from './fuzz.js';
import { fuzzTargets } from './fuzz-targets.js';
import { Random } from './random.js';

const [name = '', count = '100000'] = process.argv.slice(2);
const endings: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => void endings.push(end) } as unknown as Test;
const target = fuzzTargets(t).find((each) => each.name === name);
if (target === undefined) throw new Error(`no target ${name}: ${fuzzTargets(t).map((each) => each.name)}`);
const random = new Random();
const beganMs = performance.now();
let code = 0;
try {
  await fuzzTarget(target, random, Number(count));
  console.log(`${name}: ${count} inputs in ${Math.round(performance.now() - beganMs)} ms, seed ${random.seed}`);
} catch (error) {
  if (!(error instanceof Finding)) throw error;
  console.log(error.message);
  const bytes = await minimised(target, error.input);
  console.log(`${bytes.length} bytes: ${keep(name, `seed-${random.seed}@${error.input.seed}`, bytes)}`);
  code = 1;
}
for (const end of endings.reverse()) await end();
process.exit(code);
