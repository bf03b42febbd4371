/** What a request asks of the statistics: times and months at the ends of what can be written. */

import t from 'tap';
import type { Refusal } from '../../../src/base/refusal.js';
import { StatisticsQuery } from '../../../src/http/admin/statistics-query.js';
import { zonedTime } from '../../../src/metadata/time.js';

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati'];
const NOW_MS = Date.UTC(2026, 10, 25);

function subject(timezone: string) {
  return { kind: 'station', key: 'a', timezone, name: 'A', channels: [] } as const;
}

/** From and to as an answer has them, or the fields that are wrong. */
function asked(parameters: string, timezone: string): readonly string[] {
  const query = new StatisticsQuery(new URLSearchParams(parameters));
  const span = parameters.startsWith('month') ? query.month(subject(timezone)) : query.span(subject(timezone), NOW_MS);
  try {
    query.check();
  } catch (error) {
    return (error as Refusal).errors!.map(({ field, message }) => `${field} ${message}`);
  }
  return [span.fromMs, span.beforeMs].map((ms) => zonedTime(ms / 1000, timezone));
}

t.test('the first and the last month, and one more', (t) => {
  for (const zone of ZONES) {
    t.match(asked('month=1970-01', zone), [/^1970-01-01T00:00:00/, /^1970-02-01T00:00:00/], zone);
    t.match(asked('month=9998-12', zone), [/^9998-12-01T00:00:00/, /^9999-01-01T00:00:00/], zone);
    for (const month of ['9999-01', '9999-12', '1969-12', '0000-01'])
      t.match(asked(`month=${month}`, zone), [/^month must be .* 1970 to 9998/], `${month} ${zone}`);
  }
  t.end();
});

t.test('the first and the last moment, and one more', (t) => {
  for (const zone of ZONES) {
    const last = ['9998-12-31', '9998-12-31T23:59:59', '9998-12-31T23:59:59Z', '9998-12-31T23:59:59-12:00'];
    for (const to of ['1970-01-01', '1970-01-01T00:00:00+14:00', ...last])
      t.match(asked(`to=${encodeURIComponent(to)}`, zone), [/^\d{4}-.{20}$/, /^\d{4}-.{20}$/], `${to} ${zone}`);
    for (const to of ['9999-12-31', '9999-12-31T23:59:59Z', '9999-01-01T00:00:00', '1969-12-31'])
      t.match(asked(`from=1970-01-01&to=${to}`, zone), [/^to must be .* 1970 to 9998/], `${to} ${zone}`);
  }
  t.end();
});

t.test('by day, days are those of UTC: each is in one month', (t) => {
  const span = (parameters: string, zone: string) => {
    const { fromMs, beforeMs } = new StatisticsQuery(new URLSearchParams(parameters)).span(
      subject(zone),
      NOW_MS,
      'day',
    );
    return [fromMs, beforeMs].map((ms) => zonedTime(ms / 1000, 'UTC').slice(0, 19));
  };
  for (const zone of ZONES) {
    t.same(span('from=2026-10-01&to=2026-11-01', zone), ['2026-10-01T00:00:00', '2026-11-01T00:00:00'], zone);
    t.same(span('from=2026-11-01', zone), ['2026-11-01T00:00:00', '2026-11-25T00:00:00'], zone);
  }
  t.same(span('from=2026-11-01T00:00:00', 'America/New_York')[0], '2026-11-01T04:00:00', 'a time is what it was');
  t.end();
});
