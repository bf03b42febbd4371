/**
 * Whom a hub serves, as it reaches them: the clients of the same process (app/worker/client-side.ts), or those of all workers over their links
 * (linked-clients.ts).
 */

import type { Socket } from 'node:net';
import type { EncoderVerdict } from '../../http/ingest/verdict.js';
import type { SharedMessage } from '../../link/control-messages.js';
import type { Change } from '../../now-playing/state.js';
import type { LimitCounts } from './alert-facts.js';
import type { HubOutput } from './hub.js';
import type { HubAdminOutput } from './hub-admin.js';

export interface HubClients extends Omit<HubOutput, 'onRefreshed'> {
  /** What all processes have to know from now on. */
  share(message: SharedMessage): void;
  readonly used: HubAdminOutput['used'];
  /** As AdmissionParts has them (http/ingest/verdict.ts). */
  onAdmitted(socket: Socket): void;
  onVerdict(verdict: EncoderVerdict): void;
  /** What is counted of this server, all its processes together. */
  counts(): LimitCounts;
  /** Of a channel, in all processes. */
  listenersOf(channel: string): number;
  /** How far the channel's median listener hears behind the live edge, milliseconds. */
  typicalLagMs(channel: string): number;
  /** Whether a change is short enough for them. */
  fits(change: Change): boolean;
  /** The time that all machines have in common is another one. */
  onTimeMoved(): void;
}
