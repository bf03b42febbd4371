/** All scenarios, in the order in which they run. */

import type { Scenario } from './context.js';
import { channels } from './scenarios/channels.js';
import { cluster } from './scenarios/cluster.js';
import { fanout } from './scenarios/fanout.js';
import { hls } from './scenarios/hls.js';
import { joins } from './scenarios/joins.js';
import { listeners } from './scenarios/listeners.js';
import { loopDelay } from './scenarios/loop-delay.js';
import { polling } from './scenarios/polling.js';
import { profile } from './scenarios/profile.js';
import { pushing } from './scenarios/pushing.js';
import { titled } from './scenarios/titled.js';
import { tls } from './scenarios/tls.js';
import { workers } from './scenarios/workers.js';

export const SCENARIOS: readonly Scenario[] = [
  listeners,
  titled,
  workers,
  joins,
  tls,
  fanout,
  pushing,
  polling,
  cluster,
  channels,
  hls,
  loopDelay,
  profile,
];
