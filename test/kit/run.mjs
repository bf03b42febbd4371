/**
 * `npm test` and `npm run test:long`: all files of a form, several at a time, then those that measure a machine at rest, one by one. A
 * file that fails is run again alone (tap-runs.mjs). One closing line for all. With files as arguments: only those, once.
 *
 * The short form (7 to 9 minutes) leaves out `LONG`: what takes long by its nature (crashes, disks, clocks, attacks) and all but one of the real
 * programs of a kind. The long form has those, the long forms of some others (LONG=1), test/behaviour once more on two machines, each with workers or
 * none (TEST_NODES=2), and the reload on a hub and two workers (TEST_WORKERS=2).
 */

import { existsSync, readdirSync } from 'node:fs';
import { bundleTests } from './bundle.mjs';
import { inTurn, tap } from './tap-runs.mjs';

/** By name, which tap would ignore where it has changed. */
function files(folder, names) {
  const paths = names.split(/\s+/).map((name) => `test/${folder}/${name}.test.ts`);
  for (const path of paths) if (!existsSync(path)) throw new Error(`${path} is not there: see test/kit/run.mjs`);
  return paths;
}

/** Not in the short form. */
const LONG = [
  ...files(
    'e2e',
    'alerts attacks backup chromium clock cluster cluster-example crash darkice exception fallback-restart faults ffmpeg-ogg firefox kept-statistics libshout liquidsoap log monitoring ogg ogg-icy origins players',
  ),
  ...files(
    'e2e',
    'dead-processes other-version package proxies reload reload-deaths reload-workers restart rolling-restart sessions store systemd transcribed worker-limits workers',
  ),
  ...files('app', 'reload'),
  ...files('audio', 'ogg-link-end'),
  ...files(
    'behaviour',
    'churn decoders fallbacks fuzz-front heard-places large-pieces large-station media-clock moved-encoder unread-answers write-seconds',
  ),
  ...files('channel', 'coming-frames'),
  ...files('cluster', 'leases'),
  ...files('cli', 'bench cluster commands doctor-proxy init measure-offset record'),
  ...files('client', 'attach'),
  ...files('docs', 'page playout'),
  ...files('http/admin', 'page-acts'),
  ...files('kit', 'reporter spread'),
  ...files('store', 'pages'),
];
/** In both: the long form tries more. */
const LONGER = [
  ...files('audio', 'framer ogg ogg-rendering'),
  ...files('behaviour', 'cluster-titles'),
  ...files('e2e', 'start'),
  ...files('link', 'replica-tape'),
  ...files('net', 'connections'),
  ...files('store', 'store'),
];
/** The long form has more of the same (long/reload-pairs), and these on two machines. */
const NOT_ALONE = files('behaviour', 'reload-pairs');
/** Load from other files would spoil what they measure. */
const ALONE = files('behaviour', 'framing-budget');
/** Many processes each, or strict times: two at a time. The longest first, beside one that mostly waits. */
const PAIRED = [
  ...files('long', 'hostile reading-players reload-pairs cluster-stops processes hostile-workers'),
  ...files(
    'e2e',
    'cluster rolling-restart attacks dead-processes origins other-version sessions worker-limits workers',
  ),
];
const LONG_ALONE = [...files('behaviour', 'heard-places unread-answers'), ...files('long', 'cluster-faults truth')];

/** These start no server of processes: with workers, or on two machines, they would be the same. */
const NO_SERVER = files(
  'behaviour',
  'decoders encoder-transcripts framing-budget fuzz-front heard-places joined-limits media-clock splice unread-answers',
);
/** `cluster-titles` has its own machines; of a reload all that is asked is one machine's. */
const ON_WORKERS = [...files('behaviour', 'cluster-titles'), ...files('app', 'reload')];
const SLOW = '--timeout=1800';

function testsIn(folder) {
  const found = readdirSync(`test/${folder}`).filter((file) => file.endsWith('.test.ts'));
  return found.map((file) => `test/${folder}/${file}`);
}

function long() {
  const first = [...testsIn('long'), ...LONG, ...LONGER];
  const rest = first.filter((file) => !PAIRED.includes(file) && !LONG_ALONE.includes(file));
  const env = { LONG: '1' };
  return inTurn([
    [[SLOW, '--jobs=3', ...rest], env],
    [[SLOW, '--jobs=2', ...PAIRED], env],
    [[SLOW, '--jobs=1', ...LONG_ALONE], env],
    onWorkers(),
    onNodes(),
  ]);
}

/** What has more to say of one machine with workers than of two: of four processes each. */
function onWorkers() {
  return [[SLOW, '--jobs=2', ...ON_WORKERS], { TEST_WORKERS: '2' }];
}

/** All else of test/behaviour that starts a server. */
function onNodes() {
  const rest = testsIn('behaviour').filter((file) => ![...NO_SERVER, ...ON_WORKERS].includes(file));
  return [[SLOW, '--jobs=3', ...rest], { TEST_NODES: '2', TEST_WORKERS: '2' }];
}

function short() {
  const excluded = ['test/long/**', ...LONG, ...NOT_ALONE, ...ALONE].map((file) => `--exclude=${file}`);
  return inTurn([
    [excluded, {}],
    [['--jobs=1', ...ALONE], {}],
  ]);
}

const named = process.argv.slice(2);
const forms = {
  '--long': long,
  '--workers': () => inTurn([onWorkers()]),
  '--nodes': () => inTurn([onNodes()]),
};
const form = named.length === 0 ? short : forms[named[0]];
if (form) process.env.TEST_BUNDLE = await bundleTests();
const isOk = form ? form() : tap(named, {});
process.exitCode = isOk ? 0 : 1;
