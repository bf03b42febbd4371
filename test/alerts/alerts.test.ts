/** Webhooks over a reload: who stays is named by its place of now, and keeps what waits; without any nothing is in force. */

import t from 'tap';
import { Alerts } from '../../src/alerts/alerts.js';
import { SystemClock } from '../../src/base/clock.js';
import { alertsSchema } from '../../src/config/alerts-config.js';
import { keepLines } from '../kit/log-lines.js';
import { Receiver } from '../kit/receiver.js';
import { until } from '../kit/until.js';

t.test('a webhook whose place a reload changes is logged under its new one', async (t) => {
  const [one, two] = [await Receiver.open(t), await Receiver.open(t)];
  let isUp = false;
  two.answer = (response) => void response.writeHead(isUp ? 204 : 500).end();
  const made = (...all: Receiver[]) =>
    alertsSchema({}).parse({ webhooks: all.map(({ url }) => ({ url })), afterSeconds: 0, retrySeconds: { min: 0.1 } });
  let config = made(one, two);
  const clock = new SystemClock();
  const { log, lines } = keepLines();
  const server = { wallMs: 0, channels: [], hlsFaults: new Map(), slowestSaveMs: 0, freeBytes: null };
  const others = { certificates: [], limits: [], died: {}, skewMs: 0 };
  let storeFault: string | null = 'gone';
  const facts = () => ({ ...server, ...others, storeFault });
  const alerts = new Alerts({ config: () => config, facts, clock, log });
  t.teardown(() => {
    alerts.close();
    clock.stop();
  });
  const places = (text: string) =>
    lines.filter(({ message }) => message.startsWith(text)).map((line) => line['webhook']);
  alerts.look(0);
  await until(() => places('a webhook does not accept alerts').length > 0, 5000);
  config = { ...config, webhooks: config.webhooks.slice(1), name: 'renamed' };
  storeFault = null;
  alerts.look(1000);
  isUp = true;
  await until(() => places('a webhook accepts alerts again').length > 0, 5000);
  await until(() => two.of('store-fault').includes('resolved '), 5000);
  t.strictSame([...new Set(two.of('store-fault'))], ['firing ', 'resolved '], 'what waited when it was renamed');
  t.match(two.received.at(-1)!.body, /"server":"renamed"/);
  t.strictSame([places('a webhook does not'), places('a webhook accepts')], [[2], [1]]);
});

t.test('without a webhook nothing is in force; one that a reload brings gets what is', async (t) => {
  const receiver = await Receiver.open(t);
  const without = alertsSchema({}).parse({ afterSeconds: 0 });
  const config = { ...without, webhooks: alertsSchema({}).parse({ webhooks: [{ url: receiver.url }] }).webhooks };
  let inForce = config;
  const clock = new SystemClock();
  const server = { wallMs: 0, channels: [], hlsFaults: new Map(), slowestSaveMs: 0, freeBytes: null };
  let storeFault: string | null = 'gone';
  const facts = () => ({ ...server, certificates: [], limits: [], died: {}, skewMs: 0, storeFault });
  const alerts = new Alerts({ config: () => inForce, facts, clock, log: keepLines().log });
  t.teardown(() => {
    alerts.close();
    clock.stop();
  });
  alerts.look(0);
  await until(() => receiver.received.length === 1, 5000);
  inForce = without;
  alerts.look(1000);
  t.equal(alerts.firing().size, 0);
  inForce = { ...config, webhooks: [...config.webhooks] };
  alerts.look(2000);
  await until(() => receiver.received.length === 2, 5000);
  t.strictSame(receiver.of('store-fault'), ['firing ', 'firing ']);
  const other = await Receiver.open(t);
  inForce = { ...config, webhooks: alertsSchema({}).parse({ webhooks: [{ url: other.url }] }).webhooks };
  alerts.look(3000);
  await until(() => other.received.length === 1, 5000);
  alerts.look(4000);
  t.strictSame(other.of('store-fault'), ['firing '], 'a URL that was wrong');
  const limited = { webhooks: [{ url: receiver.url, events: ['silence'] }, { url: other.url }] };
  inForce = { ...config, webhooks: alertsSchema({}).parse(limited).webhooks };
  storeFault = null;
  alerts.look(5000);
  await until(() => other.received.length === 2, 5000);
  t.strictSame(other.of('store-fault'), ['firing ', 'resolved '], 'once');
  t.equal(receiver.received.length, 2, 'and nothing that is not wanted');
});
