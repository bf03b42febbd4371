/** Starts the whole server from a YAML text, in this process, on free loopback ports, with a data folder of its own. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type App, startApp } from '../../src/app/app.js';
import { type Log, openLog } from '../../src/base/log.js';
import { loadConfig } from '../../src/config/load.js';

export const DEMO_AUDIO = new URL('../../config/demo/airsplice.mp3', import.meta.url).pathname;
/** Of a configuration: two stations for readers. `zulu` and `alpha`, in this order, have no audio by themselves; `bravo` plays. */
export const TWO_STATIONS = `stations:
  house:
    channels:
      zulu: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }
      alpha: { pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }
  other:
    channels:
      bravo: { bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }
`;

/** Longer than any test. */
const LONG_TURN_MS = 600_000;

export interface TestServer {
  readonly app: App;
  readonly port: number;
  /** `http://127.0.0.1:port` */
  readonly base: string;
  readonly ws: string;
  readonly folder: string;
}

/** A folder that goes when the test has ended. */
export function tempFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'airsplice-test-'));
  // The children of a program that was killed may end, and write, a little later.
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}

/** The demo's three channels on a free port (the relay's URL must be given where it is used), and whatever is added. */
export function demoYaml(extra = '', port = 0): string {
  return `
addresses: [{ host: 127.0.0.1, port: ${port} }]
stations:
  demo:
    name: Demo
    timezone: Europe/Zurich
    channels:
      demo:
        name: Demo Channel
        bitrateKbps: 128
        mounts: [/demo.mp3]
        pushTokens: [demo-token]
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
      studio:
        name: Studio
        bitrateKbps: 128
        mounts: [/studio.mp3]
        pushTokens: [studio-token]
        sources: [{ type: encoder, password: demo-source, titlesWhileAway: true }, { type: file, path: ${DEMO_AUDIO} }]
${extra}
`;
}

/** @param log `silent` unless something has to be looked at */
export async function startServer(
  t: Test,
  yaml: string,
  folder = tempFolder(t),
  log: Log = openLog('silent', 0).log,
): Promise<TestServer> {
  const path = join(folder, 'config.yaml');
  writeFileSync(path, yaml);
  const config = loadConfig(path, process.env);
  // That the machine stood still belongs into a test's log only where the test asks for it.
  const longTurnMs = yaml.includes('longTurnMs') ? config.log.longTurnMs : LONG_TURN_MS;
  const data = { folder: join(folder, 'data') };
  const app = await startApp({ ...config, data, log: { ...config.log, longTurnMs } }, log);
  t.teardown(() => app.stop());
  const port = app.ports[0]!;
  return { app, port, base: `http://127.0.0.1:${port}`, ws: `ws://127.0.0.1:${port}`, folder };
}
