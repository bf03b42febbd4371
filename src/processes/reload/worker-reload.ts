/**
 * A reload in a worker: what clients reach. The hub has the new text in force already, and has said what it knows of channels that are new.
 * Owned by worker.ts.
 */

import type { Addresses, NextAddresses } from '../../app/addresses/addresses.js';
import type { Core } from '../../app/core.js';
import type { Faces } from '../../app/faces.js';
import { takeConfig } from '../../app/reload.js';
import type { Worker } from '../../app/worker/worker.js';
import { measured } from '../../base/watchdog.js';
import type { ServedChannel } from '../../channel/served.js';
import { channelsOf } from '../../config/adopt.js';
import type { WorkerLink } from '../../link/worker-link.js';
import type { ReloadSteps } from './child-reloads.js';

export interface WorkerReloadParts {
  readonly core: Core;
  readonly faces: Faces;
  readonly link: WorkerLink;
  readonly worker: Worker;
  readonly addresses: Addresses;
  /** The same map as the worker's. */
  readonly channels: Map<string, ServedChannel>;
  /** Whether it takes connections; a worker of before a restart does not, and listens nowhere. */
  takesConnections(): boolean;
  /** A channel as clients meet it. */
  serve(channel: string): ServedChannel;
  /** What is on air there, for the statistics. */
  onAdded(channel: string): void;
}

export function workerReload(parts: WorkerReloadParts): ReloadSteps {
  const { core, link, addresses } = parts;
  let ports: NextAddresses | null = null;
  return {
    prepare: (next) => {
      ports = parts.takesConnections() ? addresses.next(next) : null;
      ports?.makeWay();
    },
    listen: async () => await ports?.listen(),
    commit: async (next) => {
      await link.known([...channelsOf(next).keys()].filter((key) => !parts.channels.has(key)));
      ports?.take();
      measured('reload', () => take(parts, takeConfig(core, next)));
    },
    discard: () => ports?.discard(),
    restore: async () => await ports?.restore(),
  };
}

function take(
  { faces, link, worker, channels, serve, onAdded }: WorkerReloadParts,
  { isHookChanged }: ReturnType<typeof takeConfig>,
): void {
  faces.refresh();
  const before = new Map(channels);
  const added: string[] = [];
  channels.clear();
  for (const key of faces.byChannel.keys()) {
    const known = before.get(key);
    before.delete(key);
    known?.refresh();
    if (known === undefined) added.push(key);
    channels.set(key, known ?? serve(key));
  }
  const removed = [...before.keys()];
  for (const key of added) onAdded(key);
  worker.refresh({ added, removed }, isHookChanged);
  link.forget(removed);
}
