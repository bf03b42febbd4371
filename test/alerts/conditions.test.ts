/** What is wrong, at each threshold and one past it. */

import t from 'tap';
import { conditionsOf } from '../../src/alerts/conditions.js';
import type { AlertFacts, ChannelCondition } from '../../src/alerts/server-facts.js';

const DAY_MS = 86_400_000;
const THRESHOLDS = { slowSaveMs: 1000, freeMegabytes: 256, certificateDays: 14, limitPercent: 90 };
const CHANNEL: ChannelCondition = {
  key: 'jazz',
  station: 'house',
  missingMs: 0,
  isSilence: false,
  lostOwner: '',
  lost: null,
  onAir: { kind: 'encoder', offKbps: null },
  titleAgeMs: 0,
  maxTitleAgeMs: 0,
};
const FACTS: AlertFacts = {
  wallMs: 1e12,
  channels: [CHANNEL],
  storeFault: null,
  hlsFaults: new Map(),
  slowestSaveMs: 999,
  freeBytes: 256e6,
  certificates: [],
  limits: [],
  died: {},
  skewMs: 0,
};

const found = (facts: Partial<AlertFacts>) =>
  conditionsOf({ ...FACTS, ...facts }, THRESHOLDS).map(({ event, subject, severity }) => [event, subject, severity]);
const ofChannel = (facts: Partial<ChannelCondition>) => found({ channels: [{ ...CHANNEL, ...facts }] });

t.test('nothing is wrong', async (t) => {
  t.strictSame(found({}), []);
  t.strictSame(found({ freeBytes: null }), []);
});

t.test('of a channel', async (t) => {
  t.strictSame(ofChannel({ missingMs: 1, onAir: null }), [['no-audio', 'jazz', 'critical']]);
  t.strictSame(ofChannel({ lost: 'encoder' }), [['source-lost', 'jazz', 'warning']]);
  t.strictSame(ofChannel({ isSilence: true }), [['silence', 'jazz', 'critical']]);
  t.strictSame(ofChannel({ onAir: { kind: 'pull', offKbps: 64 } }), [['bitrate-off', 'jazz', 'warning']]);
  t.strictSame(ofChannel({ lostOwner: 'b' }), [['tape-lost', 'jazz', 'critical']]);
  t.strictSame(ofChannel({ titleAgeMs: 1e9 }), [], '0 minutes: never');
  t.strictSame(ofChannel({ titleAgeMs: 59_999, maxTitleAgeMs: 60_000 }), []);
  t.strictSame(ofChannel({ titleAgeMs: 60_000, maxTitleAgeMs: 60_000 }), [['no-titles', 'jazz', 'warning']]);
});

t.test('of store and disk', async (t) => {
  t.strictSame(found({ storeFault: 'it is gone' }), [['store-fault', '', 'critical']]);
  t.strictSame(found({ hlsFaults: new Map([['live', 'ENOSPC']]) }), [['hls-unwritten', '', 'warning']]);
  t.strictSame(found({ slowestSaveMs: 1000 }), [['disk-slow', '', 'warning']]);
  t.strictSame(found({ freeBytes: 256e6 - 1 }), [['disk-full', '', 'critical']]);
});

t.test('of the clock', async (t) => {
  const wrong = [['clock-wrong', '', 'warning']];
  t.strictSame(found({ skewMs: 499 }), []);
  t.strictSame(found({ skewMs: -499 }), []);
  t.strictSame(found({ skewMs: 500 }), wrong);
  t.strictSame(found({ skewMs: -500 }), wrong);
  const [ahead] = conditionsOf({ ...FACTS, skewMs: 600_049 }, THRESHOLDS);
  t.equal(ahead?.summary, 'The clock of this machine is 600 s ahead of the clock of the cluster');
});

t.test('of certificates, limits and processes', async (t) => {
  const file = { address: 'a:443', lifeMs: 90 * DAY_MS, isOwn: false, problem: null };
  const expiring = (inMs: number) => found({ certificates: [{ ...file, expiresMs: 1e12 + inMs }] });
  t.strictSame(expiring(14 * DAY_MS), []);
  t.strictSame(expiring(14 * DAY_MS - 1), [['certificate', 'a:443', 'warning']]);
  t.strictSame(expiring(3 * DAY_MS - 1), [['certificate', 'a:443', 'critical']]);
  t.strictSame(expiring(-1), [['certificate', 'a:443', 'critical']]);
  // One that the server gets by itself: whether it is late depends on its life, which may be of days.
  const own = { ...file, isOwn: true, problem: 'the authority is away: für heute' };
  const renewing = (inMs: number, lifeMs: number) =>
    found({ certificates: [{ ...own, lifeMs, expiresMs: 1e12 + inMs }] });
  t.strictSame(renewing(15 * DAY_MS, 90 * DAY_MS), []);
  t.strictSame(renewing(15 * DAY_MS - 1, 90 * DAY_MS), [['certificate', 'a:443', 'warning']]);
  t.strictSame(renewing(DAY_MS, 6 * DAY_MS), []);
  t.strictSame(renewing(DAY_MS - 1, 6 * DAY_MS), [['certificate', 'a:443', 'critical']]);
  const [none] = conditionsOf({ ...FACTS, certificates: [{ ...own, expiresMs: null }] }, THRESHOLDS);
  t.match(none, {
    severity: 'critical',
    summary: 'No certificate for a:443: TLS is refused',
    fields: { expires: null, problem: 'the authority is away: f?r heute' },
  });
  const used = (count: number) => found({ limits: [{ limit: 'listeners', count, most: 100 }] });
  t.strictSame(used(89), []);
  t.strictSame(used(90), [['limit-near', 'listeners', 'warning']]);
  t.strictSame(used(100), [['limit-near', 'listeners', 'critical']]);
  const ofChannel = (count: number) => found({ limits: [{ limit: 'maxListeners', channel: 'jazz', count, most: 10 }] });
  t.strictSame(ofChannel(8), []);
  t.strictSame(ofChannel(9), [['limit-near', 'maxListeners of jazz', 'warning']]);
  t.strictSame(ofChannel(10), [['limit-near', 'maxListeners of jazz', 'critical']]);
  t.strictSame(found({ died: { worker: 0, hub: 2 } }), [['process-died', 'hub', 'critical']]);
});
