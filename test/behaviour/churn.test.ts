/** Memory stays flat over 1,000 joins and leaves: the short form of test/long/churn.test.ts. */

import t from 'tap';
import { churn } from '../kit/churn.js';

// They wait more than they compute.
t.jobs = 4;

t.test('1,000 listeners come and go', (t) => churn(t, 1000));
