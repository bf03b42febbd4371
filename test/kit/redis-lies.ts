/** Writes of a foreign program into the Redis of a cluster. */

import type { Random } from './random.js';
import type { RedisServer } from './redis.js';

/** Words of Redis commands. */
const JUNK = [
  `''`,
  '0',
  '-1',
  '1e300',
  '99999999999999999999',
  'text',
  '[]',
  `'{}'`,
  'null',
  `'{"state":{"version":-1}}'`,
];
const PLACES = [
  ...[
    ['meta', 'stamp'],
    ['version', 'live'],
    ['last', 'live'],
    ['done', '"a live"'],
  ],
  ...[
    ['owner', 'live'],
    ['facts', 'live'],
    ['node', 'c'],
    ['node', 'nobody'],
  ],
] as const;
/** Adds the next entry of the log for channel `live`, with this as the agreed change. */
const ENTRY = [
  `local seq = redis.call('HINCRBY', 'airsplice:meta', 'seq', 1)`,
  `return redis.call('XADD', 'airsplice:log', seq .. '-0', 'c', 'live', 'v', '1', 'p', 'junk', 'n', 'z', 's', '0', 'o', ARGV[1], 'h', '[]')`,
].join(' ');

/** One write of each kind, by seed: its name, and its function. */
export function liesIn(
  redis: RedisServer,
  random: Random,
): readonly (readonly [name: string, lie: () => Promise<void>])[] {
  const junk = JUNK[random.int(0, JUNK.length - 1)]!;
  const [key, field] = PLACES[random.int(0, PLACES.length - 1)]!;
  return [
    [
      `Redis has ${junk} as ${key} ${field}`,
      async () => void (await redis.ask(`HSET airsplice:${key} ${field} ${junk}`)),
    ],
    [`Redis has an entry ${junk}`, async () => void (await redis.ask(`EVAL "${ENTRY}" 0 ${junk}`))],
  ];
}
