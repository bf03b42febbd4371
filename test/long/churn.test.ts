/** Memory stays flat over 5,000 joins and leaves. The short form is test/behaviour/churn.test.ts. */

import t from 'tap';
import { churn } from '../kit/churn.js';

t.test('5,000 listeners come and go', { timeout: 300_000 }, (t) => churn(t, 5000));
