/**
 * `npm run truth`: compares titles with sound, by tones that change in an encoder's stream, pushes at these moments, and recordings of real players.
 * Prints a table and writes a picture. It stays on loopback, and always stops its own processes, and only these. Exit code 1: a goal was missed.
 */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { missing } from '../../test/kit/program.js';
import { stopAll } from '../process.js';
import { path } from '../target.js';
import { type ChannelPlan, NEEDED, SCENES, type Scene } from './cases.js';
import { figuresOf, median } from './figures.js';
import { missingPlayer } from './players.js';
import { type CaseResult, runScene } from './scene.js';
import { knowsOption } from './servers.js';
import { picture } from './svg.js';
import { isCaseHeld, table } from './table.js';

const USAGE = `usage: npm run truth -- [SCENE] [--seconds 80]
  SCENE          only the scenes whose name has this text, in any case, such as hls
  [--only TEXT]  only the channels whose name has this text, in any case; --list prints the names
  [--save NAME]  keep the errors in bench/results/DATE-NAME.json
  [--svg FILE]   default: bench/truth/truth.svg for a whole run, none with --only`;

const options = readArguments();
/** Time limit of all scenes. */
const MAX_MS = SCENES.length * (options.seconds + 120) * 1000;
const folder = mkdtempSync(join(tmpdir(), 'airsplice-truth-'));
// Icecast and VLC run as another user, who must reach their folders.
chmodSync(folder, 0o711);
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stopAll().finally(() => process.exit(130)));
// Ends a run that hangs, as a browser may.
const patience = setTimeout(() => process.kill(process.pid, 'SIGTERM'), MAX_MS);
patience.unref();

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`);
  process.exitCode = 2;
} finally {
  await stopAll();
  // After a failure, a timer or a socket may be left.
  process.exit();
}

async function run(): Promise<number> {
  const gone = missing(...NEEDED);
  if (gone) throw new Error(gone);
  const { seconds, only, save } = options;
  const results: CaseResult[] = [];
  const lagMs: number[] = [];
  const notes: string[] = [];
  let [titles, disturbed] = [0, 0];
  for (const scene of SCENES) {
    if (!scene.name.toLowerCase().includes(options.scene.toLowerCase())) continue;
    const channels = await possible(scene, only, notes);
    if (channels.length === 0) continue;
    process.stderr.write(`${scene.name}: ${channels.map(({ name }) => name).join('; ')}\n`);
    const result = await runScene({ name: scene.name, channels }, { folder, seconds });
    for (const each of result.cases) add(results, each);
    lagMs.push(...result.lagMs);
    notes.push(...result.faults);
    titles += result.titles;
    disturbed += result.disturbed;
  }
  const machine = `${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${process.version}, kernel ${release()}, ${chromiumVersion()}; load ${loadavg()[0]!.toFixed(1)}`;
  const lag = figuresOf(lagMs.map((ms) => ms - median(lagMs)));
  process.stdout.write(`${machine}; ${seconds} s a scene

Errors are title − sound in ms: the median, and the 95th percentile of their sizes. Of ${titles} titles ${disturbed} do not count:
the machine was too busy at their moments.
${
  lagMs.length === 0
    ? ''
    : `Of Chromium the first two figures are without the player's own lag, the next two raw: its currentTime, compared with
a file whose changes are known, differs from what is heard by ${median(lagMs).toFixed(0)} ms (median), and that by ${lag.p95Ms.toFixed(0)} ms (p95).
`
}
${table(results)}
${notes.map((note) => `\n${note}`).join('')}
`);
  if (options.svg !== undefined) writeFileSync(options.svg, picture(results, machine));
  if (save !== undefined) {
    mkdirSync(path('results'), { recursive: true });
    const file = path(`results/${new Date().toISOString().slice(0, 10)}-${save}.json`);
    writeFileSync(file, `${JSON.stringify({ machine, seconds, lagMs, results })}\n`);
    process.stdout.write(`\nsaved: ${file}\n`);
  }
  return results.every((result) => isCaseHeld(result) !== false) ? 0 : 1;
}

/** Merges the results of cases with the same name in two scenes. */
function add(results: CaseResult[], one: CaseResult): void {
  const index = results.findIndex(({ name }) => name === one.name);
  const same = results[index];
  if (same === undefined) results.push(one);
  // Only cases without a known lag have the same name.
  else results[index] = { ...same, mistakes: [...same.mistakes, ...one.mistakes], missing: same.missing + one.missing };
}

/** The wanted channels of a scene that are possible here; the others are noted. */
async function possible(scene: Scene, only: string, notes: string[]): Promise<ChannelPlan[]> {
  const channels: ChannelPlan[] = [];
  for (const plan of scene.channels) {
    if (!plan.name.toLowerCase().includes(only.toLowerCase())) continue;
    if (plan.isIcecast && missing('icecast2')) notes.push(`skipped: ${plan.name}: ${missing('icecast2')}`);
    else if (plan.options !== undefined && !(await knowsOption(folder, plan.options)))
      notes.push(`skipped: ${plan.name}: this version does not know ${Object.keys(plan.options).join(', ')}`);
    else {
      const players = (plan.players ?? []).filter(({ name }) => {
        const why = missingPlayer(name);
        if (why) notes.push(`skipped: ${name}: ${why}`);
        return !why;
      });
      channels.push({ ...plan, players });
    }
  }
  return channels;
}

function chromiumVersion(): string {
  const said = execFileSync('chromium', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return /Chromium [\d.]+/.exec(said)?.[0] ?? 'Chromium';
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        seconds: { type: 'string', default: '80' },
        only: { type: 'string', default: '' },
        list: { type: 'boolean', default: false },
        save: { type: 'string' },
        svg: { type: 'string' },
      },
    });
    if (values.list) {
      for (const { name, channels } of SCENES)
        process.stdout.write(`${name}\n${channels.map((channel) => `  ${channel.name}\n`).join('')}`);
      process.exit(0);
    }
    if (positionals.length > 1) throw new RangeError('one scene at most');
    const [scene = ''] = positionals;
    const seconds = Number(values.seconds);
    if (!(Number.isInteger(seconds) && seconds >= 20 && seconds <= 600))
      throw new RangeError('--seconds is a number from 20 to 600');
    if (values.save !== undefined && !/^[\w.-]+$/.test(values.save))
      throw new RangeError('--save takes a plain file name');
    const svg = values.svg ?? (values.only === '' && scene === '' ? path('truth/truth.svg') : undefined);
    return { seconds, scene, only: values.only, save: values.save, svg };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}
