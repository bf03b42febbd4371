/** Two machines' registries over a bridge without a socket: a report goes to where its session plays, and its verdict back to the worker that asked. */

import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { Tallies } from '../../src/base/tallies.js';
import { ClusterCounts } from '../../src/cluster/cluster-counts.js';
import { SessionBridge } from '../../src/cluster/session-bridge.js';
import { ClusterSettings } from '../../src/cluster/titles/channel-settings.js';
import { HubTallies } from '../../src/link/facts/hub-tallies.js';
import { FIRST_NODE, type RegistryPort, SessionRegistry } from '../../src/link/sessions/session-registry.js';
import { FakeClock } from '../kit/clock.js';
import { asStream, linkPipe, type PipeEnd } from '../kit/link-pipe.js';

const METAID = 'm';

/** A worker of a machine: what it is sent of reports. */
class Worker implements RegistryPort {
  readonly reports: number[] = [];
  readonly verdicts: string[] = [];
  notifyFirst(): void {}
  follow(): void {}
  ask(): void {}
  relay(): void {}
  report(_metaid: string, _worker: number, id: number): void {
    this.reports.push(id);
  }
  verdict(id: number, verdict: string): void {
    this.verdicts.push(`${id} ${verdict}`);
  }
}

function machine(node: string, stream: PipeEnd) {
  const registry = new SessionRegistry();
  const workers = [new Worker(), new Worker()];
  for (const [i, worker] of workers.entries()) registry.add(i + 1, worker);
  const counted = new HubTallies(new Tallies(), 10, new FakeClock());
  const bridge = new SessionBridge(asStream(stream), {
    registry,
    node,
    number: FIRST_NODE,
    counts: new ClusterCounts({ counted, channels: () => [] }),
    settings: new ClusterSettings({ channels: () => [], onDiffers: () => undefined }),
    has: () => true,
    clock: new FakeClock(),
    onClosed: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  return { registry, workers, bridge };
}

/** Two workers at each; the session plays at worker 2 of the second. */
async function setUp() {
  const pipe = linkPipe();
  const [here, there] = [machine('there', pipe.hub), machine('here', pipe.worker)];
  const flow = async () => {
    for (let quiet = 0; quiet < 2; ) {
      await turn();
      quiet = pipe.hub.deliver(1e6) + pipe.worker.deliver(1e6) === 0 ? quiet + 1 : 0;
    }
  };
  await flow();
  there.registry.setFirst(2, METAID, { sinceMs: 1000, endedMs: Number.POSITIVE_INFINITY });
  await flow();
  return { here, there, flow };
}

t.test('each report gets its own verdict, whatever the order', async (t) => {
  const { here, there, flow } = await setUp();
  here.registry.report(1, METAID, 71, Buffer.from('{}'));
  here.registry.report(2, METAID, 71, Buffer.from('{}'));
  await flow();
  const [first, second] = there.workers[1]!.reports as [number, number];
  there.registry.verdict(FIRST_NODE, second, 'impossible');
  there.registry.verdict(FIRST_NODE, first, 'taken');
  await flow();
  t.same([here.workers[0]!.verdicts, here.workers[1]!.verdicts], [['71 taken'], ['71 impossible']]);
  there.registry.verdict(FIRST_NODE, first, 'taken');
  await flow();
  t.equal(here.workers[0]!.verdicts.length, 1, 'once');
  here.bridge.close();
});

t.test(
  'where the other machine is gone, one that was under way gets none, and the next ones get theirs at once',
  async (t) => {
    const { here, flow } = await setUp();
    here.registry.report(1, METAID, 71, Buffer.from('{}'));
    here.bridge.close();
    await flow();
    here.registry.report(1, METAID, 72, Buffer.from('{}'));
    t.same(here.workers[0]!.verdicts, ['72 not-playing']);
  },
);
