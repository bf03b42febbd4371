/**
 * Preloaded into each process of the server (`node --import`): every few seconds writes figures that only the process knows to its own file: the
 * minimum heap since the last time, memory outside of it, open handles and timers by kind. Its timer keeps no process alive.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

const LOOK_MS = 1_000;
const LOOKS_PER_WRITE = 5;

const folder = new URL(import.meta.url).searchParams.get('folder');
const file = join(folder, `${process.pid}.json`);
let heapBytes = Number.POSITIVE_INFINITY;
let looks = 0;

function look() {
  heapBytes = Math.min(heapBytes, getHeapStatistics().used_heap_size);
}

function write() {
  const { external, arrayBuffers } = process.memoryUsage();
  const handles = {};
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
  const role = process.env['AIRSPLICE_PROCESS'] ?? 'supervisor';
  const said = { role, heapBytes, externalBytes: external, bufferBytes: arrayBuffers, handles };
  writeFileSync(`${file}.new`, JSON.stringify(said));
  renameSync(`${file}.new`, file);
  heapBytes = Number.POSITIVE_INFINITY;
}

// Right after a collection, the heap has only what is in use.
new PerformanceObserver(look).observe({ entryTypes: ['gc'] });
setInterval(() => {
  look();
  if (++looks % LOOKS_PER_WRITE === 0) write();
}, LOOK_MS).unref();
