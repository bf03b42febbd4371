/**
 * The clients of a hub: those of the same process (app/worker/client-side.ts), or those of all workers over their links (linked-clients.ts).
 */

import type { Socket } from 'node:net';
import type { EncoderVerdict } from '../../http/ingest/verdict.js';
import type { SharedMessage } from '../../link/control-schema.js';
import type { Change } from '../../now-playing/state.js';
import type { LimitCounts } from './alert-facts.js';
import type { HubOutput } from './hub.js';
import type { HubAdminOutput } from './hub-admin.js';

export interface HubClients extends Omit<HubOutput, 'onRefreshed'> {
  /** State that all processes share from now on. */
  share(message: SharedMessage): void;
  readonly used: HubAdminOutput['used'];
  /** As AdmissionParts has them (http/ingest/verdict.ts). */
  onAdmitted(socket: Socket): void;
  onVerdict(verdict: EncoderVerdict): void;
  /** The counts of all processes of this server together. */
  counts(): LimitCounts;
  /** Of a channel, in all processes. */
  listenersOf(channel: string): number;
  /** How far the channel's median listener hears behind the live edge, milliseconds. */
  typicalLagMs(channel: string): number;
  /** Whether a change is short enough for them. */
  fits(change: Change): boolean;
  /** The cluster time has moved. */
  onTimeMoved(): void;
}
