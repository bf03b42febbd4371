/** Hub and workers killed, stopped and replaced by seed, under load (three minutes). */

import t from 'tap';
import { type Act, processStory } from '../kit/process-story.js';
import { Random } from '../kit/random.js';

t.setTimeout(400_000);

t.test('rolling restarts, 300 listeners', (t) =>
  processStory(t, new Random(), { listeners: 300, acts: ['restart', 'restart', 'restart'] }),
);

t.test('processes are killed and stopped, and replaced meanwhile', (t) => {
  const random = new Random();
  const all: readonly Act[] = ['restart', 'kill hub', 'stop hub', 'kill worker', 'stop worker'];
  const acts = Array.from({ length: 12 }, (_, i) => all[i < all.length ? i : random.int(0, all.length - 1)]!);
  return processStory(t, random, { listeners: 100, acts });
});
