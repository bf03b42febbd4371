/** A node of a cluster, and its view of the others (src/cluster/README.md): one schema for the type and for the API document (docs/schemas.ts). */

import * as z from 'zod';
import type { Plain } from '../metadata/record-schema.js';

const text = (description: string) => z.string().describe(description);
const number = (description: string) => z.number().describe(description);
const count = (description: string) => z.int().min(0).describe(description);

const log = z
  .strictObject({
    place: z.enum(['Redis', 'an origin', 'here']).describe('Where the log of changes is.'),
    reached: z.boolean().describe('Whether it can be reached.'),
    behindSeconds: number('Seconds since it was last read to its end; normally less than 2.'),
    clockSeconds: number('Seconds by which the clock of this machine is ahead of the clock there.'),
    waitingChanges: count('Number of changes not yet sent there.'),
    position: count('The number of the last change read here.'),
  })
  .meta({ title: 'What all machines have in common, as this machine has it' });
/** The location of the cluster's shared log: in Redis, at an origin, in this process. */
export type ClusterPlace = z.output<typeof log>['place'];

const machine = z
  .strictObject({ node: text('Its name.'), seenSeconds: number('Seconds since it was last seen.') })
  .meta({ title: 'A machine that shares audio' });
const feeder = z
  .strictObject({
    channelkey: text("The channel's key."),
    owner: text('The machine that feeds it; "": none.'),
    epoch: count('Rises with each new owner.'),
    phase: z.enum(['waiting', 'owning', 'taking', 'following']).describe('The state of the channel at this machine.'),
  })
  .meta({ title: 'Who feeds a channel' });

export const clusterReport = z.strictObject({
  node: text('Its name.'),
  log,
  warnings: z
    .array(z.string())
    .describe(
      'Faults to correct: a wrong clock, a channel with other settings at another machine. The server keeps working.',
    ),
  nodes: z.array(machine).describe('Up to some seconds old.'),
  channels: z.array(feeder).describe('Empty: audio is not shared.'),
});
export type ClusterReport = Plain<z.output<typeof clusterReport>>;
