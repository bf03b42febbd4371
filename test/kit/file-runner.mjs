/**
 * A process of a pool (pool.mjs): runs test files one after the other, each as a test below tap's root, and reports the result. It gets the
 * next file when one has ended, and ends when there is none.
 *
 * At the end the process must end by itself, which shows whether files left something open.
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

/** A process without files that runs longer than this has something left open; a pending time-out may take longer. */
const LEFT_OPEN_MS = 6000;
const MAX_TIMEOUTS_MS = 60_000;
const LEFT_OPEN_CODE = 3;
const LOOK_MS = 100;
/** Linux's unit of CPU times in /proc. */
const TICK_MS = 10;

process.setSourceMapsEnabled(true);
// The root's TAP is not used: this file counts.
root.pipe(new Writable({ write: (_chunk, _encoding, done) => done() }));
root.register();
// Keeps the process alive for orders; `register` undoes it.
process.channel.ref();

const send = (message) => process.send(message);
const ran = [];
let hasFailed = false;
/** Whether it has run all of its files. */
let isDone = false;

/** The test of the current file. */
let current = root;

// Errors of timers and promises, of any test. Tests with their own listeners (fuzz.ts) handle them themselves.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') === 1) current.threw(error);
});

// Faults that tap finds after the end of a file only set this exit code.
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

/** CPU time of this process and of its ended children (proc(5), /proc/PID/stat). */
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
  isDone = true;
  root.end();
  process.disconnect();
  // A failed test may well have left something open.
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

// The run was ended, by Ctrl-C or a signal: ends this process' group, with what its files started.
process.on('disconnect', () => isDone || process.kill(0, 'SIGKILL'));
process.on('message', (order) => {
  if (order === null) end();
  else void run(order);
});
send({ isReady: true });
