/** The keys of TLS session tickets and HLS tokens, put together where the channels are: which of several machines makes them. */

import { SealedTurn } from '../../cluster/sealed-turn.js';
import type { Leased } from '../../cluster/tapes/leases.js';
import { hasHls } from '../../config/hls-config.js';
import { ticketKeysSchema } from '../../link/ticket-keys-schema.js';
import { SessionTickets, type TicketKeys } from '../../net/tls/session-tickets.js';
import type { Core } from '../core.js';
import { badRecords } from './bad-records.js';

/** Of the lease: no channel has a slash in its key. */
const LEASE = 'tls/tickets';

export interface HubTickets {
  readonly tickets: SessionTickets;
  /** By which machines agree who makes them, where they have a secret in common. */
  leased(): Iterable<readonly [name: string, leased: Leased]>;
}

export function makeTickets({ config, clock, repeats }: Core, onKeys: (keys: TicketKeys) => void): HubTickets {
  const tapes = config.cluster?.tapes;
  const onBad = badRecords(repeats);
  const turn =
    tapes === undefined
      ? null
      : new SealedTurn<TicketKeys>({
          name: LEASE,
          label: 'airsplice tickets 1',
          node: config.cluster!.node,
          secret: tapes.secret.export(),
          schema: ticketKeysSchema,
          onBad: (reason) => onBad(LEASE, reason),
        });
  const isNeeded = () => config.addresses.some(({ tls }) => tls !== undefined) || hasHls(config);
  return {
    tickets: new SessionTickets({ clock, turn, isNeeded, onKeys }),
    *leased() {
      if (turn !== null && isNeeded()) yield [LEASE, turn];
    },
  };
}
