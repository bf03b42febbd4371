/**
 * `npm run bench`: measures airsplice's costs and delays, with peers and floors in the same run, and reports them as a table, JSON and plots. Rounds
 * alternate (A B A B), so that noise of the machine affects all; ratios count, not seconds. It stays on loopback, ends by itself, and stops only its
 * own processes. Exit code 1: wrong data was received; 2: it could not be measured.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Options, readArguments, USAGE } from './arguments.js';
import { runCommand } from './command.js';
import { Context, type Scenario, type Subject } from './context.js';
import { machine } from './machine.js';
import { plots } from './plots.js';
import { stopAll } from './process.js';
import { merge, type Report, type Result } from './result.js';
import { SCENARIOS } from './scenarios.js';
import { text } from './table.js';
import { path } from './target.js';

/** A scenario counts as hanging after this many times its stated duration. */
const PATIENCE_FACTOR = 3;
const SPARE_MINUTES = 3;

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stopAll().finally(() => process.exit(130)));

await runCommand(main, USAGE);

async function main(): Promise<number> {
  const names = SCENARIOS.map(({ name }) => name);
  const options = readArguments(process.argv.slice(2), names);
  if (options === 'help') return print(`${USAGE}\n`);
  if (options === 'list') return print(SCENARIOS.map(describe).join(''));
  const report = options.from === undefined ? await measureAll(options) : merge(options.from.map(readReport));
  print(text(report, options.isMarkdown));
  const folder = resolve(options.out ?? path('results'));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${options.save}.json`);
  writeFileSync(file, `${JSON.stringify(report, undefined, 1)}\n`);
  for (const [name, svg] of plots(report)) writeFileSync(join(folder, `${options.save}-${name}.svg`), svg);
  process.stderr.write(`\nkept: ${file} and its plots\n`);
  return report.results.every(({ faults }) => faults.length === 0) ? 0 : 1;
}

async function measureAll(options: Options): Promise<Report> {
  const scenarios = SCENARIOS.filter(({ name }) => options.only?.includes(name) ?? true);
  const subjects = options.url === undefined ? subjectsOf(options) : [];
  const nodes = subjects.length > 0 ? subjects.map(({ node }) => node) : [process.execPath];
  const report = { date: new Date().toISOString(), machine: machine(nodes), results: [] as Result[] };
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-bench-'));
  // Icecast and nginx may run as another user, who must reach their folders.
  chmodSync(folder, 0o711);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const context = new Context(options, subjects, folder);
  for (const scenario of scenarios) {
    process.stderr.write(`${scenario.name}\n`);
    const began = performance.now();
    report.results.push(await runOne(scenario, context));
    process.stderr.write(`  ${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  }
  return report;
}

/** The failure of a scenario does not affect the others. */
async function runOne(scenario: Scenario, context: Context): Promise<Result> {
  const { name, summary, minutes, takesUrl } = scenario;
  const nothing = { scenario: name, summary, targets: [], rows: [], checkedBytes: 0, faults: [], notes: [] };
  if (context.options.url !== undefined && !takesUrl) return { ...nothing, skipped: 'it measures our own server only' };
  const { rounds } = context.options;
  const share =
    Math.max(1, rounds / 3) * Math.max(1, context.subjects.length) * Math.max(1, (context.options.seconds ?? 0) / 20);
  const patience = setTimeout(
    () => {
      process.stderr.write(`${name} hangs\n`);
      process.kill(process.pid, 'SIGTERM');
    },
    (minutes * PATIENCE_FACTOR * share + SPARE_MINUTES) * 60_000,
  );
  try {
    return await scenario.run(context);
  } catch (error) {
    return { ...nothing, faults: [(error as Error).message] };
  } finally {
    clearTimeout(patience);
    await stopAll();
  }
}

function subjectsOf({ nodes }: Options): Subject[] {
  if (nodes.length === 0) return [{ name: 'airsplice', node: process.execPath }];
  return nodes.map((node) => {
    const { stdout, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
    if (error) throw new RangeError(`--node: ${node}: ${error.message}`);
    return { name: `Node ${stdout.trim().replace(/^v/, '')}`, node };
  });
}

function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch (error) {
    throw new RangeError(`--from: ${file}: ${(error as Error).message}`);
  }
}

function describe({ name, summary, minutes }: Scenario): string {
  return `${name.padEnd(12)}${summary} (about ${minutes} min)\n`;
}

function print(said: string): number {
  process.stdout.write(said);
  return 0;
}
