/** All attacks by name, in the rooms where they live. */

import type { Attack } from './attack.js';
import * as forgers from './forgers.js';
import * as guessers from './guessers.js';
import * as heads from './heads.js';
import * as hoarders from './hoarders.js';
import * as pipelines from './pipelines.js';
import * as readers from './readers.js';
import * as upgrades from './upgrades.js';
import * as upstreams from './upstreams.js';
import * as volleys from './volleys.js';
import * as websockets from './websockets.js';

const { forgedPiece: _, ...forgerAttacks } = forgers;

export const ATTACKS = {
  ...pipelines,
  ...upgrades,
  ...hoarders,
  ...guessers,
  ...forgerAttacks,
  ...upstreams,
  ...readers,
  ...websockets,
  ...volleys,
  ...heads,
} as const satisfies Readonly<Record<string, Attack>>;

export type AttackName = keyof typeof ATTACKS;
