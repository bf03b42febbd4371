/** The server whose configuration changes, in this process or as processes of its own: its reload by text, and what it says of it. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { control } from '../../src/cli/control.js';
import { loadConfig } from '../../src/config/load.js';
import { planReload, planText, type ReloadPlan } from '../../src/config/plan.js';
import { ServerProcess } from './process.js';
import { startServer, tempFolder, WORKERS } from './server.js';

const SAID_CHARACTERS = 6000;

export interface Subject {
  /** What `airsplice check --diff` would say between two texts. */
  plan(before: string, after: string): ReloadPlan;
  /** Resolves with the plan as text. Rejects with why nothing was changed. */
  reload(text: string): Promise<string>;
  /** The last of what it has logged, where it is a process. */
  said(): string;
}

/** @param text of the first configuration, as JSON @param port of its first address @param isProcess as processes even where there are no workers */
export async function startSubject(t: Test, text: string, port: number, isProcess = false): Promise<Subject> {
  const folder = tempFolder(t);
  const path = join(folder, 'config.yaml');
  const plan = (before: string, after: string) =>
    planReload(loadConfig(path, process.env, before), loadConfig(path, process.env, after));
  if (WORKERS === 0 && !isProcess) {
    const server = await startServer(t, text, folder);
    return { plan, reload: async (next) => planText(await server.reload(next)), said: () => '' };
  }
  const data = join(folder, 'data');
  const whole = (json: string) => json.replace(/^\{/, `{ "workers": ${WORKERS}, "data": { "folder": "${data}" },`);
  writeFileSync(path, whole(text));
  const server = new ServerProcess(t, port, [path], { TMPDIR: folder });
  await server.ready();
  return {
    plan,
    said: () => server.out.slice(-SAID_CHARACTERS),
    reload: (next) => {
      writeFileSync(path, whole(next));
      return control(data, 'reload', new AbortController().signal);
    },
  };
}
