/**
 * What dies and what is replaced while listeners, an encoder, watchers and pushes are there (src/processes/README.md). Real processes; the long form
 * with more of all is test/long/processes.test.ts.
 */

import { spawnSync } from 'node:child_process';
import t from 'tap';
import { ADMIN_USERS, AdminClient } from '../kit/admin-client.js';
import { DEMO_FRAMES, Feeder, framesIn } from '../kit/feeder.js';
import { Machine, onePerWorker, RESTARTED_MS, WORKERS } from '../kit/machine.js';
import { chainOf } from '../kit/ogg-chain.js';
import { childrenOf } from '../kit/process-sockets.js';
import { processStory } from '../kit/process-story.js';
import { missing, Program } from '../kit/program.js';
import { ProgramCopy } from '../kit/program-copy.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 3;

/** Of a joiner's first frames (audio/frames/reservoir.ts). */
const MAX_COPIES = 2;
/** Frame of the file → its place there. */
const INDEX = new Map(DEMO_FRAMES.map((frame, i) => [frame.toString('latin1'), i]));

t.test('a rolling restart: nobody notices', (t) => processStory(t, new Random(), { listeners: 30, acts: ['restart'] }));

t.test('a rolling restart of a channel with a delay: what waits goes on', (t) =>
  processStory(t, new Random(), { listeners: 10, acts: ['restart', 'restart'], delaySeconds: 3 }),
);

t.test('the hub is killed: listeners and watchers stay', (t) =>
  processStory(t, new Random(), { listeners: 30, acts: ['kill hub'] }),
);

t.test('Ogg: a rolling restart, and a hub that is killed', { skip: missing('ffmpeg') }, async (t) => {
  const yaml = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
shutdown: { drainSeconds: 3600 }
stations:
  demo:
    channels:
      studio: { pushTokens: [studio-token], sources: [{ type: encoder, password: demo-source, lingerSeconds: 60 }] }
`;
  const machine = await Machine.start(t, yaml);
  const encode = () => {
    const url = `icecast://source:demo-source@127.0.0.1:${machine.port}/studio`;
    const options = ['-c:a', 'libopus', '-b:a', '96k', '-content_type', 'audio/ogg', '-f', 'ogg', url];
    return new Program(t, 'ffmpeg', ['-v', 'error', '-re', '-stream_loop', '-1', '-i', DEMO_AUDIO, ...options]);
  };
  const encoder = encode();
  await until(() => machine.logged('"heard":"encoder"') === 1, RESTARTED_MS);
  const players = [...(await onePerWorker(t, machine, '/studio')).values()];
  /** Each listener has been sent so many links. */
  const linked = (links: number) =>
    until(
      () => players.every(({ audio }) => chainOf(audio).links === links),
      RESTARTED_MS,
      () => `${JSON.stringify(players.map(({ audio, closed }) => [chainOf(audio), closed]))} ${machine.news}`,
    );
  await linked(1);

  machine.server.child.kill('SIGUSR2');
  await until(() => machine.logged('"restarted"') === 1, RESTARTED_MS);
  // As for a title.
  await linked(2);
  t.equal(await machine.push('one', 'studio'), 200);
  await linked(3);
  t.equal(encoder.ended, undefined, 'the encoder stays');

  process.kill(machine.pidsOf('hub')[0]!, 'SIGKILL');
  await until(() => encoder.ended !== undefined, RESTARTED_MS);
  await until(() => machine.pidsOf('hub').length === 1 && machine.logged('"process ready"') > 0, RESTARTED_MS);
  encode();
  await linked(4);
  for (const player of players) {
    const { audioBytes } = player;
    await player.until((p) => p.audioBytes > audioBytes + 24_000);
  }
  for (const { audio, closed } of players) {
    t.notOk(closed, 'listeners stay');
    t.equal(chainOf(audio).fault, '');
    const decoded = spawnSync('ffmpeg', ['-v', 'error', '-xerror', '-i', '-', '-f', 'null', '-'], { input: audio });
    // The last page may be cut.
    t.same([decoded.status, decoded.stderr.toString()], [0, '']);
    t.match(audio.toString('latin1'), /title=one/i);
  }
});

t.test('a file goes on where it was', async (t) => {
  const machine = await Machine.start(t);
  const players = [...(await onePerWorker(t, machine)).values()];
  for (let i = 1; i <= 3; i++) {
    machine.server.child.kill('SIGUSR2');
    await until(() => machine.logged('"restarted"') === i, RESTARTED_MS);
  }
  for (const player of players) {
    const { audioBytes } = player;
    await player.until((p) => p.audioBytes > audioBytes + 64_000);
    t.notOk(player.closed);
    // A joiner's first ones may be copies without their reservoir.
    const all = framesIn(player.audio).frames.map((frame) => INDEX.get(frame.toString('latin1')) ?? -1);
    const indices = all.slice(all.findIndex((index) => index !== -1));
    t.ok(all.length - indices.length <= MAX_COPIES, `${all.length - indices.length} copies`);
    const jumps = indices.flatMap((index, k) =>
      k === 0 || index === (indices[k - 1]! + 1) % INDEX.size ? [] : [[k, indices[k - 1], index]],
    );
    t.same(jumps, [], `each frame once, of ${indices.length}`);
  }
});

t.test('the next hub is killed while the next workers start: the processes that ran go on', async (t) => {
  const program = new ProgramCopy(t);
  const machine = await Machine.start(t, undefined, program.launcher);
  const before = machine.children.map(({ pid }) => pid);
  const player = [...(await onePerWorker(t, machine)).values()][0]!;
  // So that the next workers certainly still start when the next hub is killed.
  program.delayWorkers(3000);
  machine.server.child.kill('SIGUSR2');
  const next = () => machine.children.filter(({ pid }) => !before.includes(pid));
  const started = () => childrenOf(machine.server.child.pid!).length;
  await until(() => started() === 2 * (1 + WORKERS), RESTARTED_MS);
  process.kill(next().find(({ role }) => role === 'hub')!.pid, 'SIGKILL');
  await until(() => machine.logged('the restart failed: the old processes keep running') === 1, RESTARTED_MS);
  await until(() => next().length === 0, RESTARTED_MS);
  t.same(
    machine.children.map(({ pid }) => pid),
    before,
  );
  t.equal(await machine.push('still'), 200);
  await player.until(({ titles }) => titles.at(-1)?.title === 'still');

  program.mend();
  machine.server.child.kill('SIGUSR2');
  await until(() => machine.logged('"restarted"') === 1, RESTARTED_MS);
  t.equal(await machine.push('again'), 200);
  await player.until(({ titles }) => titles.at(-1)?.title === 'again');
});

t.test('`airsplice restart`, and a program that does not start', async (t) => {
  const program = new ProgramCopy(t);
  const machine = await Machine.start(t, undefined, program.launcher);
  const restart = () => program.restart(machine.config);
  const players = await onePerWorker(t, machine);
  const before = machine.children.map(({ pid }) => pid);

  // The new hub starts, and the new workers do not.
  program.breakWorkers();
  t.match(await restart(), { code: 1, said: /not restarted: the worker has ended/ });
  await until(() => machine.children.length === 1 + WORKERS, RESTARTED_MS);
  t.same(
    machine.children.map(({ pid }) => pid),
    before,
    'the old ones go on',
  );
  t.match(machine.server.err, /the restart failed: the old processes keep running/);
  t.equal(await machine.push('still'), 200);

  program.mend();
  t.match(await Promise.all([restart(), restart()]), [{ code: /0|1/ }, { code: /0|1/ }], 'one at a time');
  t.equal(machine.logged('"restarted"'), 1);
  const now = machine.children.map(({ pid }) => pid);
  t.notOk(now.includes(before[0]!), 'another hub');
  for (const player of players.values()) {
    const { audioBytes } = player;
    await player.until((p) => p.audioBytes > audioBytes + 32_000);
    t.equal(player.titles.at(-1)?.title, 'still');
    player.close();
  }
  await until(() => before.every((pid) => !machine.children.some((child) => child.pid === pid)), RESTARTED_MS);
  await machine.server.end('SIGTERM');
  t.equal(machine.server.ended, 0);
  t.match(await restart(), { code: 1, said: /no server with workers is using/ });
});

t.test('a chosen source stays chosen behind a rolling restart, though nobody listens', async (t) => {
  const sources = `[{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }]`;
  const yaml = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
demoSecretsInPublic: 'yes, anybody may push and stream to this server'
stations: { house: { channels: { studio: { bitrateKbps: 128, pushTokens: [studio-token], sources: ${sources} } } } }
${ADMIN_USERS}`;
  const machine = await Machine.start(t, yaml);
  const admin = () => new AdminClient({ base: `http://127.0.0.1:${machine.port}` });
  new Feeder(t, machine.port, '/studio').stream(t, 200);
  await until(() => machine.logged('"heard":"encoder"') === 1, RESTARTED_MS);
  await admin().post('channels/studio/source', { place: 1 });
  await until(async () => (await admin().get('channels/studio')).body.onAir === 1, RESTARTED_MS);
  machine.server.child.kill('SIGUSR2');
  await until(() => machine.logged('"restarted"') === 1, RESTARTED_MS);
  t.match((await admin().get('channels/studio')).body, { pinned: 1 });
});
