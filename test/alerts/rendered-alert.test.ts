/** An alert in each format, as services read it. */

import t from 'tap';
import type { Alert } from '../../src/alerts/alert.js';
import { render } from '../../src/alerts/rendered-alert.js';
import { ALERT_FORMATS } from '../../src/config/alerts-config.js';

const ALERT: Alert = {
  id: '1',
  event: 'no-audio',
  subject: 'jazz',
  channel: 'jazz',
  severity: 'critical',
  state: 'firing',
  summary: 'Channel jazz has no audio',
  fields: { station: 'house', onAir: null },
  flaps: 0,
  sinceMs: Date.UTC(2026, 0, 31, 12),
  atMs: Date.UTC(2026, 0, 31, 12, 0, 10),
};
const LINE = '[radio <1> & co] ALERT: Channel jazz has no audio';
const read = (alert: Alert, format: (typeof ALERT_FORMATS)[number]) =>
  JSON.parse(render(alert, format, 'radio <1> & co').body);

t.test('json: Standard Webhooks, every member', async (t) => {
  t.strictSame(read(ALERT, 'json'), {
    type: 'alert.firing',
    timestamp: '2026-01-31T12:00:10.000Z',
    data: {
      id: '1',
      event: 'no-audio',
      state: 'firing',
      severity: 'critical',
      server: 'radio <1> & co',
      channel: 'jazz',
      subject: 'jazz',
      summary: 'Channel jazz has no audio',
      since: '2026-01-31T12:00:00.000Z',
      flaps: 0,
      station: 'house',
      onAir: null,
    },
  });
  const { channel: _, ...server } = ALERT;
  t.match(read({ ...server, state: 'resolved' }, 'json'), { type: 'alert.resolved', data: { channel: null } });
});

t.test('chats', async (t) => {
  t.strictSame(read(ALERT, 'slack'), { text: '[radio &lt;1&gt; &amp; co] ALERT: Channel jazz has no audio' });
  t.strictSame(read(ALERT, 'discord'), { content: LINE, allowed_mentions: { parse: [] } });
  const { type, attachments } = read(ALERT, 'teams');
  t.equal(type, 'message');
  t.match(attachments[0].content, {
    type: 'AdaptiveCard',
    body: [{ text: LINE, color: 'Attention' }, { facts: [{ title: 'event', value: 'no-audio' }] }],
  });
  t.equal(read({ ...ALERT, state: 'resolved' }, 'teams').attachments[0].content.body[0].color, 'Good');
});

t.test('mail: a subject, an empty line, the rest', async (t) => {
  const { type, body } = render({ ...ALERT, state: 'resolved', flaps: 3 }, 'mail', 'radio1');
  t.equal(type, 'text/plain; charset=utf-8');
  t.strictSame(body.split('\n'), [
    'Subject: [radio1] RESOLVED: Channel jazz has no audio',
    '',
    'Channel jazz has no audio',
    '',
    'server: radio1',
    ...['event: no-audio', 'severity: critical', 'channel: jazz', 'since: 2026-01-31T12:00:00.000Z'],
    ...['until: 2026-01-31T12:00:10.000Z', 'flaps: 3', 'station: house', 'onAir: -', ''],
  ]);
});

t.test('all of them are there', async (t) => {
  for (const format of ALERT_FORMATS) t.ok(render(ALERT, format, 'x').body.includes('Channel jazz has no audio'));
});
