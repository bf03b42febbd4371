/**
 * A process of a pool (pool.mjs): runs test files one after the other, each as a test below tap's own root, and says how it went. It gets the
 * next file when one has ended, and ends when there is none.
 *
 * What a file leaves open is seen at the end: the process then has to end by itself.
 */

import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import './no-domains.mjs';
import { t as root } from 'tap';
import { Counts } from './counts.mjs';
import { beginFile } from './current-file.mjs';
import { leftOpen } from './left-open.mjs';

/** In which a process without a test left has ended, but for what its files left open; a time-out of theirs may take longer. */
const LEFT_OPEN_MS = 6000;
const MAX_TIMEOUTS_MS = 60_000;
const LEFT_OPEN_CODE = 3;
const LOOK_MS = 100;
/** Linux's, for all that it says to programs. */
const TICK_MS = 10;

process.setSourceMapsEnabled(true);
// Its TAP is of no use: the counts are made here.
root.pipe(new Writable({ write: (_chunk, _encoding, done) => done() }));
root.register();
// It waits for orders; `register` lets it go.
process.channel.ref();

const send = (message) => process.send(message);
const ran = [];
let hasFailed = false;

/** The test that stands for the current file. */
let current = root;

// What a timer or a promise throws, of whichever test. Who listens to that itself (fuzz.ts) knows what to do.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') === 1) current.threw(error);
});

// What tap finds behind the end of a file makes this code, and stands nowhere else.
process.on('exit', (code) => {
  if (code === 0 || code === LEFT_OPEN_CODE || hasFailed) return;
  const { results, lists } = root;
  process.stderr.write(`ended with ${code}: ${inspect(results?.failures ?? lists?.fail, { depth: 4 })}\n`);
});

async function run({ file, path, timeoutMs }) {
  const counts = new Counts((line) => send({ line }));
  const startedMs = performance.now();
  const startedCpuMs = cpuMs();
  let ended;
  await root.test(file, { timeout: timeoutMs }, async (own) => {
    current = own;
    ended = counts.watch(own.parser, [file]);
    beginFile(file, own);
    await import(pathToFileURL(path).href);
  });
  if (!ended()) counts.skip([file], current.results.plan.comment || 'asserts nothing');
  ran.push(file);
  hasFailed ||= counts.failed > 0;
  send({ file, counts: counts.all, ms: performance.now() - startedMs, cpuMs: cpuMs() - startedCpuMs });
}

/** Of this process, and of those that it started and that have ended (proc(5), /proc/PID/stat). */
function cpuMs() {
  try {
    const text = readFileSync('/proc/self/stat', 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

function end() {
  root.end();
  process.disconnect();
  // What has failed may well not have closed all that it opened.
  if (hasFailed) process.exit();
  const sinceMs = performance.now();
  const timer = setInterval(() => {
    const passedMs = performance.now() - sinceMs;
    if (passedMs < LEFT_OPEN_MS) return;
    const open = process.getActiveResourcesInfo().filter((name) => name !== 'TTYWrap' && name !== 'PipeWrap');
    if (passedMs < MAX_TIMEOUTS_MS && open.every((name) => name === 'Timeout')) return;
    process.stderr.write(`left open by one of ${ran.join(' ')}: ${leftOpen(open).join(', ')}\n`);
    process.exit(LEFT_OPEN_CODE);
  }, LOOK_MS);
  timer.unref();
}

process.on('message', (order) => {
  if (order === null) end();
  else void run(order);
});
send({ isReady: true });
