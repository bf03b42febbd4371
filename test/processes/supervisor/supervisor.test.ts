/** What a supervisor starts, when it starts again what has ended, and in which order it stops. Processes are fakes (kit/fake-processes.ts). */

import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t from 'tap';
import { FakeMachine } from '../../kit/fake-processes.js';
import { turn } from '../../kit/fake-timers.js';

const HOUR_MS = 3_600_000;

t.test('workers are started when the hub is ready, and get its paths', async (t) => {
  const machine = new FakeMachine(t, { 'hub 1 boot': 'is silent' });
  const started = machine.supervisor.start(new AbortController().signal);
  await turn();
  t.same(machine.running, ['hub 1']);
  machine.process('hub 1').ready();
  await started;
  t.same(machine.said('boot', 'hub'), ['hub 1 boot', 'worker 2 boot', 'worker 2 hub', 'worker 3 boot', 'worker 3 hub']);
  t.same(machine.supervisor.ports, [8000]);
  t.equal(machine.supervisor.fault(), null);
});

for (const [fault, reason] of [
  ['hub 1 boot', 'hub 1 cannot'],
  ['worker 3 boot', 'worker 3 cannot'],
] as const) {
  t.test(`a start in which ${reason} rejects, and leaves nothing running`, async (t) => {
    const machine = new FakeMachine(t, { [fault]: 'refuses' });
    const started = t.rejects(machine.supervisor.start(new AbortController().signal), { message: reason });
    await machine.advance(1000);
    await started;
    t.same(machine.running, []);
    await machine.advance(60_000);
    t.ok(machine.processes.length <= 3, 'none is started again');
  });
}

t.test('what ends is started again at once, and later each time while it keeps ending', async (t) => {
  const machine = await FakeMachine.start(t);
  const pauses: number[] = [];
  for (let number = 3; number < 13; number++) {
    machine.process(`worker ${number}`).end(70);
    let ms = 0;
    for (; machine.processes.length === number; ms += 25) await machine.advance(25);
    pauses.push(ms);
  }
  t.same(pauses, [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  t.same(machine.running, ['hub 1', 'worker 2', 'worker 13']);
  await machine.advance(10_000);
  machine.process('worker 13').end(70);
  await machine.advance(50);
  t.same(machine.running, ['hub 1', 'worker 2', 'worker 14'], 'that one lived for 10 s');
});

t.test('a hub that ends: workers offer what they have to the next one, and get its paths', async (t) => {
  const machine = await FakeMachine.start(t);
  machine.process('worker 3').end(70);
  machine.process('hub 1').end(null, 'SIGKILL');
  await turn();
  t.equal(machine.supervisor.fault(), 'there is no hub');
  machine.faults['worker 4 boot'] = 'is silent';
  machine.faults['hub 5 boot'] = 'is silent';
  await machine.advance(100);
  const hub = machine.process('hub 5');
  t.equal(hub.boot!.offers, 1, 'one of them may have tapes');
  t.not(hub.boot!.hub.link, machine.process('hub 1').boot!.hub.link);
  hub.say({ type: 'taking' });
  await turn();
  t.same(machine.said('offer', 'hub'), ['worker 2 offer', 'worker 4 offer']);
  hub.ready();
  await turn();
  t.same(machine.said('hub', 'restarts'), ['hub 5 restarts', 'worker 2 hub', 'worker 4 hub']);
  t.same(machine.running, ['worker 2', 'worker 4', 'hub 5']);
  t.equal(machine.supervisor.fault(), null);
});

t.test('one that gives no sign of life for 2.5 s is killed; this process may stand still itself', async (t) => {
  const machine = await FakeMachine.start(t);
  await machine.advance(60_000);
  t.same(machine.said('ended'), [], 'all say that they are alive');
  machine.stall(10_000);
  await machine.advance(60_000);
  t.same(machine.said('ended'), [], 'what they said meanwhile waits to be read');
  machine.process('worker 3').isHanging = true;
  await machine.advance(2000);
  t.same(machine.said('ended'), []);
  await machine.advance(520);
  t.same(machine.said('ended'), ['worker 3 ended']);
  t.match(machine.lines.at(-1), { process: 'worker', number: 3, wasHanging: true, againMs: 50 });
});

t.test('a stop: workers first, then the hub, and none is started again', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 3 stop': 'is silent' });
  const stopped = machine.supervisor.stop(5000);
  await machine.advance(4000);
  t.same(machine.said('stop', 'ended'), ['worker 2 stop', 'worker 2 ended', 'worker 3 stop'], 'the hub waits for them');
  await machine.advance(1000);
  await stopped;
  t.same(
    machine.said('stop', 'ended'),
    ['worker 3 ended', 'hub 1 stop', 'hub 1 ended'],
    'one that takes longer is killed',
  );
  await machine.advance(60_000);
  t.equal(machine.processes.length, 3);
});

t.test('of a short grace workers have a half', async (t) => {
  for (const [graceMs, ofWorkers] of [
    [0, 0],
    [1000, 500],
    [2000, 1000],
    [5000, 4000],
  ] as const) {
    const machine = await FakeMachine.start(t);
    const [hub, worker] = [machine.process('hub 1'), machine.process('worker 2')];
    await machine.supervisor.stop(graceMs);
    t.same([worker.graceMs, hub.graceMs], [ofWorkers, graceMs], `${graceMs} ms`);
  }
});

t.test('the next hub dies behind a restart with another configuration, which is in force', async (t) => {
  const machine = await FakeMachine.start(t, { 'hub 4 go': 'dies' });
  const message = 'restarted, but the hub has ended: restarting it';
  await t.rejects(machine.reload('Night', { handshakes: 7 }, true), { message });
  await machine.advance(100);
  t.match(machine.names, { 'worker 5': 'Night', 'worker 6': 'Night', 'hub 7': 'Night' });
  t.same((await machine.reload('Night', { handshakes: 7 })).changes, [], 'it is known to be');
});

t.test('a restart waits for a backup, and none is begun meanwhile', async (t) => {
  const machine = await FakeMachine.start(t);
  machine.said('boot');
  const copied = machine.supervisor.backup();
  const restarted = machine.supervisor.restart();
  await machine.advance(5000);
  t.same(machine.said('boot'), []);
  await t.rejects(machine.supervisor.backup(), { message: 'a restart is under way: try again' });
  machine.process('hub 1').say({ type: 'backedUp', id: 1, name: 'copy', reason: null });
  t.equal(await copied, 'copy');
  await restarted;
  t.same(machine.said('handover'), ['hub 1 handover']);
});

t.test(
  'a worker that was being started during a reload gets the configuration in force when it is ready',
  async (t) => {
    const machine = await FakeMachine.start(t, { 'worker 4 boot': 'is silent' });
    machine.process('worker 3').end(70);
    await machine.advance(50);
    await machine.reload('Night');
    t.same(machine.said('prepare'), ['hub 1 prepare', 'worker 2 prepare']);
    const late = machine.process('worker 4');
    late.ready();
    await turn();
    t.same(machine.said('prepare', 'listen', 'commit'), ['worker 4 prepare', 'worker 4 listen', 'worker 4 commit']);

    machine.faults['worker 5 boot'] = 'is silent';
    machine.faults['worker 5 listen'] = 'refuses';
    late.end(70);
    await machine.advance(100);
    await machine.reload('Noon');
    machine.process('worker 5').ready();
    await machine.advance(1000);
    t.same(
      machine.names,
      { 'hub 1': 'Noon', 'worker 2': 'Noon', 'worker 6': 'Noon' },
      'one that cannot is started anew',
    );
  },
);

t.test(
  'what needs a restart is refused, or done by one; what the supervisor itself reads is refused always',
  async (t) => {
    const machine = await FakeMachine.start(t);
    const more = { handshakes: 7 };
    const named =
      /^these options need a restart; nothing was changed:\n! limits\.handshakes: 8 → 7 .*\n.* reload --restart CONFIG/;
    await t.rejects(machine.reload('Day', more), { message: named });
    await t.rejects(machine.reload('Day', { workers: 3 }, true), { message: /workers: 2 → 3 \(needs a restart\)$/ });
    t.same(machine.said('prepare'), []);
    await machine.reload('Day', more, true);
    await machine.advance(1000);
    t.same(
      machine.running,
      ['worker 2', 'worker 3', 'hub 4', 'worker 5', 'worker 6'],
      'old workers serve whom they have',
    );

    machine.said();
    await machine.reload('Night', more);
    t.same(machine.said('commit'), ['hub 4 commit', 'worker 5 commit', 'worker 6 commit'], 'they keep what they have');
    t.equal(machine.names['worker 2'], 'Day');
    await machine.supervisor.restart();
    await machine.reload('Noon', more);
    t.same(
      machine.said('commit').slice(3),
      ['worker 5 commit', 'worker 6 commit'],
      'of before a restart that changed nothing',
    );
  },
);

t.test('where one knows no steps a reload is a restart', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 3 boot': 'knows no steps' });
  await machine.reload('Night');
  t.same(machine.said('prepare'), []);
  t.match(machine.names, { 'hub 4': 'Night', 'worker 5': 'Night', 'worker 6': 'Night' });
});

t.test(
  'the local sockets stay young, as programs remove what is old from the folder for temporary files',
  async (t) => {
    const machine = await FakeMachine.start(t);
    const socket = machine.process('hub 1').boot!.hub.link;
    writeFileSync(socket, '');
    const folder = dirname(socket);
    const agesMs = () => [folder, socket].map((path) => Date.now() - statSync(path).mtimeMs);
    for (const path of [folder, socket]) utimesSync(path, 0, 0);
    await machine.advance(HOUR_MS);
    for (const ageMs of agesMs()) t.ok(ageMs < HOUR_MS, `${ageMs} ms`);
    rmSync(folder, { recursive: true });
    await machine.advance(HOUR_MS);
    t.same(machine.running, ['hub 1', 'worker 2', 'worker 3'], 'a folder that is gone ends nothing');
  },
);
