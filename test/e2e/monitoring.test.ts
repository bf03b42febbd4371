/**
 * config/monitoring by Debian's Prometheus: its own checks, each alert in its unit tests, and a real one that scrapes a real server with workers, in
 * which every rule is evaluated and every query of the dashboard has data.
 */

import { execFileSync, spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { Feeder } from '../kit/feeder.js';
import { Machine } from '../kit/machine.js';
import { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { missing } from '../kit/program.js';
import { Receiver } from '../kit/receiver.js';
import { demoYaml } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const FOLDER = new URL('../../config/monitoring/', import.meta.url).pathname;
const RULES = 'airsplice.rules.yml';
const skip = missing('prometheus') || missing('promtool');

interface DataSource {
  readonly type: string;
  readonly uid: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: DataSource;
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly datasource: DataSource;
    readonly legendFormat?: string;
  }[];
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly name: string; readonly health: string; readonly lastError?: string }[];
  }[];
}

const PROMETHEUS: DataSource = { type: 'prometheus', uid: '$'.concat('{datasource}') };
const dashboard = JSON.parse(readFileSync(`${FOLDER}airsplice.dashboard.json`, 'utf8'));
const panels: readonly Panel[] = dashboard.panels;
/** Names of the dashboard's variables, without those that every Grafana has. */
const variables: readonly string[] = dashboard.templating.list.map(({ name }: { name: string }) => name);

t.test('configuration, rules, and each alert in a test of its own', { skip }, async (t) => {
  const run = (...args: string[]) => execFileSync('promtool', args, { cwd: FOLDER, encoding: 'utf8', stdio: 'pipe' });
  t.match(run('check', 'config', 'prometheus.yml'), /SUCCESS/);
  t.match(run('check', 'rules', RULES), /SUCCESS: 19 rules/);
  t.match(run('test', 'rules', 'airsplice.rules.test.yml'), /SUCCESS/);
  const names = parse(readFileSync(FOLDER + RULES, 'utf8')).groups[0].rules.map(
    ({ alert }: { alert: string }) => alert,
  );
  const { tests } = parse(readFileSync(`${FOLDER}airsplice.rules.test.yml`, 'utf8'));
  const tested = tests.map((each: { alert_rule_test: { alertname: string }[] }) => each.alert_rule_test[0]!.alertname);
  t.strictSame(tested, names);
});

t.test('the dashboard, as Grafana reads it', async (t) => {
  const { uid, title, schemaVersion, templating } = dashboard;
  t.match({ uid, title, schemaVersion }, { uid: /^[\w-]{1,40}$/, title: /./, schemaVersion: Number });
  t.equal(new Set(variables).size, variables.length);
  for (const { name, type, datasource, query } of templating.list) {
    if (type === 'datasource') t.equal(query, 'prometheus', name);
    else t.strictSame([type, datasource], ['query', PROMETHEUS], name);
  }
  for (const { title, type, datasource, fieldConfig, targets = [] } of panels) {
    if (type === 'row') continue;
    t.match(type, /^(timeseries|stat)$/, title);
    t.strictSame(datasource, PROMETHEUS, title);
    t.type(fieldConfig?.defaults.unit, 'string', title);
    t.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    for (const target of targets) {
      t.match(target.refId, /^[A-Z]$/, title);
      t.strictSame(target.datasource, PROMETHEUS, title);
      t.match(target.legendFormat, /./, title);
    }
  }
  for (const [, braced, bare] of JSON.stringify(dashboard).matchAll(/\$(?:\{(\w+)\}|(\w+))/g)) {
    const name = braced ?? bare!;
    t.ok(name.startsWith('__') || variables.includes(name), `$${name} is a variable`);
  }
});

t.test('its panels: none overlaps, each with an id and a title of its own', async (t) => {
  t.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  );
  t.equal(new Set(cells).size, cells.length);
  t.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24));
  for (const { type, title, targets = [] } of panels) t.equal(targets.length > 0, type !== 'row', title);
});

t.test('a real Prometheus, a real server', { skip, timeout: 240_000 }, async (t) => {
  const receiver = await Receiver.open(t);
  const machine = await Machine.start(
    t,
    (port) =>
      `alerts: { webhooks: [{ url: '${receiver.url}' }], afterSeconds: 0, againSeconds: 0 }\n${demoYaml('', port)}`,
  );
  const { port } = machine;
  new Feeder(t, port, '/studio.mp3').stream(t);
  const player = new Player(port, '/demo.mp3');
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 0);

  const folder = tempFolder(t);
  cpSync(FOLDER, folder, { recursive: true });
  const config = join(folder, 'prometheus.yml');
  const text = readFileSync(config, 'utf8').replace('127.0.0.1:8000', `127.0.0.1:${port}`);
  writeFileSync(config, text.replaceAll('15s', '1s'));
  const own = await freePort();
  const base = `http://127.0.0.1:${own}`;
  const storage = `--storage.tsdb.path=${join(folder, 'tsdb')}`;
  const options = [`--config.file=${config}`, storage, `--web.listen-address=127.0.0.1:${own}`];
  const prometheus = spawn('prometheus', options, { stdio: 'ignore' });
  const ended = new Promise((done) => prometheus.once('exit', done));
  t.teardown(async () => {
    prometheus.kill('SIGTERM');
    await ended;
  });
  const api = async (path: string) => {
    const answer = await fetch(`${base}/api/v1/${path}`).catch(() => null);
    // It is there before it can answer.
    return answer === null || answer.status === 503
      ? null
      : ((await answer.json()) as { status: string; data: never; error?: string });
  };
  const rows = async (query: string) => {
    const answer = await api(`query?query=${encodeURIComponent(query)}`);
    if (answer !== null && answer.status !== 'success') throw new Error(`${query}: ${answer.error}`);
    return (answer?.data as { readonly result: readonly unknown[] } | undefined)?.result as
      | readonly { readonly metric: object; readonly value: [number, string] }[]
      | undefined;
  };

  await until(async () => ((await rows('up == 1'))?.length ?? 0) === 1, 60_000);
  process.kill(machine.pidsOf('worker')[0]!, 'SIGKILL');
  // It may have had the listener.
  const another = new Player(port, '/demo.mp3');
  t.teardown(() => another.close());
  await another.until(({ audioBytes }) => audioBytes > 0, 60_000);
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      const query = expr
        .replaceAll('$__rate_interval', '30s')
        .replaceAll('"$channel"', '".*"')
        .replaceAll('"$instance"', '".*"');
      // There is something to count from the second scrape on.
      await until(
        async () => {
          await machine.push(`s${performance.now()}`).catch(() => undefined);
          return ((await rows(query))?.length ?? 0) > 0;
        },
        60_000,
        () => `${title}: ${query}`,
      );
      t.pass(`${title}: ${query}`);
    }
  }

  await until(async () => {
    const firing = await rows('ALERTS{alertname="AirspliceProcessDied", alertstate="firing"}');
    return (firing?.length ?? 0) === 1;
  }, 60_000);
  const rules = ((await api('rules'))!.data as Rules).groups[0]!.rules;
  t.equal(rules.length, 19);
  for (const { name, health, lastError } of rules) t.equal(health, 'ok', `${name} ${lastError ?? ''}`);
  // What the rules look at is there, whether it fires or not. This machine is alone: what is of a cluster is in e2e/cluster-clocks.test.ts,
  // and of certificates in e2e/acme.test.ts.
  const used = new Set(readFileSync(FOLDER + RULES, 'utf8').match(/\bairsplice_(?!cluster_|certificate_)\w+/g));
  for (const name of used)
    await until(
      async () => ((await rows(name))?.length ?? 0) > 0,
      30_000,
      () => name,
    );
});
