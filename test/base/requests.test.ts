/** Requests that wait for one peer: each ends once, whatever comes, and however many wait. */

import t from 'tap';
import { Refusal } from '../../src/base/refusal.js';
import { MAX_REQUESTS, Requests, RequestTimeout } from '../../src/base/requests.js';

/** Asks, and says by which id. */
function asked<T>(requests: Requests, options?: Parameters<Requests['ask']>[1]) {
  const ids: number[] = [];
  const answer = requests.ask<T>((id) => ids.push(id), options);
  return { id: ids[0]!, answer };
}

t.test('each gets its own answer, or its error', async (t) => {
  const requests = new Requests();
  const [one, two, three] = [asked(requests), asked(requests), asked(requests, { key: 'by name' })];
  t.not(one.id, two.id);
  requests.answer('by name', 'of three');
  requests.fail(two.id, new Error('it cannot be done'));
  requests.answer(one.id, 'of one');
  t.equal(await one.answer, 'of one');
  await t.rejects(two.answer, { message: 'it cannot be done' });
  t.equal(await three.answer, 'of three');
});

t.test('an answer within the call that sends it', async (t) => {
  const requests = new Requests();
  t.equal(await requests.ask((id) => requests.answer(id, 'at once')), 'at once');
});

t.test('the first end counts: a second answer, one too late and one of an unknown id change nothing', async (t) => {
  const requests = new Requests();
  const twice = asked(requests);
  requests.answer(twice.id, 'first');
  requests.answer(twice.id, 'second');
  requests.fail(twice.id, new Error('third'));
  t.equal(await twice.answer, 'first');
  const late = asked(requests, { timeoutMs: 5 });
  await t.rejects(late.answer, RequestTimeout);
  const next = asked(requests);
  requests.answer(late.id, 'too late');
  requests.answer(4711, 'of another');
  requests.fail('none', new Error('of another'));
  requests.answer(next.id, 'its own');
  t.equal(await next.answer, 'its own');
});

t.test('a time-out ends one request, an answer ends its time-out', async (t) => {
  const requests = new Requests('worker 3');
  const [short, answered, without] = [
    asked(requests, { timeoutMs: 5 }),
    asked(requests, { timeoutMs: 5 }),
    asked(requests),
  ];
  requests.answer(answered.id, 'in time');
  const named = asked(requests, { key: 'by name', timeoutMs: 2 });
  requests.answer('by name', 'in time');
  const sameName = asked(requests, { key: 'by name' });
  await t.rejects(short.answer, { message: 'worker 3 did not answer within 5 ms', name: 'RequestTimeout' });
  t.equal(await answered.answer, 'in time');
  t.equal(await named.answer, 'in time');
  requests.answer('by name', 'not by the time-out of the one before');
  t.equal(await sameName.answer, 'not by the time-out of the one before');
  requests.answer(without.id, 'whenever');
  t.equal(await without.answer, 'whenever');
});

t.test('a peer that is gone: all that wait end; what is asked then waits for the next one', async (t) => {
  const requests = new Requests();
  const all = [asked(requests), asked(requests, { timeoutMs: 5 }), asked(requests, { key: 'by name' })];
  requests.lose(new Error('the peer has ended'));
  for (const { answer } of all) await t.rejects(answer, { message: 'the peer has ended' });
  const next = asked(requests);
  requests.answer(next.id, 'of the next one');
  t.equal(await next.answer, 'of the next one');
});

t.test('a malformed answer is the fault of who gives it: the request goes on waiting', async (t) => {
  const requests = new Requests();
  const read = (answer: unknown) => {
    if (typeof answer !== 'number') throw new Error('not a number');
    return answer + 1;
  };
  const one = asked(requests, { read });
  t.throws(() => requests.answer(one.id, 'x'), { message: 'not a number' });
  requests.answer(one.id, 1);
  t.equal(await one.answer, 2, 'as it was read');
});

t.test('so many wait at most: one more is refused, and not sent', async (t) => {
  const requests = new Requests();
  const all = Array.from({ length: MAX_REQUESTS }, () => asked(requests));
  const more = asked(requests);
  t.equal(more.id, undefined);
  const refusal = await more.answer.catch((error: unknown) => error);
  t.ok(refusal instanceof Refusal && refusal.status === 503);
  requests.answer(all[0]!.id, 'done');
  const again = asked(requests);
  t.ok(again.id, 'in the place of one that has ended');
  requests.lose(new Error('over'));
  t.equal((await Promise.allSettled([...all, again].map(({ answer }) => answer))).length, MAX_REQUESTS + 1);
});
