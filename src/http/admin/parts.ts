/** The rest of the server, as the admin interface uses it; wired in app/worker/network.ts. */

import type { IncomingMessage } from 'node:http';
import type { AdminQueries } from '../../admin/admin-queries.js';
import type { ChannelReport } from '../../admin/channel-rows.js';
import type { Log } from '../../base/log.js';
import type { PushInput, PushLimits } from '../../metadata/push-input.js';
import type { Track } from '../../metadata/record.js';
import type { InForce } from '../../titles/pushes.js';
import type { AdminAccess } from './admin-access.js';

/** See titles/pushes.ts. */
export interface AdminTitles {
  push(channel: string, input: PushInput, connection?: string): Promise<{ readonly json: string }>;
  withdraw(channel: string, what: { readonly held: string } | 'next'): Promise<boolean>;
  held(channel: string): readonly Track[];
  inForce(channel: string): InForce | null;
}

export interface AdminParts {
  readonly access: AdminAccess;
  /** How the client reaches this server (http/stream/public-url.ts). */
  reachedBy(request: IncomingMessage): { readonly base: string; readonly host: string };
  /** Whether the client uses https. */
  isSecure(request: IncomingMessage): boolean;
  readonly queries: AdminQueries;
  readonly log: Log;
  readonly titles: AdminTitles;
  readonly pushLimits: () => PushLimits;
  /** Takes one push from the rate of the channel, shared with pushes by token. @throws Refusal too-many */
  takePush(channel: string): void;
  /** The Server header. */
  readonly server: string;
  readonly startedMs: number;
  /** Keys of the channels, in configured order. */
  keys(): readonly string[];
  channels(): Promise<readonly ChannelReport[]>;
  /** The number of a channel's push tokens in the configuration. */
  configuredTokens(channel: string): number;
  /** Reloads the configuration; resolves with the changes, rejects with the reason why it was not applied. */
  reload(): Promise<string>;
  maxRefusals(): number;
  /** Limit on simultaneous live streams. */
  maxStreams(): number;
  wallMs(): number;
}
