/** The steps of a reload: in which order, and what follows where one refuses, dies or does not answer. Processes are fakes (kit/fake-processes.ts). */

import t, { type Test } from 'tap';
import { FakeMachine } from '../../kit/fake-processes.js';
import { turn } from '../../kit/fake-timers.js';

const STEPS = ['prepare', 'listen', 'commit', 'discard', 'restore'];
const ALL = ['hub 1', 'worker 2', 'worker 3'];
const each = (step: string) => ALL.map((name) => `${name} ${step}`);
const GIVEN_UP = [...each('discard'), ...each('restore')];

/** All still have what was before, and so has what is started from here on. */
async function isAsBefore(t: Test, machine: FakeMachine): Promise<void> {
  t.same(Object.values(machine.names), ['Day', 'Day', 'Day']);
  machine.process('worker 3').end(0);
  await machine.advance(100);
  t.equal(machine.names['worker 4'], 'Day');
}

t.test('each step by all before the next, the hub in force before the workers', async (t) => {
  const machine = await FakeMachine.start(t);
  const plan = await machine.reload('Night');
  t.equal(plan.changes.length, 1);
  const [workersListen, workersCommit] = [each('listen').slice(1), each('commit').slice(1)];
  t.same(machine.said(...STEPS), [
    ...each('prepare'),
    'hub 1 listen',
    ...workersListen,
    'hub 1 commit',
    ...workersCommit,
  ]);
  t.same(machine.names, { 'hub 1': 'Night', 'worker 2': 'Night', 'worker 3': 'Night' });
  machine.process('hub 1').end(70);
  await machine.advance(100);
  t.equal(machine.names['hub 4'], 'Night', 'the next hub starts with it');
  await machine.reload('Night');
  t.same(machine.said(...STEPS), [], 'nothing changes');
});

for (const fault of ['hub 1 prepare', 'worker 2 prepare', 'hub 1 listen', 'worker 3 listen']) {
  t.test(`${fault} is refused: all give up what they have prepared`, async (t) => {
    const machine = await FakeMachine.start(t, { [fault]: 'refuses' });
    const name = fault.slice(0, fault.lastIndexOf(' '));
    await t.rejects(machine.reload('Night'), { message: `${name} cannot` });
    const said = machine.said(...STEPS);
    t.equal(said.includes('worker 2 listen'), fault === 'worker 3 listen', 'no worker listens where the hub cannot');
    t.same(said.slice(-GIVEN_UP.length), GIVEN_UP);
    t.notMatch(said, [/commit/]);
    await isAsBefore(t, machine);
    delete machine.faults[fault];
    await machine.reload('Night');
  });

  t.test(`${fault} is not answered`, async (t) => {
    const machine = await FakeMachine.start(t, { [fault]: 'is silent' });
    let reason = '';
    const refused = machine.reload('Night').catch((error: Error) => {
      reason = error.message;
    });
    await machine.advance(9500);
    t.equal(reason, '', 'it has 10 s');
    await machine.advance(1000);
    await refused;
    t.equal(reason, `${fault.slice(0, fault.lastIndexOf(' '))} did not answer within 10000 ms`);
    t.same(machine.said(...STEPS).slice(-GIVEN_UP.length), GIVEN_UP);
    await isAsBefore(t, machine);
  });
}

for (const step of ['prepare', 'listen']) {
  t.test(`the hub dies at ${step}: refused`, async (t) => {
    const machine = await FakeMachine.start(t, { [`hub 1 ${step}`]: 'dies' });
    await t.rejects(machine.reload('Night'), { message: 'the hub has ended in the meantime' });
    t.notMatch(machine.said('listen'), [/worker/], 'no worker has tried a port');
    await machine.advance(100);
    t.same(machine.names, { 'worker 2': 'Day', 'worker 3': 'Day', 'hub 4': 'Day' });
  });
}

t.test('the hub dies when all have answered, before it is decided', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 3 listen': 'is silent' });
  const refused = t.rejects(machine.reload('Night'), { message: 'the hub has ended in the meantime' });
  await turn();
  machine.process('hub 1').end(70);
  machine.process('worker 3').end(70);
  await refused;
  await machine.advance(100);
  t.same(Object.values(machine.names), ['Day', 'Day', 'Day']);
});

t.test('the hub dies when it is decided: it is in force, and the next hub starts with it', async (t) => {
  const machine = await FakeMachine.start(t, { 'hub 1 commit': 'dies' });
  await machine.reload('Night');
  await machine.advance(100);
  t.same(machine.names, { 'worker 2': 'Night', 'worker 3': 'Night', 'hub 4': 'Night' });
});

for (const step of ['prepare', 'listen', 'commit']) {
  t.test(`a worker dies at ${step}: it is left out, and starts with what is in force`, async (t) => {
    const machine = await FakeMachine.start(t, { [`worker 2 ${step}`]: 'dies' });
    await machine.reload('Night');
    await machine.advance(100);
    t.same(machine.names, { 'hub 1': 'Night', 'worker 3': 'Night', 'worker 4': 'Night' });
  });
}

for (const fault of ['refuses', 'is silent'] as const) {
  t.test(`a worker ${fault} when it is decided: it is killed, and starts with it`, async (t) => {
    const machine = await FakeMachine.start(t, { 'worker 2 commit': fault });
    const reloaded = machine.reload('Night');
    await machine.advance(11_000);
    await reloaded;
    t.same(machine.names, { 'hub 1': 'Night', 'worker 3': 'Night', 'worker 4': 'Night' });
  });
}

t.test('workers put it in force behind the hub, also where that does not answer', async (t) => {
  const machine = await FakeMachine.start(t, { 'hub 1 commit': 'is silent' });
  const reloaded = machine.reload('Night');
  await machine.advance(9500);
  t.same(machine.said('commit'), ['hub 1 commit']);
  await machine.advance(1000);
  await reloaded;
  t.same(machine.said('commit'), ['worker 2 commit', 'worker 3 commit']);
  t.same(machine.names, { 'worker 2': 'Night', 'worker 3': 'Night', 'hub 4': 'Night' });
});

t.test('a worker of before a restart that refuses goes on with what it has; the next one it may take', async (t) => {
  const machine = await FakeMachine.start(t);
  await machine.supervisor.restart();
  machine.faults['worker 2 prepare'] = 'refuses';
  await machine.reload('Night');
  const others = { 'worker 3': 'Night', 'hub 4': 'Night', 'worker 5': 'Night', 'worker 6': 'Night' };
  t.same(machine.names, { 'worker 2': 'Day', ...others });
  delete machine.faults['worker 2 prepare'];
  await machine.reload('Noon');
  t.equal(machine.names['worker 2'], 'Noon');
});

t.test('a worker that becomes ready while the others take the steps gets it afterwards', async (t) => {
  const machine = await FakeMachine.start(t, { 'worker 4 boot': 'is silent', 'hub 1 listen': 'is silent' });
  machine.process('worker 3').end(70);
  await machine.advance(50);
  const reloaded = machine.reload('Night');
  await turn();
  machine.process('worker 4').ready();
  machine.process('hub 1').say({ type: 'reloadStep', id: 1, step: 'listen', reason: null });
  await reloaded;
  await turn();
  t.same(machine.names, { 'hub 1': 'Night', 'worker 2': 'Night', 'worker 4': 'Night' });
});
