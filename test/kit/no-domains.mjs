/**
 * Loaded before tap in a process of a pool: tap follows every promise and timer with async hooks, to know of an error that is thrown later which
 * test it came from, and that costs a fifth of the CPU time of the tests. Here such an error fails the file that runs (file-runner.mjs).
 */

import asyncHooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

const none = { enable: () => none, disable: () => none };

asyncHooks.createHook = () => none;
syncBuiltinESMExports();
