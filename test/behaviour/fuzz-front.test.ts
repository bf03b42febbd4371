/** The front and the encoders' acceptors under 20,000 mutated handshakes (test/long: 420,000): no crash, no hang, no socket left, no answer but the known ones. */

import t from 'tap';
import { fuzzFronts } from '../kit/fuzz-front.js';
import { Random } from '../kit/random.js';

// They wait more than they compute.
t.jobs = 4;

t.test('20,000 connections', { timeout: 110_000 }, async (t) => {
  const faults: unknown[] = [];
  const caught = (error: unknown) => void faults.push(error);
  process.on('uncaughtExceptionMonitor', caught);
  const random = new Random();
  const { answers, fed } = await fuzzFronts(random, 20_000);
  t.same(faults, [], `seed ${random.seed}`);
  for (const answer of [
    'OK2',
    'invalid password',
    'HTTP/1.1 100 Continue',
    'HTTP/1.0 200 OK',
    'HTTP/1.0 400 Bad Request',
    '',
  ]) {
    t.ok(
      (answers.get(answer) ?? 0) > 20,
      `${JSON.stringify(answer)} was among the answers ${answers.get(answer)} times`,
    );
  }
  t.ok(fed > 200, `${fed} were let in`);
});
