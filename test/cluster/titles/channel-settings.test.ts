/** Settings of a channel that differ at two machines: reported once for each change, and listed while they differ. Malformed ones are refused. */

import t from 'tap';
import {
  type ChannelSettings,
  ClusterSettings,
  type Difference,
  settingsSchema,
} from '../../../src/cluster/titles/channel-settings.js';

const SAME: ChannelSettings = { delaySeconds: 0, metaint: null, holdSeconds: 300, sources: ['encoder', 'file'] };

function machine(channels: Record<string, ChannelSettings>) {
  const named: Difference[] = [];
  const settings = new ClusterSettings({
    channels: () => Object.entries(channels),
    onDiffers: (difference) => named.push(difference),
  });
  return { settings, named, channels };
}

/** Passes on what one machine has to say to the other. */
function tell(from: ReturnType<typeof machine>, to: ReturnType<typeof machine>, name = 'b') {
  const there = from.settings.enter('a');
  const here = to.settings.enter(name);
  return () => {
    const news = from.settings.news(there);
    to.settings.hear(here, news);
    return news.length;
  };
}

t.test('each option that differs, once', async (t) => {
  const a = machine({ live: SAME, other: SAME });
  const b = machine({
    live: { delaySeconds: 5, metaint: 8192, holdSeconds: 0, sources: ['pull'] },
    other: SAME,
    elsewhere: SAME,
  });
  const say = tell(b, a);
  t.equal(say(), 3);
  const differing = [
    { channel: 'live', option: 'delaySeconds', node: 'b', here: '0', there: '5' },
    { channel: 'live', option: 'holdSeconds', node: 'b', here: '300', there: '0' },
    { channel: 'live', option: 'metaint', node: 'b', here: 'auto', there: '8192' },
    { channel: 'live', option: 'sources', node: 'b', here: 'encoder file', there: 'pull' },
  ];
  t.strictSame(a.named, differing);
  t.strictSame(a.settings.differences, differing);
  t.equal(say(), 0, 'nothing is new');
  tell(b, a)();
  a.settings.refresh();
  t.equal(a.named.length, 4, 'another connection, another configuration: it is not named again');

  b.channels['live'] = { ...SAME, delaySeconds: 6 };
  b.settings.refresh();
  t.equal(say(), 1, 'what has changed');
  t.strictSame(a.settings.differences, [{ ...differing[0], there: '6' }]);
  t.equal(a.named.length, 5);
  a.channels['live'] = { ...SAME, delaySeconds: 6 };
  a.settings.refresh();
  t.strictSame(a.settings.differences, [], 'they are alike');
  delete a.channels['live'];
  a.settings.refresh();
  t.equal(a.named.length, 5);
});

t.test('a machine that only serves has no sources to compare', async (t) => {
  const a = machine({ live: SAME });
  tell(machine({ live: { ...SAME, sources: null } }), a)();
  t.strictSame(a.settings.differences, []);
});

t.test('malformed settings are refused', async (t) => {
  const hear = (settings: unknown) => () => settingsSchema.parse(settings);
  t.doesNotThrow(hear({ ...SAME, sources: Array(100).fill('file') }));
  t.throws(hear({ ...SAME, sources: Array(101).fill('file') }));
  t.throws(hear({ ...SAME, sources: ['a b'] }));
  t.doesNotThrow(hear({ ...SAME, delaySeconds: 3600 }));
  t.throws(hear({ ...SAME, delaySeconds: 3601 }));
  t.doesNotThrow(hear({ ...SAME, metaint: 65_535, more: 'of a newer version' }));
  t.throws(hear({ ...SAME, metaint: 65_536 }));
  t.throws(hear('{'));
});
