import t from 'tap';
import { bestOfThree } from './best-of-three.js';

t.test('one try that keeps the promise is enough, and none is made after it', async (t) => {
  const times = [100, 49, 10];
  t.equal(await bestOfThree(50, async (attempt) => times[attempt]!), 49);
});

t.test('what is slow each time is slow: the best of three, and no fourth', async (t) => {
  const times = [100, 50, 70, 10];
  t.equal(await bestOfThree(50, async (attempt) => times[attempt]!), 50);
});

t.test('a story that fails fails: it is not tried again', async (t) => {
  let runs = 0;
  const fails = async () => {
    runs++;
    throw new Error('no answer');
  };
  await t.rejects(bestOfThree(50, fails), { message: 'no answer' });
  t.equal(runs, 1);
});
