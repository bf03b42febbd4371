/**
 * The process of the attackers, so that what they cost is not measured with what they do. Started by kit/attackers.ts with the arena's
 * port; each message names attacks that go on together, and is answered when all are over.
 */

import { setMaxListeners } from 'node:events';
import { Random } from '../kit/random.js';
import { ATTACKS, type AttackName } from './index.js';

export interface Order {
  readonly id: number;
  readonly names: readonly AttackName[];
  readonly seed: number;
  readonly ms: number;
}

export interface Outcome {
  readonly id: number;
  /** What the server did to an attacker that it must not; '' is all right. */
  readonly finding: string;
}

const port = Number(process.argv[2]);

process.on('message', async ({ id, names, seed, ms }: Order) => {
  const random = new Random(seed);
  const signal = AbortSignal.timeout(ms);
  setMaxListeners(0, signal);
  const findings = await Promise.all(
    names.map((name) =>
      ATTACKS[name](port, new Random(random.int(0, 2 ** 31)), signal).then(
        () => '',
        (error: Error) => `${name}: ${error.message}`,
      ),
    ),
  );
  process.send!({ id, finding: findings.filter((finding) => finding !== '').join('; ') } satisfies Outcome);
});
process.on('disconnect', () => process.exit());
process.on('uncaughtException', (error) => console.error('attacker:', error));
