/** Reload by SIGHUP of the real server: one process, and a supervisor with workers. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { airsplice } from '../kit/command-line.js';
import { framesIn } from '../kit/feeder.js';
import { Player } from '../kit/player.js';
import { freePort, ServerProcess } from '../kit/process.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

const PATIENCE_MS = 60_000;

async function begin(t: Test, top: string) {
  const folder = tempFolder(t);
  const port = await freePort();
  const path = join(folder, 'config.yaml');
  const write = (channels: string, more = '') =>
    writeFileSync(
      path,
      `data: { folder: ${join(folder, 'data')} }\naddresses: [{ host: 127.0.0.1, port: ${port} }]\n${top}\n${more}\nstations:\n  house:\n    channels:\n${channels}`,
    );
  write(channel('a'));
  const server = new ServerProcess(t, port, [path], {});
  await server.ready();
  const player = new Player(port, '/a', { keep: true });
  t.teardown(() => player.close());
  await player.until(({ audioBytes }) => audioBytes > 20_000);
  const logged = (text: string) => server.err.split(text).length - 1;
  return { server, port, path, write, player, logged };
}

const channel = (key: string, more = '') =>
  `      ${key}: { bitrateKbps: 128, pushTokens: [demo-token], ${more} sources: [{ type: file, path: ${DEMO_AUDIO} }] }\n`;

for (const [name, top] of [
  ['one process', ''],
  ['workers', 'workers: 2'],
] as const) {
  t.test(`${name}: a channel and a name by SIGHUP; a wrong file leaves all as it is`, async (t) => {
    const { server, write, player, path, logged } = await begin(t, top);
    write(channel('a', 'name: New,') + channel('b'));
    server.child.kill('SIGHUP');
    await until(
      () => logged('"configuration reloaded"') === 1,
      PATIENCE_MS,
      () => server.err,
    );
    t.match(server.err, /stations\.house\.channels\.a\.name: \\"\\" → \\"New\\"/, 'what has changed is in the log');
    const stations = async () =>
      (await (await fetch(`${server.base}/metadata/stations.json`)).json()) as { channels: { name: string }[] }[];
    await until(async () => (await stations())[0]!.channels.length === 2, PATIENCE_MS);
    t.equal((await stations())[0]!.channels[0]!.name, 'New');
    const response = await fetch(`${server.base}/metapush/b/demo-token?song=there`);
    t.equal(response.status, 200);

    writeFileSync(path, 'stations: { house: { channels: { a: { sources: [] } } } }\nlimit: {}\n');
    server.child.kill('SIGHUP');
    await until(
      () => logged('was not reloaded') === 1,
      PATIENCE_MS,
      () => server.err,
    );
    t.match(server.err, /:1:\d+: stations\.house\.channels\.a\.sources: /, 'each problem with its line and column');
    t.match(server.err, /:2:1: limit: .*limits/, 'every one of them');
    t.equal((await stations())[0]!.channels.length, 2);
    const metrics = async () => (await fetch(`${server.base}/metrics`)).text();
    await until(async () => /^airsplice_config_last_reload_successful 0$/m.test(await metrics()), PATIENCE_MS);
    t.match(await metrics(), /^airsplice_config_reloads_total\{result="refused"\} 1$/m);
    t.match(await metrics(), /^airsplice_config_reloads_total\{result="applied"\} 1$/m);
    write(channel('a') + channel('c'));
    const planned = await airsplice(['check', '--diff', path]);
    t.equal(planned.code, 0, planned.err);
    t.match(
      planned.out,
      /^- stations\.house\.channels\.b .*\n~ .*\.a\.name: "New" → "".*\n\+ stations\.house\.channels\.c /,
    );
    t.equal((await stations())[0]!.channels.length, 2, 'looked at, not reloaded');
    const copy = join(path, '../copy.yaml');
    writeFileSync(copy, 'stations: {}\n');
    for (const words of [['check', '--diff'], ['reload']]) {
      const other = await airsplice([...words, copy]);
      t.equal(other.code, 2, words.join(' '));
      t.match(other.err, `runs with ${path} and reloads no other file`);
    }
    const reloaded = await airsplice(['reload', path]);
    t.equal(reloaded.code, 0, reloaded.err);
    t.equal(reloaded.out, `airsplice: reloaded\n${planned.out}`);
    // A kept connection has its next answer of the worker that it came to.
    const push = async () => (await fetch(`${server.base}/metapush/c/demo-token?song=there`)).status;
    await until(async () => (await push()) === 200, PATIENCE_MS);
    write(channel('a') + channel('c'), 'workers: 5'.replace('workers', top === '' ? 'workers' : 'data2'));
    const refused = await airsplice(['reload', path]);
    t.equal(refused.code, 2);
    t.match(refused.err, top === '' ? /! workers: 0 → 5 \(needs a restart\)/ : /data2/);

    write(channel('a'), 'data2: {}');
    server.child.kill('SIGHUP');
    await until(() => logged('was not reloaded') === 2, PATIENCE_MS);
    const before = player.audioBytes;
    await player.until(({ audioBytes }) => audioBytes > before + 50_000, 20_000);
    t.notOk(player.closed, 'the listener has noticed nothing');
    t.ok(framesIn(player.audio).skippedBytes < 500, 'whole frames, but for the first');
    t.equal(server.ended, undefined);
  });

  t.test(`${name}: by POST /admin/reload, and when the file changes`, async (t) => {
    const { server, write, player, logged } = await begin(t, `${top}\n${ADMIN_USERS}`);
    // A worker may serve before all of them do.
    await until(() => logged('"listening"') === 1, PATIENCE_MS);
    const post = (as?: 'read' | 'operate') => new AdminClient(server, as).post('../reload');
    write(channel('a') + channel('b'), 'reload: watch');
    t.equal((await post('read')).status, 403, 'it needs the right operate');
    const done = await post('operate');
    t.equal(done.status, 200);
    t.match(done.body.changes, ['~ reload: "asked" → "watch" (at once)', /^\+ stations\.house\.channels\.b /]);
    // Four looks at the file, which was read by whoever asked.
    const before = player.audioBytes;
    await player.until(({ audioBytes }) => audioBytes > before + 64_000, 20_000);
    t.equal(logged('"configuration reloaded"'), 1, 'what was asked for is not done again for the change of the file');
    write(channel('a') + channel('c'), 'reload: watch');
    await until(
      () => logged('"configuration reloaded"') === 2,
      PATIENCE_MS,
      () => server.err,
    );
    const found = async () => (await fetch(`${server.base}/c.m3u`, { headers: { Connection: 'close' } })).status;
    await until(async () => (await found()) === 200, PATIENCE_MS);
    write(channel('a') + channel('c'), 'limit: 5');
    await until(
      () => logged('was not reloaded') === 1,
      PATIENCE_MS,
      () => server.err,
    );
    const refused = await post('operate');
    t.equal(refused.status, 409);
    t.match(refused.body.detail, /: limit: /);
    t.notOk(player.closed, 'the listener has noticed nothing');
  });
}
