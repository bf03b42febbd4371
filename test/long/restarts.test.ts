/** 300 restarts of an encoder with 50 listeners connected: none lost, all phases right (a minute and a half: its audio takes its time). */

import t from 'tap';
import { Random } from '../kit/random.js';
import { restartStory } from '../kit/restarts.js';

t.setTimeout(600_000);

t.test('300 restarts, 50 listeners', (t) => restartStory(t, new Random(), 300, 50));
