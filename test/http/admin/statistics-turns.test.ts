/** How many answers of statistics are made and held at once. */

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { Refusal } from '../../../src/base/refusal.js';
import { STATISTICS_TURNS, StatisticsTurns } from '../../../src/http/admin/statistics-turns.js';
import { until } from '../../kit/until.js';

/** Real responses, which nobody answers; they end with their clients. */
async function asked(t: Test, count: number) {
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => void responses.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  for (let i = 0; i < count; i++) fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
  await until(() => responses.length === count, 5000);
  return responses;
}

t.test('one is made at a time, places are held until a response is closed, what is past them is refused', async (t) => {
  const turns = new StatisticsTurns();
  const responses = await asked(t, STATISTICS_TURNS + 2);
  let [running, most] = [0, 0];
  const make = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return most;
  };
  const inTurn = responses.slice(0, STATISTICS_TURNS).map((response) => turns.take(response, make));
  const past = responses.at(-1)!;
  const refusal = await turns.take(past, make).catch((error: unknown) => error);
  t.ok(refusal instanceof Refusal);
  t.match(refusal, { kind: 'unavailable', headers: { 'Retry-After': '2' } });
  await Promise.all(inTurn);
  t.equal(most, 1);
  await t.rejects(turns.take(past, make), /Too many requests for statistics/, 'answers that are made are held still');
  responses[0]!.destroy();
  await until(() => responses[0]!.closed, 5000);
  t.equal(await turns.take(past, make), 1);
  await t.rejects(
    turns.take(responses.at(-2)!, make),
    /Too many requests for statistics/,
    'one place came free, not two',
  );
});

t.test('for one that has gone nothing is made, one that fails holds up nobody', async (t) => {
  const turns = new StatisticsTurns();
  const [one, gone, last] = (await asked(t, 3)) as [ServerResponse, ServerResponse, ServerResponse];
  const failed = turns.take(one, () => Promise.reject(new Error('no store')));
  const nobody = turns.take(gone, async () => t.fail('nobody waits for it'));
  const made = turns.take(last, async () => 'made');
  gone.destroy();
  await t.rejects(failed, /no store/);
  await t.rejects(nobody, /client has disconnected/);
  t.equal(await made, 'made');
});
