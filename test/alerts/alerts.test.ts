/** Webhooks over a reload: who stays is named by its place of now. */

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
  const facts = {
    wallMs: 0,
    channels: [],
    storeFault: 'gone',
    hlsFaults: new Map(),
    slowestSaveMs: 0,
    freeBytes: null,
    certificates: [],
    limits: [],
    died: {},
    skewMs: 0,
  };
  const alerts = new Alerts({ config: () => config, facts: () => facts, clock, log });
  t.teardown(() => {
    alerts.close();
    clock.stop();
  });
  const places = (text: string) =>
    lines.filter(({ message }) => message.startsWith(text)).map((line) => line['webhook']);
  alerts.look(0);
  await until(() => places('a webhook does not take alerts').length > 0, 5000);
  config = { ...config, webhooks: config.webhooks.slice(1) };
  alerts.look(1000);
  isUp = true;
  await until(() => places('a webhook takes alerts again').length > 0, 5000);
  t.strictSame([places('a webhook does not'), places('a webhook takes')], [[2], [1]]);
});
