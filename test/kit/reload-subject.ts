/**
 * The server whose configuration changes, in this process or as separate processes. With TEST_NODES it shares audio and titles with another
 * machine, which only serves, and gets each configuration too.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { control } from '../../src/cli/control-client.js';
import { loadConfig } from '../../src/config/load.js';
import { planReload, planText, type ReloadPlan } from '../../src/config/plan.js';
import { freePorts, ServerProcess } from './process.js';
import { RedisServer } from './redis.js';
import { NODES, startServer, WORKERS } from './server.js';
import { tempFolder } from './temp-folder.js';

const SAID_CHARACTERS = 6000;

export interface Subject {
  /** The plan of a reload from one text to another. */
  plan(before: string, after: string): ReloadPlan;
  /** Resolves with the plan as text. Rejects with the reason if nothing was changed. */
  reload(text: string): Promise<string>;
  /** The end of its log, if it is a process. */
  said(): string;
}

/** @param text of the first configuration, as JSON @param port of its first address @param isProcess separate processes even without workers */
export async function startSubject(t: Test, text: string, port: number, isProcess = false): Promise<Subject> {
  const folder = tempFolder(t);
  const path = join(folder, 'config.yaml');
  const plan = (before: string, after: string) =>
    planReload(loadConfig(path, process.env, before), loadConfig(path, process.env, after));
  if (WORKERS === 0 && !isProcess) {
    const server = await startServer(t, text, folder);
    return { plan, reload: async (next) => planText(await server.reload(next)), said: () => '' };
  }
  const shared = NODES > 0 ? await beginCluster(t) : null;
  const data = join(folder, 'data');
  const whole = (json: string) =>
    json.replace(
      /^\{/,
      `{ "workers": ${WORKERS}, "data": { "folder": "${data}" },${shared?.asNode('subject', true) ?? ''}`,
    );
  writeFileSync(path, whole(text));
  const server = new ServerProcess(t, port, [path], { TMPDIR: folder });
  await server.ready();
  const other = shared === null ? null : await startOther(t, text, shared);
  return {
    plan,
    said: () => server.out.slice(-SAID_CHARACTERS),
    reload: async (next) => {
      writeFileSync(path, whole(next));
      const said = await control(data, 'reload', new AbortController().signal);
      await other?.(next);
      return said;
    },
  };
}

interface SharedCluster {
  /** Its section as JSON, with a trailing comma. */
  asNode(name: string, mayFeed: boolean): string;
}

async function beginCluster(t: Test): Promise<SharedCluster> {
  process.env['CLUSTER_SECRET'] = 'a secret that both machines know';
  const [redis, tapesPort] = [await RedisServer.start(t), await freePorts(2)];
  return {
    asNode: (node, mayFeed) => {
      const port = mayFeed ? tapesPort : tapesPort + 1;
      const tapes = { host: '127.0.0.1', port, secret: 'env:CLUSTER_SECRET' };
      return `${JSON.stringify({ cluster: { url: redis.url, node, sources: mayFeed, tapes } }).slice(1, -1)},`;
    },
  };
}

/** @returns a function that reloads the other machine */
async function startOther(t: Test, text: string, shared: SharedCluster): Promise<(text: string) => Promise<unknown>> {
  const folder = tempFolder(t);
  const [port, path, data] = [await freePorts(2), join(folder, 'config.yaml'), join(folder, 'data')];
  const whole = (json: string) => {
    const ofOne = JSON.stringify({ ...JSON.parse(json), addresses: [{ host: '127.0.0.1', port }] });
    return ofOne.replace(/^\{/, `{ "data": { "folder": "${data}" },${shared.asNode('other', false)}`);
  };
  writeFileSync(path, whole(text));
  await new ServerProcess(t, port, [path], { TMPDIR: folder }).ready();
  return (next) => {
    writeFileSync(path, whole(next));
    return control(data, 'reload', new AbortController().signal);
  };
}
