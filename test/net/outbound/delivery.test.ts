/** Messages to one receiver: how long each is tried. */

import t, { type Test } from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { Delivery, type DeliveryOptions } from '../../../src/net/outbound/delivery.js';
import { Receiver } from '../../kit/receiver.js';
import { until } from '../../kit/until.js';

async function made(t: Test, more: Partial<DeliveryOptions>) {
  const receiver = await Receiver.open(t);
  const clock = new SystemClock();
  const options = { timeoutSeconds: 10, retrySeconds: { min: 0.05, max: 60 }, giveUpSeconds: 1, waiting: 10, ...more };
  const delivery = new Delivery(() => options, clock, { onTrouble: () => undefined, onRecovered: () => undefined });
  t.teardown(() => {
    delivery.close();
    clock.stop();
  });
  const message = { id: '', url: receiver.url, method: 'POST', headers: {}, key: null } as const;
  return { receiver, delivery, send: (body: string) => delivery.send({ ...message, body }) };
}

t.test('each message is tried until its time is over, however long the receiver was away before', async (t) => {
  const { receiver, delivery, send } = await made(t, {});
  let isUp = false;
  receiver.answer = (response) => void response.writeHead(isUp ? 204 : 500).end();
  const beganMs = performance.now();
  send('one');
  await until(() => delivery.counts['given-up'] === 1, 10_000);
  t.ok(performance.now() - beganMs >= 1000, `given up after ${performance.now() - beganMs} ms`);
  send('two');
  await until(() => receiver.received.at(-1)!.body === 'two', 10_000);
  isUp = true;
  await until(() => delivery.counts.delivered === 1, 10_000);
  t.equal(delivery.counts['given-up'], 1);
});

t.test('but not where the receiver asks for more time, or says that it is gone', async (t) => {
  for (const [status, headers] of [
    [429, { 'retry-after': '5' }],
    [410, {}],
  ] as const) {
    const { receiver, delivery, send } = await made(t, {});
    receiver.answer = (response) => void response.writeHead(status, headers).end();
    const beganMs = performance.now();
    send('one');
    await until(() => delivery.counts['given-up'] === 1, 10_000);
    t.ok(performance.now() - beganMs < 1000, `${status}`);
    t.equal(receiver.received.length, 1);
  }
});
