/** Whom a channel believes: every pair of title sources, in every order that says something, against the rule in words. */

import t from 'tap';
import type { TitleSource } from '../../src/metadata/record.js';
import { mayReplace, type TitleOrigin, type TrustRules } from '../../src/now-playing/trust.js';
import { makeRecord } from '../kit/record.js';

const T0 = 1_795_000_000_000;
const RULES: TrustRules = {
  titlesFrom: ['metapush', 'encoder', 'upstream'],
  originOnAir: null,
  pushHoldSeconds: 600,
  graceSeconds: 5,
};

/** Whether a title may replace one of `source` that took effect so many seconds ago. */
function may(
  from: TitleOrigin,
  source: TitleSource,
  agoSeconds: number,
  rules: Partial<TrustRules> = {},
  durationSeconds = 0,
) {
  const now = makeRecord({ source, durationSeconds, effectAtMs: T0 });
  return mayReplace(now, from, () => agoSeconds * 1000, { ...RULES, ...rules });
}

t.test('a push silences the lesser ones until its duration + grace, or for pushHoldSeconds', async (t) => {
  for (const from of ['encoder', 'upstream'] as const) {
    for (const heard of [from, null]) {
      t.equal(may(from, 'metapush', 599.999, { originOnAir: heard }), false);
      t.equal(may(from, 'metapush', 600, { originOnAir: heard }), true);
      t.equal(may(from, 'metapush', 184.999, { originOnAir: heard }, 180), false);
      t.equal(may(from, 'metapush', 185, { originOnAir: heard }, 180), true);
      t.equal(may(from, 'metapush', 0, { originOnAir: heard, pushHoldSeconds: 0 }), true);
    }
    t.equal(may('metapush', from, 0, { originOnAir: from }), true, 'and is silenced by none of them');
  }
});

t.test('an encoder’s title silences upstream for as long as the encoder is heard', async (t) => {
  t.equal(may('upstream', 'encoder', 1e6, { originOnAir: 'encoder' }), false);
  t.equal(may('upstream', 'encoder', 0, { originOnAir: 'upstream' }), true);
  t.equal(may('upstream', 'encoder', 0, { originOnAir: null }), true);
  t.equal(may('encoder', 'upstream', 0, { originOnAir: 'upstream' }), true);
});

t.test('one’s own title, the fallback and nothing give way to every origin', async (t) => {
  for (const from of RULES.titlesFrom) {
    t.equal(may(from, from, 0, { originOnAir: 'encoder' }), true, from);
    t.equal(may(from, 'fallback', 0), true, from);
    t.equal(
      mayReplace(null, from, () => 0, RULES),
      true,
      from,
    );
  }
});

t.test('the list says who is believed, and whom more', async (t) => {
  for (const from of RULES.titlesFrom) {
    const titlesFrom = RULES.titlesFrom.filter((source) => source !== from);
    t.equal(
      mayReplace(null, from, () => 0, { ...RULES, titlesFrom }),
      false,
      `${from} is left out`,
    );
  }
  const titlesFrom = ['upstream', 'encoder', 'metapush'] as const;
  t.equal(may('encoder', 'metapush', 0, { titlesFrom }), true);
  t.equal(may('encoder', 'upstream', 0, { titlesFrom, originOnAir: 'upstream' }), false);
  t.equal(may('upstream', 'encoder', 0, { titlesFrom, originOnAir: 'encoder' }), true);
  const now = ['encoder', 'upstream'] as const;
  t.equal(
    may('upstream', 'metapush', 0, { titlesFrom: now }),
    true,
    'an origin that is no longer believed outranks none',
  );
});
