/**
 * Processes that are killed in the middle of a reload (src/processes/README.md, "Reload"): whichever it is, and whenever, all are left with one of the two
 * configurations, whole, and who was with another process stays. Moments by a seed.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { isLong } from '../kit/long.js';
import { Machine, onePerWorker, RESTARTED_MS, strayBytes, WORKERS } from '../kit/machine.js';
import { pause } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { freePort } from '../kit/process.js';
import { Random } from '../kit/random.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { until } from '../kit/until.js';
import { askWorker } from '../kit/worker-answer.js';

// They wait more than they compute.
t.jobs = 2;

/** Deaths of each role. */
const ROUNDS = isLong ? 5 : 3;
/** A reload takes about as long. */
const MAX_MS = 200;

const channel = (key: string, name: string) =>
  `      ${key}: { name: '${name}', bitrateKbps: 128, pushTokens: [demo-token], sources: [{ type: file, path: ${DEMO_AUDIO} }] }\n`;

/** Two configurations that differ in a name, a channel, an address and a limit that the hub heeds. */
const yaml = (port: number, second: number, isEven: boolean) => `
addresses: [{ host: 127.0.0.1, port: ${port} }${isEven ? '' : `, { host: 127.0.0.1, port: ${second}, shoutcastPort: false }`}]
stations:
  house:
    channels:
${channel('music', isEven ? 'even' : 'odd')}${isEven ? '' : channel('come', 'odd')}`;

class Story {
  readonly #t: Test;
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #second: number;
  #isEven = true;

  constructor(t: Test, random: Random, machine: Machine, second: number) {
    this.#t = t;
    this.#random = random;
    this.#machine = machine;
    this.#second = second;
  }

  /** Another text, and the death of a process while it is put in force. */
  async reload(role: 'hub' | 'worker'): Promise<void> {
    const [t, machine, random] = [this.#t, this.#machine, this.#random];
    const players = await onePerWorker(t, machine, '/music');
    const said = () => machine.logged('"configuration reloaded"') + machine.logged('was not reloaded');
    const [before, reloaded, ready] = [
      said(),
      machine.logged('"configuration reloaded"'),
      machine.logged('"process ready"'),
    ];
    const pids = machine.pidsOf(role);
    const pid = pids[random.int(0, pids.length - 1)]!;
    const afterMs = random.int(0, MAX_MS);
    const why = () => `${role} after ${afterMs} ms, seed ${random.seed}: ${machine.news}`;
    this.#write(!this.#isEven);
    machine.server.child.kill('SIGHUP');
    await pause(afterMs);
    process.kill(pid, 'SIGKILL');
    await until(() => said() > before && machine.logged('"process ready"') > ready, RESTARTED_MS, why);
    await until(
      () => machine.children.length === 1 + WORKERS && !machine.children.some((each) => each.pid === pid),
      RESTARTED_MS,
      why,
    );
    const isTaken = machine.logged('"configuration reloaded"') > reloaded;
    if (isTaken) this.#isEven = !this.#isEven;
    t.comment(`${role} killed after ${afterMs} ms: ${isTaken ? 'in force' : 'refused'}`);
    await this.#isWhole(why);
    for (const [owner, player] of players) {
      if (owner !== pid) {
        const { audioBytes } = player;
        await player.until((p) => p.audioBytes > audioBytes + 48_000, RESTARTED_MS);
        t.notOk(player.closed, 'a listener of another worker plays on');
      }
      t.equal(strayBytes(player.audio), 0, 'whole frames');
      player.close();
    }
  }

  /** All processes have the same one: workers serve it, and the hub plays it. */
  async #isWhole(why: () => string): Promise<void> {
    const machine = this.#machine;
    const isEven = this.#isEven;
    for (const pid of machine.pidsOf('worker')) {
      // One that was started with the other text gets this one when it is ready.
      await until(
        async () => {
          const { body } = await askWorker(pid, machine.port, '/metadata/stations.json');
          const names = JSON.parse(body)[0].channels.map(({ name }: { name: string }) => name);
          return names.join() === (isEven ? 'even' : 'odd,odd');
        },
        RESTARTED_MS,
        why,
      );
      const { status } = await askWorker(pid, machine.port, '/come.m3u');
      this.#t.equal(status, isEven ? 404 : 200);
      if (!isEven)
        this.#t.equal((await askWorker(pid, this.#second, '/music.m3u')).status, 200, 'at the other address');
    }
    if (isEven) return;
    const player = new Player(machine.port, '/come');
    await player.until(({ audioBytes }) => audioBytes > 16_000, RESTARTED_MS);
    player.close();
    const status = (await fetch(`${machine.server.base}/metapush/come/demo-token?song=s`)).status;
    this.#t.equal(status, 200);
  }

  #write(isEven: boolean): void {
    const { config, port } = this.#machine;
    const head = readFileSync(config, 'utf8').split('\n').slice(0, 2);
    writeFileSync(config, [...head, yaml(port, this.#second, isEven)].join('\n'));
  }
}

async function begin(t: Test): Promise<Story> {
  const second = await freePort();
  const machine = await Machine.start(t, (port) => yaml(port, second, true));
  return new Story(t, new Random(), machine, second);
}

for (const role of ['worker', 'hub'] as const) {
  t.test(`a ${role} is killed while a reload goes on`, async (t) => {
    const story = await begin(t);
    for (let i = 0; i < ROUNDS; i++) await story.reload(role);
  });
}

t.test('a worker that is being started meanwhile comes up with the text in force', async (t) => {
  const second = await freePort();
  const machine = await Machine.start(t, (port) => yaml(port, second, true));
  const [killed] = machine.pidsOf('worker');
  const head = readFileSync(machine.config, 'utf8').split('\n').slice(0, 2);
  writeFileSync(machine.config, [...head, yaml(machine.port, second, false)].join('\n'));
  process.kill(killed!, 'SIGKILL');
  await until(
    () => machine.pidsOf('worker').length === WORKERS && !machine.pidsOf('worker').includes(killed!),
    RESTARTED_MS,
  );
  const ready = machine.logged('"process ready"');
  machine.server.child.kill('SIGHUP');
  await until(
    () => machine.logged('"configuration reloaded"') === 1,
    RESTARTED_MS,
    () => machine.news,
  );
  await until(
    () => machine.logged('"process ready"') > ready,
    RESTARTED_MS,
    () => machine.news,
  );
  for (const pid of machine.pidsOf('worker')) {
    await until(
      async () => (await askWorker(pid, machine.port, '/come.m3u')).status === 200,
      RESTARTED_MS,
      () => machine.news,
    );
    t.equal((await askWorker(pid, second, '/come.m3u')).status, 200);
  }
  t.equal(machine.logged('restarting it'), 1, machine.news);
});
