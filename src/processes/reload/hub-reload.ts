/**
 * A reload in the hub: channels with their sources come, go and change; workers hear of it before they put the same in force. Owned by
 * hub-process.ts.
 */

import net from 'node:net';
import { portsThatCome } from '../../app/addresses/address.js';
import type { Core } from '../../app/core.js';
import type { Faces } from '../../app/faces.js';
import type { Hub } from '../../app/hub/hub.js';
import { type ReloadSteps, takeConfig } from '../../app/reload.js';
import { measured } from '../../base/watchdog.js';
import type { HubLinks } from '../../link/hub-links.js';

export interface HubReloadParts {
  readonly core: Core;
  readonly faces: Faces;
  readonly hub: Hub;
  readonly links: HubLinks;
  /** The channels have changed in place. */
  onChannels(): void;
}

export function hubReload({ core, faces, hub, links, onChannels }: HubReloadParts): ReloadSteps {
  return {
    prepare: () => undefined,
    // Where it is refused no worker has tried: Node would count that as one of the sockets that they share, and a worker that is started later could
    // not have the port.
    listen: async (next) => {
      for (const place of portsThatCome(core.config, next)) await tryPort(place);
    },
    commit: (next) => {
      measured('reload', () => {
        takeConfig(core, next);
        faces.refresh();
        const { added, removed } = hub.refresh();
        onChannels();
        links.refresh(added, removed);
      });
    },
    discard: () => undefined,
    restore: () => undefined,
  };
}

/** Rejects where nobody can listen there. */
function tryPort(place: { readonly host: string; readonly port: number }): Promise<void> {
  const server = net.createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(place, () => server.close(() => resolve()));
  });
}
