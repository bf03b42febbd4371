/** Webhooks over a reload: who stays is named by its place of now, and keeps what waits. */

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
  await until(() => places('a webhook does not take alerts').length > 0, 5000);
  config = { ...config, webhooks: config.webhooks.slice(1), name: 'renamed' };
  storeFault = null;
  alerts.look(1000);
  isUp = true;
  await until(() => places('a webhook takes alerts again').length > 0, 5000);
  await until(() => two.of('store-fault').includes('resolved '), 5000);
  t.strictSame([...new Set(two.of('store-fault'))], ['firing ', 'resolved '], 'what waited when it was renamed');
  t.match(two.received.at(-1)!.body, /"server":"renamed"/);
  t.strictSame([places('a webhook does not'), places('a webhook takes')], [[2], [1]]);
});
