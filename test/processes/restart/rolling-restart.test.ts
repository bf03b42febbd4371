/** The order of a rolling restart, and what follows where a process of it fails. Processes are fakes (kit/fake-processes.ts). */

import t from 'tap';
import { FakeMachine } from '../../kit/fake-processes.js';
import { turn } from '../../kit/fake-timers.js';

t.test('new workers serve before the hub hands over, old ones drain when the next hub is ready', async (t) => {
  const machine = await FakeMachine.start(t);
  await machine.supervisor.restart();
  await turn();
  t.same(machine.said('boot', 'handover', 'ended', 'go', 'drain', 'offer'), [
    'hub 4 boot',
    'worker 5 boot',
    'worker 6 boot',
    'hub 1 handover',
    'hub 1 ended',
    'hub 4 go',
    'worker 2 drain',
    'worker 3 drain',
  ]);
  machine.process('worker 2').say({ type: 'drained' });
  await machine.advance(1000);
  t.same(machine.said('stop'), ['worker 2 stop'], 'one that has nobody left ends');
  await machine.advance(58_000);
  t.same(machine.said('stop'), []);
  await machine.advance(2000);
  t.same(machine.said('stop'), ['worker 3 stop'], 'the others when their time is over');
  t.same(machine.running, ['hub 4', 'worker 5', 'worker 6']);
});

for (const [fault, what, reason] of [
  ['hub 4 boot', 'refuses', 'hub 4 cannot'],
  ['hub 4 boot', 'dies', 'the hub has ended'],
  ['worker 6 boot', 'refuses', 'worker 6 cannot'],
  ['worker 5 boot', 'dies', 'the worker has ended'],
] as const) {
  t.test(`${fault}: ${what}. All next ones end, and those that ran go on`, async (t) => {
    const machine = await FakeMachine.start(t, { [fault]: what });
    await t.rejects(machine.supervisor.restart(), { message: `not restarted: ${reason}` });
    await machine.advance(1000);
    t.same(machine.running, ['hub 1', 'worker 2', 'worker 3']);
    t.same(machine.said('handover', 'drain'), []);
    delete machine.faults[fault];
    await machine.supervisor.restart();
    t.equal(machine.running.includes('hub 1'), false, 'the next restart is one');
  });
}

t.test('a restart with another configuration that fails: what was in force stays', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 6 boot': 'refuses' });
  const restarted = machine.reload('Night', { handshakes: 7 }, true);
  await t.rejects(restarted, { message: 'not restarted: worker 6 cannot' });
  machine.process('worker 2').end(70);
  await machine.advance(1000);
  t.same(machine.names, { 'hub 1': 'Day', 'worker 3': 'Day', 'worker 7': 'Day' });
});

t.test('a program that speaks other messages is sent nothing', async (t) => {
  const machine = await FakeMachine.start(t, { 'hub 4 waiting': 'is another version' });
  const message = /^not restarted: the program speaks version 0 of the supervisor's messages/;
  await t.rejects(machine.supervisor.restart(), { message });
  t.same(machine.said('boot'), []);
  t.same(machine.running, ['hub 1', 'worker 2', 'worker 3']);
});

t.test('the next hub ends while the next workers start: nothing is replaced', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 6 boot': 'is silent' });
  const restarted = t.rejects(machine.supervisor.restart(), { message: 'not restarted: the hub has ended' });
  await turn();
  machine.process('hub 4').end(70);
  await turn();
  machine.process('worker 6').ready();
  await restarted;
  await machine.advance(1000);
  t.same(machine.running, ['hub 1', 'worker 2', 'worker 3']);
});

for (const what of ['is silent', 'dies'] as const) {
  t.test(`the old hub ${what} when it is to hand over: workers offer their tapes to the next one`, async (t) => {
    const machine = await FakeMachine.start(t, { 'hub 1 handover': what });
    const restarted = machine.supervisor.restart();
    await turn();
    if (what === 'is silent') {
      machine.process('hub 1').isHanging = true;
      await machine.advance(4500);
      t.ok(machine.running.includes('hub 1'), 'it may be too busy to say that it is alive');
      t.same(machine.said('offer', 'go'), [], 'it has 5 s');
      await machine.advance(1000);
    }
    await restarted;
    t.same(machine.said('offer', 'go').toSorted(), [
      'hub 4 go',
      'worker 2 offer',
      'worker 3 offer',
      'worker 5 offer',
      'worker 6 offer',
    ]);
    t.equal(machine.running.includes('hub 1'), false);
  });
}

t.test('the next hub dies behind the handover: it is started again, and old workers drain all the same', async (t) => {
  const machine = await FakeMachine.start(t, { 'hub 4 go': 'dies' });
  await t.rejects(machine.supervisor.restart(), { message: 'restarted, but the hub has ended: restarting it' });
  await machine.advance(100);
  t.same(machine.said('drain'), ['worker 2 drain', 'worker 3 drain']);
  t.same(machine.running, ['worker 2', 'worker 3', 'worker 5', 'worker 6', 'hub 7']);
});

t.test('one at a time; reloads are refused meanwhile, and a restart waits for one that goes on', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 5 boot': 'is silent', 'hub 1 listen': 'is silent' });
  const reloaded = machine.reload('Night').catch((error: Error) => error.message);
  await turn();
  const restarted = machine.supervisor.restart();
  await turn();
  await t.rejects(machine.supervisor.restart(), { message: 'not restarted: a restart or a stop is under way' });
  t.same(machine.said('boot'), [], 'the reload goes on');
  await machine.advance(10_500);
  t.match(await reloaded, /did not answer/);
  await turn();
  await t.rejects(machine.reload('Noon'), { message: 'not reloaded: a restart or a stop is under way' });
  machine.process('worker 5').ready();
  await restarted;
  await machine.reload('Noon');
  t.match(machine.names, { 'hub 4': 'Noon', 'worker 5': 'Noon', 'worker 6': 'Noon' });
});

t.test('the hub dies while the next processes of a restart that fails start: what was in force stays', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 6 boot': 'is silent' });
  const restarted = machine.reload('Night', { handshakes: 7 }, true).catch((error: Error) => error.message);
  await turn();
  machine.process('hub 1').end(70);
  await machine.advance(100);
  machine.process('worker 6').end(1);
  t.match(await restarted, /^not restarted: /);
  await machine.advance(1000);
  t.same(machine.names, { 'worker 2': 'Day', 'worker 3': 'Day', 'hub 7': 'Day' });
});

t.test('tapes that other hubs had do not count where one hub ends once', async (t) => {
  const machine = await FakeMachine.start(t);
  for (const hub of ['hub 4', 'hub 7']) {
    await machine.supervisor.restart();
    for (const channel of ['studio', null]) machine.process(hub).say({ type: 'takes', channel });
  }
  machine.process('hub 7').end(70);
  await machine.advance(100);
  t.same(machine.process('hub 10').boot!.without, []);
});
