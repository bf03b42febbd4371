/**
 * Delivery to a real receiver: what it gets is signed as a library of Standard Webhooks checks it, comes again after a failure, in order, and never
 * more than may wait. What is logged names neither URL nor secret.
 */

import { createSecretKey, randomUUID } from 'node:crypto';
import { Webhook as Verifier } from 'standardwebhooks';
import t, { type Test } from 'tap';
import type { Alert } from '../../src/alerts/alert.js';
import { Webhook } from '../../src/alerts/webhook.js';
import { SystemClock } from '../../src/base/clock.js';
import type { WebhookConfig } from '../../src/config/alerts-config.js';
import type { DeliveryOptions } from '../../src/net/outbound/delivery.js';
import { Receiver } from '../kit/receiver.js';
import { until } from '../kit/until.js';

t.jobs = 4;

const KEY = Buffer.from('0123456789abcdef0123456789abcdef');

function alert(subject: string, more: Partial<Alert> = {}): Alert {
  return {
    id: randomUUID(),
    event: 'no-audio',
    subject,
    channel: subject,
    severity: 'critical',
    state: 'firing',
    summary: `Channel ${subject} has no audio`,
    fields: {},
    flaps: 0,
    sinceMs: 0,
    atMs: 0,
    ...more,
  };
}

function opened(t: Test, receiver: Pick<Receiver, 'url'>, options: Partial<DeliveryOptions> = {}, config: object = {}) {
  const all: DeliveryOptions = {
    timeoutSeconds: 2,
    retrySeconds: { min: 0.1, max: 0.4 },
    giveUpSeconds: 60,
    waiting: 100,
    ...options,
  };
  const clock = new SystemClock();
  const troubles: (string | null)[] = [];
  const whole: WebhookConfig = { url: receiver.url, format: 'json', secret: createSecretKey(KEY), ...config };
  const webhook = new Webhook(
    whole,
    () => 'radio1',
    () => all,
    clock,
    {
      onTrouble: (reason) => void troubles.push(reason),
      onRecovered: () => void troubles.push(null),
    },
  );
  t.teardown(() => {
    webhook.close();
    clock.stop();
  });
  return { webhook, troubles };
}

t.test('signed as Standard Webhooks are', async (t) => {
  const receiver = await Receiver.open(t);
  const { webhook } = opened(t, receiver);
  const sent = alert('jazz');
  webhook.send(sent);
  await until(() => webhook.counts.delivered === 1, 5000);
  const [{ headers, body, path }] = receiver.received as [Receiver['received'][number]];
  t.equal(path, '/hook');
  t.equal(headers['content-type'], 'application/json');
  t.equal(headers['webhook-id'], sent.id);
  const verifier = new Verifier(`whsec_${KEY.toString('base64')}`);
  t.match(verifier.verify(body, headers as Record<string, string>), {
    type: 'alert.firing',
    data: { channel: 'jazz' },
  });
  t.throws(() => verifier.verify(`${body} `, headers as Record<string, string>), 'one byte more');
  const other = new Verifier(`whsec_${Buffer.alloc(32).toString('base64')}`);
  t.throws(() => other.verify(body, headers as Record<string, string>), 'another key');
});

t.test('without a secret there is no signature', async (t) => {
  const receiver = await Receiver.open(t);
  const { webhook } = opened(t, receiver, {}, { secret: undefined, format: 'mail' });
  webhook.send(alert('jazz'));
  await until(() => receiver.received.length === 1, 5000);
  t.equal(receiver.received[0]!.headers['webhook-signature'], undefined);
  t.match(receiver.received[0]!.body, /^Subject: \[radio1] ALERT: Channel jazz has no audio\n\n/);
});

t.test('after failures it comes again with the same id, in order, later each time', async (t) => {
  const receiver = await Receiver.open(t);
  const answers = [500, 302, 404];
  receiver.answer = (response, number) => void response.writeHead(answers[number] ?? 200, { location: '/x' }).end('no');
  const { webhook, troubles } = opened(t, receiver);
  for (const subject of ['a', 'b', 'c']) webhook.send(alert(subject));
  await until(() => webhook.counts.delivered === 3, 10_000);
  t.strictSame(
    receiver.alerts.map(({ subject }) => subject),
    ['a', 'a', 'a', 'a', 'b', 'c'],
  );
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  t.equal(new Set(ids.slice(0, 4)).size, 1);
  t.equal(new Set(ids).size, 3);
  const times = receiver.received.map(({ atMs }) => atMs);
  t.ok(times[1]! - times[0]! >= 70, 'min, less a quarter');
  t.ok(times[3]! - times[2]! >= 290, 'four times as long');
  t.strictSame(troubles, ['status 500', null], 'the first failure in a row');
  t.match(webhook.counts, { delivered: 3, failed: 3, dropped: 0 });
});

t.test('Retry-After is heeded, up to the longest pause', async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response, number) =>
    void response.writeHead(number % 2 === 0 ? 503 : 200, { 'retry-after': number === 0 ? '3600' : '315360000' }).end();
  const { webhook } = opened(t, receiver);
  for (const [i, subject] of ['a', 'b: ten years'].entries()) {
    webhook.send(alert(subject));
    await until(() => webhook.counts.delivered === i + 1, 5000);
    t.ok(receiver.received[2 * i + 1]!.atMs - receiver.received[2 * i]!.atMs >= 390, subject);
  }
});

t.test('no answer, or none at all: the deadline, and again', async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response, number) => {
    if (number === 1) response.socket!.destroy();
    else if (number === 2) response.writeHead(200).end();
  };
  const { webhook, troubles } = opened(t, receiver, { timeoutSeconds: 0.3 });
  webhook.send(alert('a'));
  await until(() => webhook.counts.delivered === 1, 10_000);
  t.equal(receiver.received.length, 3);
  t.strictSame(troubles, ['no answer in time', null]);
});

t.test('of more than may wait the oldest goes; one past the limit', async (t) => {
  const receiver = await Receiver.open(t);
  let isOpen = false;
  receiver.answer = (response) => void response.writeHead(isOpen ? 200 : 500).end();
  const { webhook } = opened(t, receiver, { waiting: 3 });
  // The first is under way.
  for (const subject of ['a', 'b', 'c', 'd']) webhook.send(alert(subject));
  t.equal(webhook.counts.dropped, 0);
  t.equal(webhook.waiting, 4);
  webhook.send(alert('e'));
  t.equal(webhook.counts.dropped, 1);
  t.equal(webhook.waiting, 4);
  await until(() => receiver.received.length >= 1, 5000);
  isOpen = true;
  await until(() => webhook.waiting === 0, 10_000);
  t.strictSame([...new Set(receiver.alerts.map(({ subject }) => subject))], ['a', 'c', 'd', 'e']);
});

t.test('it is given up after a while, and at once where the receiver is gone for good', async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response, number) => void response.writeHead(number === 0 ? 410 : 500).end();
  const { webhook } = opened(t, receiver, { giveUpSeconds: 1 });
  webhook.send(alert('a'));
  await until(() => webhook.counts['given-up'] === 1, 5000);
  t.equal(receiver.received.length, 1);
  webhook.send(alert('b'));
  await until(() => webhook.counts['given-up'] === 2, 5000);
  t.ok(receiver.received.length > 2, 'it was tried');
  t.equal(webhook.waiting, 0);
});

t.test('nobody listens there: the reason holds nothing of the URL', async (t) => {
  const { webhook, troubles } = opened(t, { url: 'http://127.0.0.1:1/secret-path?token=hush' });
  webhook.send(alert('a'));
  await until(() => troubles.length === 1, 5000);
  t.strictSame(troubles, ['ECONNREFUSED']);
});

t.test('who wants what', async (t) => {
  const { webhook } = opened(t, { url: 'http://x' }, {}, { events: ['no-audio', 'disk-full'], channels: ['a'] });
  const { channel: _, ...server } = alert('');
  t.ok(webhook.wants(alert('a')));
  t.notOk(webhook.wants(alert('b')));
  t.notOk(webhook.wants(alert('a', { event: 'silence' })));
  t.ok(webhook.wants({ ...server, event: 'disk-full' }), 'what is about no channel');
});
