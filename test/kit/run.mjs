/**
 * Runs `npm test` and its longer forms (the tiers: tiers.mjs, and the table in test/README.md): builds, then checks types, lint and format in
 * parallel with the tests, and closes with one line for all. With files as arguments, runs only those, without a build.
 */

import { bundleTests } from './bundle.mjs';
import { withChecks } from './checked.mjs';
import { Legs } from './legs.mjs';
import { atEachChange, DOCUMENTS, everything, short } from './tiers.mjs';

const FORMS = {
  '--change': atEachChange,
  '--all': everything,
  '--documents': () => ({ legs: [{ name: 'documents', files: DOCUMENTS, processes: 1 }], leftOut: [] }),
};

/** Time-out for named files, enough for long attacks. */
const NAMED_TIMEOUT_MS = 4 * 3_600_000;

const named = process.argv.slice(2);
const form = named.length === 0 ? short : FORMS[named[0]];
const isWhole = form !== undefined && named[0] !== '--documents';
const { legs, leftOut } = form?.() ?? {
  legs: [{ name: 'as named', files: named, own: named, timeoutMs: NAMED_TIMEOUT_MS }],
  leftOut: [],
};

async function bundle() {
  const startedMs = performance.now();
  const folder = await bundleTests([...new Set(legs.flatMap(({ files }) => files))]);
  return { folder, ms: performance.now() - startedMs };
}

async function runTests({ folder, ms }, buildMs) {
  const run = new Legs((file) => `${folder}${file.replace(/\.ts$/, '.js')}`);
  if (buildMs !== undefined) run.took('build', buildMs);
  run.took(buildMs === undefined ? 'bundle of the tests' : 'bundle of the tests, beside it', ms);
  for (const together of inGroups(legs)) await run.run(...together);
  return await run.close(leftOut);
}

/** Adjacent legs of one group run together. */
function inGroups(all) {
  const groups = [];
  for (const leg of all) {
    const last = groups.at(-1);
    if (leg.group !== undefined && last?.[0].group === leg.group) last.push(leg);
    else groups.push([leg]);
  }
  return groups;
}

process.exitCode = (await (isWhole ? withChecks(bundle, runTests) : runTests(await bundle()))) ? 0 : 1;
