import t from 'tap';
import { patient, until, untilPromised } from './until.js';

t.test('what is promised in 40 ms is awaited for so long; what only has to come, for longer', async (t) => {
  const after = (ms: number) => {
    const startMs = performance.now();
    return () => performance.now() - startMs > ms;
  };
  await t.rejects(
    untilPromised(
      () => false,
      40,
      () => 'nothing came',
    ),
    { message: /waited 40 ms in vain. nothing came/ },
  );
  if (patient(1) >= 4) await until(after(100), 40);
  await t.rejects(
    until(() => false, 40),
    { message: `waited ${patient(40)} ms in vain. ` },
  );
});

t.test('of a time in which the process stands still only a part counts', async (t) => {
  let looks = 0;
  await untilPromised(() => {
    const endMs = performance.now() + 200;
    while (looks < 3 && performance.now() < endMs);
    return ++looks > 3;
  }, 300);
  t.equal(looks, 4, '600 ms of standing still are 150');
});
