/**
 * Loaded before tap in a process of a pool: disables tap's async hooks, which follow every promise and timer to attribute later errors to tests, at
 * a fifth of the tests' CPU time. Here such an error fails the current file (file-runner.mjs).
 */

import asyncHooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

const none = { enable: () => none, disable: () => none };

asyncHooks.createHook = () => none;
syncBuiltinESMExports();
