/** The registry of sessions against a plain list of what the workers have: what each is told, by seed. */

import t from 'tap';
import { type RegistryPort, SessionRegistry } from '../../../src/link/sessions/session-registry.js';
import { HEARD } from '../../../src/link/wire/message-types.js';
import { precedes, type SessionLocation } from '../../../src/listener/sessions/session-location.js';
import { Random } from '../../kit/random.js';

const METAIDS = ['m', 'n', 'o'];

/** What one worker was told. */
class ToldPort implements RegistryPort {
  readonly places = new Map<string, SessionLocation>();
  readonly followed = new Set<string>();
  readonly lines: string[] = [];
  told = 0;

  notifyFirst(metaid: string, place: SessionLocation | null): void {
    this.told++;
    if (place === null) this.places.delete(metaid);
    else this.places.set(metaid, place);
  }
  follow(metaid: string, isFollowed: boolean): void {
    if (isFollowed) this.followed.add(metaid);
    else this.followed.delete(metaid);
  }
  ask(metaid: string, worker: number): void {
    this.lines.push(`ask ${metaid} by ${worker}`);
  }
  relay(_type: number, worker: number, metaid: string, sinceMs: number, rest: Buffer): void {
    this.lines.push(`${metaid} of ${worker} since ${sinceMs}: ${rest}`);
  }
  report(metaid: string, worker: number, id: number, bytes: Buffer): void {
    this.lines.push(`report ${id} of ${worker} for ${metaid}: ${bytes}`);
  }
  verdict(id: number, verdict: string): void {
    this.lines.push(`${id} ${verdict}`);
  }
}

const plays = (sinceMs: number) => ({ sinceMs, endedMs: Number.POSITIVE_INFINITY });

function setUp(count: number) {
  const registry = new SessionRegistry();
  const ports = Array.from({ length: count }, () => new ToldPort());
  for (const [i, port] of ports.entries()) registry.add(i + 1, port);
  return { registry, ports };
}

t.test('each worker knows the first session of all others, and whether others follow', async (t) => {
  const random = new Random();
  const registry = new SessionRegistry();
  const ports = new Map<number, ToldPort>();
  const places = new Map<string, SessionLocation>();
  const follows = new Set<string>();
  const firstFor = (worker: number, metaid: string) => {
    const all = [...places].filter(([key, place]) => key.endsWith(metaid) && place.worker !== worker);
    return all.map(([, place]) => place).sort((a, b) => (precedes(a, b) ? -1 : 1))[0];
  };
  for (let step = 0; step < 3000; step++) {
    const worker = random.int(1, 4);
    const metaid = METAIDS[random.int(0, 2)]!;
    const port = ports.get(worker);
    if (port === undefined) {
      ports.set(worker, new ToldPort());
      registry.add(worker, ports.get(worker)!);
    } else if (random.chance(0.02)) {
      registry.remove(worker, port);
      ports.delete(worker);
      for (const each of METAIDS) places.delete(`${worker} ${each}`);
      for (const each of METAIDS) follows.delete(`${worker} ${each}`);
    } else if (random.chance(0.3)) {
      const isFollowed = random.chance(0.5);
      registry.follow(worker, metaid, isFollowed);
      if (isFollowed) follows.add(`${worker} ${metaid}`);
      else follows.delete(`${worker} ${metaid}`);
    } else {
      const endedMs = random.chance(0.5) ? Number.POSITIVE_INFINITY : random.int(1, 50);
      const place = random.chance(0.3) ? null : { worker, sinceMs: random.int(1, 50), endedMs };
      registry.setFirst(worker, metaid, place);
      if (place === null) places.delete(`${worker} ${metaid}`);
      else places.set(`${worker} ${metaid}`, place);
    }
    for (const [each, { places: told, followed }] of ports) {
      for (const id of METAIDS) {
        const others = [...follows].some((key) => key.endsWith(id) && !key.startsWith(`${each} `));
        const isRight =
          JSON.stringify(told.get(id)) === JSON.stringify(firstFor(each, id)) && followed.has(id) === others;
        if (!isRight) throw new Error(`seed ${random.seed}, step ${step}: ${id} in ${each}`);
      }
    }
  }
  for (const [worker, port] of ports) registry.remove(worker, port);
  t.equal(registry.count, 0, 'nothing is left of those that have gone');
});

t.test('what happens in a session goes to those who follow it, while it comes first', async (t) => {
  const { registry, ports } = setUp(3);
  registry.setFirst(1, 'm', plays(10));
  registry.follow(2, 'm', true);
  registry.follow(1, 'm', true);
  registry.relay(HEARD, 1, 'm', 0, 10, Buffer.from('a'));
  registry.relay(HEARD, 1, 'm', 3, 10, Buffer.from('for 3'));
  registry.relay(HEARD, 1, 'm', 0, 9, Buffer.from('of an earlier session'));
  registry.relay(HEARD, 1, 'n', 0, 10, Buffer.from('of another'));
  registry.setFirst(3, 'm', plays(11));
  registry.relay(HEARD, 1, 'm', 0, 10, Buffer.from('too late'));
  registry.relay(HEARD, 3, 'm', 0, 11, Buffer.from('b'));
  t.same(
    ports.map(({ lines }) => lines),
    [['m of 3 since 11: b'], ['m of 1 since 10: a', 'm of 3 since 11: b'], ['m of 1 since 10: for 3']],
  );
});

t.test('questions and reports go to the worker with the session', async (t) => {
  const { registry, ports } = setUp(2);
  registry.ask(2, 'm');
  registry.report(2, 'm', 5, Buffer.from('{}'));
  registry.setFirst(1, 'm', plays(10));
  registry.ask(2, 'm');
  registry.ask(1, 'm');
  registry.report(2, 'm', 6, Buffer.from('{}'));
  registry.verdict(2, 6, 'taken');
  registry.setFirst(1, 'm', { sinceMs: 10, endedMs: 20 });
  registry.report(2, 'm', 7, Buffer.from('{}'));
  registry.verdict(9, 1, 'taken');
  t.same(ports[0]!.lines, ['ask m by 2', 'report 6 of 2 for m: {}']);
  t.same(ports[1]!.lines, ['5 not-playing', '6 taken', '7 not-playing']);
});

t.test('a worker is told nothing that it knows, and comes again before its old connection has ended', async (t) => {
  const { registry, ports } = setUp(2);
  registry.setFirst(1, 'm', plays(10));
  registry.setFirst(1, 'm', plays(10));
  t.equal(ports[1]!.told, 1);
  const again = new ToldPort();
  registry.add(1, again);
  t.equal(ports[1]!.places.size, 0, 'it has said nothing yet');
  registry.setFirst(1, 'm', plays(10));
  registry.remove(1, ports[0]!);
  t.equal(ports[1]!.places.size, 1, 'the end of the old connection is not that of the worker');
});
