/**
 * Processes of two versions of the program beside each other, as an upgrade makes them (src/processes/README.md): another version of the link costs
 * those who are with old workers their connection, another one of the supervisor's messages is no restart at all. Real processes, of a program in which
 * the version is raised.
 */

import t, { type Test } from 'tap';
import { LINK_VERSION } from '../../src/link/wire/link-version.js';
import { MESSAGES_VERSION } from '../../src/processes/messages.js';
import { Feeder } from '../kit/feeder.js';
import { Machine, onePerWorker, RESTARTED_MS, strayBytes, WORKERS } from '../kit/machine.js';
import type { Player } from '../kit/player.js';
import { ProgramCopy } from '../kit/program-copy.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Watching } from '../kit/wire.js';

// They wait more than they compute.
t.jobs = 2;

const LINK = 'LINK_VERSION';
const MESSAGES = 'MESSAGES_VERSION';
/** What a worker logs of a hub of another version. */
const WAITS = 'waiting for the next hub';
const ENDS = 'this worker ends, and its clients reconnect';

/** Old workers would serve for an hour. */
const yaml = (port: number) => `
addresses: [{ host: 127.0.0.1, port: ${port} }]
shutdown: { drainSeconds: 3600 }
stations:
  demo:
    channels:
      studio:
        pushTokens: [studio-token]
        sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }]
`;

const start = (t: Test, program: ProgramCopy) => Machine.start(t, yaml, program.launcher);
const watch = (t: Test, { port }: Machine) =>
  new Watching(t, `ws://127.0.0.1:${port}/metadata/channel/studio`).opened();
const pids = (machine: Machine) => machine.children.map(({ pid }) => pid);

/** Each of them hears more. */
async function allContinue(players: Iterable<Player>): Promise<void> {
  for (const player of players) {
    const { audioBytes } = player;
    await player.until((p) => p.audioBytes > audioBytes + 32_000);
  }
}

/** All processes are others and ready, and whoever comes is served by each worker. */
async function servesAnew(t: Test, machine: Machine, before: readonly number[]): Promise<void> {
  await until(
    () => {
      const now = pids(machine);
      const isReady = (pid: number) => machine.logged(`"pid":${pid},"msg":"process ready"`) > 0;
      return now.length === 1 + WORKERS && now.every((pid) => !before.includes(pid) && isReady(pid));
    },
    RESTARTED_MS,
    () => machine.news,
  );
  const players = await onePerWorker(t, machine, '/studio');
  const watching = await watch(t, machine);
  t.equal(await machine.push('anew', 'studio'), 200);
  await until(() => watching.songs.includes('now anew'), RESTARTED_MS);
  for (const player of players.values()) await player.until((p) => p.titles.at(-1)?.title === 'anew');
}

t.test('a restart with another version of the link: who is with an old worker comes again', async (t) => {
  const program = new ProgramCopy(t);
  const machine = await start(t, program);
  const encoder = new Feeder(t, machine.port, '/studio');
  t.equal(await encoder.answered(), 200);
  encoder.stream(t);
  const players = [...(await onePerWorker(t, machine, '/studio')).values()];
  const watching = await Promise.all([watch(t, machine), watch(t, machine), watch(t, machine)]);
  t.equal(await machine.push('before', 'studio'), 200);
  const before = pids(machine);

  program.raise(LINK);
  t.match(await program.restart(machine.config), { code: 0 });
  for (const player of players) {
    await player.until(({ closed }) => closed);
    t.equal(strayBytes(player.audio), 0, 'whole frames up to the end');
  }
  await until(
    () => watching.every(({ code }) => code !== 0),
    RESTARTED_MS,
    () => `${watching.map(({ code }) => code)}`,
  );
  t.strictSame(
    watching.map(({ code }) => code),
    Array(3).fill(1001),
    'as in a stop',
  );
  await until(() => encoder.closed, RESTARTED_MS);
  await servesAnew(t, machine, before);
  const again = new Feeder(t, machine.port, '/studio');
  t.equal(await again.answered(), 200);

  t.equal(machine.logged(WAITS), WORKERS, 'new workers at the old hub');
  t.equal(machine.logged(ENDS), WORKERS, 'old workers at the new hub');
  // What the old hub offers is refused too.
  const refused = machine.logged(
    `speaks version ${LINK_VERSION} of the link, this one version ${LINK_VERSION + 1}: it is refused`,
  );
  t.equal(refused, WORKERS + 1, 'a line for each');
  t.equal(
    machine.logged(`speaks version ${LINK_VERSION + 1} of the link, this one version ${LINK_VERSION}: it is refused`),
    WORKERS,
  );
  t.equal(machine.logged('restarting it'), 0);
  t.notMatch(machine.server.err, /internal error/);
  t.notMatch(machine.server.err, /the hub did not hand over/);
});

t.test('a restart with another version of the messages is none', async (t) => {
  const program = new ProgramCopy(t);
  const machine = await start(t, program);
  const players = await onePerWorker(t, machine, '/studio');
  const watching = await watch(t, machine);
  const before = pids(machine);
  program.raise(MESSAGES);
  const { code, said } = await program.restart(machine.config);
  t.equal(code, 1);
  t.match(
    said,
    new RegExp(
      `not restarted: the program speaks version ${MESSAGES_VERSION + 1} .* this supervisor version ${MESSAGES_VERSION}: stop and start the server`,
    ),
  );
  await until(() => machine.children.length === 1 + WORKERS, RESTARTED_MS);
  t.strictSame(pids(machine), before, 'the old ones go on');
  await allContinue(players.values());
  t.equal(await machine.push('still', 'studio'), 200);
  await watching.has(1);
  t.equal(machine.logged('the restart failed: the old processes keep running'), 1);

  program.mend();
  t.match(await program.restart(machine.config), { code: 0 }, 'and the next one is one');
  await allContinue(players.values());
  t.notOk([...players.values()].some(({ closed }) => closed));
  t.equal(watching.code, 0);
});

t.test('a program that was replaced without a restart: what dies comes as the new one', async (t) => {
  const program = new ProgramCopy(t);
  const machine = await start(t, program);
  const players = await onePerWorker(t, machine, '/studio');
  const before = pids(machine);
  program.raise(LINK);
  // The new worker cannot speak with the hub: the others go on.
  const [killed, other] = players.keys();
  process.kill(killed!, 'SIGKILL');
  await until(
    () => machine.logged('the program on disk is not the one that the hub runs') === 1,
    RESTARTED_MS,
    () => machine.news,
  );
  await allContinue([players.get(other!)!]);
  t.equal(await machine.push('still', 'studio'), 200);
  t.equal(machine.logged(WAITS), 1);
  // The new hub can: the other worker ends, and comes as the new one.
  process.kill(machine.pidsOf('hub')[0]!, 'SIGKILL');
  await players.get(other!)!.until(({ closed }) => closed);
  await servesAnew(t, machine, before);
  t.equal(machine.logged(ENDS), 1);
});
