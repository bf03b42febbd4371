/** What another machine says of a channel: values that lie too far ahead to be counted on from are refused, at the limit they are not. */

import t from 'tap';
import { NOTHING, type Ordered } from '../../../src/cluster/titles/ordered.js';
import { aheadFault } from '../../../src/cluster/titles/ordered-schema.js';
import type { TrackRecord } from '../../../src/metadata/record.js';
import { maxMomentMs, maxVersion } from '../../../src/metadata/record-schema.js';
import { takeNow } from '../../../src/now-playing/effect.js';
import { makeTrack } from '../../../src/now-playing/repeat.js';
import type { HistoryEntry } from '../../../src/now-playing/state.js';

const WALL_MS = 1_800_000_000_000;
const MAX_MS = maxMomentMs(WALL_MS);

const track = makeTrack({ type: 'now', artist: 'A', song: 'S' }, 'id', WALL_MS / 1000);
const { state } = takeNow(NOTHING.state, track, { channel: 'x', wallMs: WALL_MS, newId: () => 'id', ageMs: () => 0 });
const now = state.now!;
const decided = { atMs: WALL_MS, node: 'a' };
const honest: Ordered = { state, now: decided, next: decided };
const entry: HistoryEntry = { record: now, fromMs: WALL_MS, toMs: null };

interface Said {
  readonly ordered: Ordered;
  readonly history: readonly HistoryEntry[];
}

const inState = (members: Partial<Ordered['state']>): Said => ({
  ordered: { ...honest, state: { ...state, ...members } },
  history: [],
});
const inRecord = (members: Partial<TrackRecord>): TrackRecord => ({ ...now, ...members });
const ended = (members: Partial<HistoryEntry>) => [
  { record: now, fromMs: WALL_MS, saidSeconds: null, ...members, toMs: members.toMs ?? WALL_MS },
];
const inHistory = (members: Partial<HistoryEntry>): Said => ({ ordered: honest, history: [{ ...entry, ...members }] });

const MOMENTS: Readonly<Record<string, (ms: number) => Said>> = {
  'when now was decided': (atMs) => ({ ordered: { ...honest, now: { ...decided, atMs } }, history: [] }),
  'when next was decided': (atMs) => ({ ordered: { ...honest, next: { ...decided, atMs } }, history: [] }),
  'its stamp': (stamp) => inState({ stamp }),
  'the stamp of now': (stamp) => inState({ now: inRecord({ stamp }) }),
  'when now took effect': (effectAtMs) => inState({ now: inRecord({ effectAtMs }) }),
  'when what is covered took effect': (effectAtMs) => inState({ covered: inRecord({ effectAtMs }) }),
  'since when now is on air': (onAirSinceMs) => inState({ onAirSinceMs }),
  'when a past title began': (fromMs) => inState({ ended: ended({ fromMs }) }),
  'when a past title ended': (toMs) => inState({ ended: ended({ toMs }) }),
  'when a past title took effect': (effectAtMs) => inState({ ended: ended({ record: inRecord({ effectAtMs }) }) }),
  'when an entry of the history began': (fromMs) => inHistory({ fromMs }),
  'when an entry of the history ended': (toMs) => inHistory({ toMs }),
  'when an entry of the history took effect': (effectAtMs) => inHistory({ record: inRecord({ effectAtMs }) }),
};

for (const [name, said] of Object.entries(MOMENTS)) {
  t.test(name, async (t) => {
    const faultAt = (ms: number) => {
      const { ordered, history } = said(ms);
      return aheadFault(ordered, history, WALL_MS, state.version);
    };
    t.equal(faultAt(0), null);
    t.equal(faultAt(MAX_MS), null);
    t.type(faultAt(MAX_MS + 1), 'string');
  });
}

t.test('a next may be announced for any time, and a version may lead by some', async (t) => {
  const next = inRecord({ type: 'next', effectAtMs: MAX_MS + 1 });
  t.equal(aheadFault(inState({ next }).ordered, [], WALL_MS, state.version), null);
  const version = maxVersion(state.version);
  t.equal(aheadFault(inState({ version }).ordered, [], WALL_MS, state.version), null);
  t.match(aheadFault(inState({ version: version + 1 }).ordered, [], WALL_MS, state.version), /version/);
});
