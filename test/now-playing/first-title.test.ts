/** What stands while a source on air has said no title: whose title it replaces, and whose it does not. */

import t from 'tap';
import { giveFirst } from '../../src/now-playing/first-title.js';
import { EMPTY_STATE } from '../../src/now-playing/state.js';
import { makeRecord } from '../kit/record.js';

const AT = { channel: 'demo', wallMs: 10_000, newId: () => 'made', ageMs: () => 0 };
const STATION = { artist: 'Radio', song: 'Wave' };
const NOTHING = { artist: '', song: '' };
const speaker = { name: 'b.5', sinceMs: 5000 };

/** What becomes of this title in force; null: it stays. */
function given(now: Parameters<typeof makeRecord>[0] | null, title = STATION, lost = false) {
  const state = { ...EMPTY_STATE, version: 3, now: now === null ? null : makeRecord(now), lost };
  const record = giveFirst(state, speaker, title, AT)?.record ?? null;
  return record && `${record.artist} - ${record.song} (${record.source}, ${record.saidBy})`;
}
const OURS = 'Radio - Wave (fallback, b.5)';

t.test('another source has said the title, or there is none: it begins', async (t) => {
  t.equal(given(null), OURS);
  t.equal(given({ source: 'encoder', saidBy: 'a.1' }), OURS);
  t.equal(given({ source: 'encoder', song: '' }), OURS, 'that was ended, as its source has gone');
  t.equal(given({ source: 'fallback', saidBy: 'a.1' }), OURS, 'that of the source before');
  t.equal(given({ source: 'fallback', effectAtMs: 5000 }), OURS, 'the fallback title from before');
});

t.test('what stays', async (t) => {
  t.equal(given({ source: 'encoder', saidBy: 'b.5' }), null, 'its own title');
  t.equal(given({ source: 'encoder', song: '', saidBy: 'b.5' }), null, 'that it has cleared itself');
  t.equal(given({ source: 'metapush' }), null, 'a push');
  t.equal(given({ source: 'metapush', song: '' }), null, 'also an empty one');
  t.equal(given({ source: 'encoder' }), null, 'what another program has sent for an encoder that was away');
  t.equal(
    given({ source: 'fallback', effectAtMs: 5001 }),
    null,
    'a fallback title that came since, as a title has run out',
  );
  t.equal(given(null, STATION, true), null, 'the source is lost');
});

t.test('the same words again change nothing, others do', async (t) => {
  const own = { source: 'fallback', saidBy: 'b.5', artist: 'Radio' } as const;
  t.equal(given({ ...own, song: 'Wave' }), null);
  t.equal(given({ ...own, song: 'Old' }), OURS);
});

t.test('nothing', async (t) => {
  t.equal(given({ source: 'encoder', saidBy: 'a.1' }, NOTHING), ' -  (fallback, b.5)');
  t.equal(given(null, NOTHING), null);
  t.equal(given({ source: 'encoder', song: '' }, NOTHING), null);
});
