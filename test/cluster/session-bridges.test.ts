/** The machines that link their sessions: bounded in number, and forgotten when they do not come again. */

import type { Duplex } from 'node:stream';
import t from 'tap';
import { Tallies } from '../../src/base/tallies.js';
import { ClusterCounts } from '../../src/cluster/cluster-counts.js';
import { SessionBridges } from '../../src/cluster/session-bridges.js';
import type { Machine } from '../../src/cluster/tapes/tape-client.js';
import { ClusterSettings } from '../../src/cluster/titles/channel-settings.js';
import { HubTallies } from '../../src/link/facts/hub-tallies.js';
import { SessionRegistry } from '../../src/link/sessions/session-registry.js';
import { FakeClock } from '../kit/clock.js';
import { asStream, linkPipe } from '../kit/link-pipe.js';

const OURS = { delaySeconds: 0, metaint: null, holdSeconds: 300, sources: null };
const NOBODY = new Map<string, string>();

function setUp(ask = (_: Machine): Promise<Duplex> => Promise.reject(new Error('it is away'))) {
  const clock = new FakeClock();
  const counted = new HubTallies(new Tallies(), 10, clock);
  const settings = new ClusterSettings({ channels: () => [['live', OURS]], onDiffers: () => undefined });
  const bridges = new SessionBridges({
    registry: new SessionRegistry(),
    node: 'here',
    counts: new ClusterCounts({ counted, channels: () => [] }),
    settings,
    has: () => true,
    clock,
    ask,
    onError: (error) => {
      throw error;
    },
  });
  return { bridges, settings };
}

t.test('one that comes by ever new names has no more than a few hundred', async (t) => {
  const { bridges, settings } = setUp();
  for (let i = 0; i < 300; i++) bridges.take(`n${i}`, asStream(linkPipe().hub));
  t.equal(bridges.count, 256, 'at once');
  bridges.close();

  const later = setUp();
  for (let i = 0; i < 300; i++) {
    const stream = asStream(linkPipe().hub);
    later.bridges.take(`n${i}`, stream);
    later.settings.hear(later.settings.enter(`n${i}`), [['live', { ...OURS, delaySeconds: 5 }]]);
    stream.destroy();
  }
  t.equal(later.settings.differences.length, 256, 'one after the other');
  t.equal(settings.differences.length, 0);
});

t.test(
  'names of no machine: 64 connections at a time, and each has its turn; machines that are linked are asked first',
  async (t) => {
    const urls = new Map(Array.from({ length: 999 }, (_, i) => [`n${i}`, `http://n${i}:1`]));
    const asked: string[] = [];
    let end = () => {};
    const { bridges } = setUp(({ node }) => {
      asked.push(node);
      return new Promise((_, reject) => {
        const before = end;
        end = () => {
          before();
          reject(new Error('it is away'));
        };
      });
    });
    const next = async () => {
      end();
      await new Promise((turn) => setImmediate(turn));
    };
    for (let turn = 1; turn <= 15; turn++) {
      for (let i = 0; i < 3; i++) bridges.look(urls, urls);
      t.equal(asked.length, 64 * turn);
      await next();
    }
    bridges.look(urls, urls);
    t.strictSame([asked.length, new Set(asked).size], [999, 999]);
    await next();
    bridges.look(urls, urls);
    t.equal(asked.length, 999 + 64, 'all over again');
    await next();

    bridges.take('n998', asStream(linkPipe().hub));
    const machines = [...urls].map(([node, url]) => ({ node, url }));
    const likely = bridges.mostLikely(machines).map(({ node }) => node);
    t.strictSame([likely.length, likely[0], likely[1]], [64, 'n998', 'n0']);
    bridges.close();
  },
);

t.test('settings of a machine that was removed or renamed are compared for a day', async (t) => {
  const { bridges, settings } = setUp();
  const stream = asStream(linkPipe().hub);
  bridges.take('renamed', stream);
  settings.hear(settings.enter('renamed'), [['live', { ...OURS, delaySeconds: 5 }]]);
  bridges.look(NOBODY, NOBODY);
  t.equal(settings.differences.length, 1, 'it is linked');
  stream.destroy();
  bridges.look(NOBODY, new Map([['renamed', '']]));
  t.equal(settings.differences.length, 1, 'it was here a while ago');
  bridges.look(NOBODY, NOBODY);
  t.same(settings.differences, []);
});
