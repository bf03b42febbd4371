/** Directories of streams, put together where the channels are, and what metrics show of them. */

import type { SendingTurns } from '../../cluster/sending-turns.js';
import { Directories } from '../../directories/directories.js';
import type { YpChannel } from '../../directories/yp.js';
import { audioInfoOf, formatFacts } from '../../listener/cursor/stream-head.js';
import { RecordView } from '../../metadata/view.js';
import type { Core } from '../core.js';
import type { Faces } from '../faces.js';
import type { MetricRegistry } from '../metrics/registry.js';
import type { Hub } from './hub.js';

export interface HubDirectoryParts {
  readonly hub: Hub;
  readonly faces: Faces;
  /** Null: this machine is alone. */
  readonly turns: SendingTurns | null;
  /** Of a channel, in all processes. */
  listenersOf(channel: string): number;
}

/** Codecs of Ogg as directories know them. */
const SUBTYPES: Readonly<Record<string, string>> = { vorbis: 'Vorbis', opus: 'Opus', flac: 'FLAC' };

export function makeDirectories(core: Core, parts: HubDirectoryParts, registry: MetricRegistry): Directories {
  const { config, clock, log } = core;
  const { hub, faces, turns, listenersOf } = parts;
  const directories = new Directories({
    config,
    clock,
    log,
    isTurn: (channel) => turns === null || turns.has(channel),
    onChannels: (channels) => turns?.set('directories', channels),
    listedOf: (channel, last) => listedOf(core, hub, channel, last),
    nowOf: (channel) => {
      const { now } = hub.engine.state(channel);
      const face = faces.byChannel.get(channel);
      const { maxListeners } = hub.channels.get(channel)!.served.mounts[0]!;
      return {
        title: now === null || face === undefined ? '' : new RecordView(now, face).title,
        listeners: listenersOf(channel),
        maxListeners: Math.min(maxListeners, config.limits.listeners),
      };
    },
  });
  observeDirectories(registry, directories);
  return directories;
}

function listedOf({ config, clock }: Core, hub: Hub, channel: string, last: YpChannel | null): YpChannel | null {
  const served = hub.channels.get(channel)?.served;
  const mount = served?.mounts[0];
  if (served === undefined || mount === undefined) return null;
  const { facts, audio, access } = mount;
  // What an encoder says of itself opens no channel that is closed to most.
  if (access !== 'open' && !served.isPublic) return null;
  const { onAir, silentSinceMs } = served.live;
  // Without audio for as long as listeners stay.
  const stays = last !== null && clock.now() - silentSinceMs <= config.streams.silenceSeconds * 1000;
  // While no source is on air, what one has said of it stands.
  const before = onAir === null ? last : null;
  const isPublic = facts.public ?? (before !== null && stays);
  if (!isPublic || !(mount.hasAudio || mount.onDemand || stays)) return null;
  const { contentType, bitrateKbps } = formatFacts(facts, audio);
  const path = served.mounts[1]?.path ?? mount.path;
  return {
    name: before !== null && facts.name === channel ? before.name : facts.name,
    genre: facts.genre || (before?.genre ?? ''),
    description: facts.description || (before?.description ?? ''),
    url: facts.url || (before?.url ?? ''),
    listenUrl: config.streams.publicUrl.replace(/\/+$/, '') + path,
    type: before?.type ?? contentType,
    subtype: before?.subtype ?? SUBTYPES[mount.sends ?? ''] ?? '',
    bitrateKbps,
    audioInfo: audioInfoOf(facts, audio),
  };
}

function observeDirectories(registry: MetricRegistry, directories: Directories): void {
  registry.counter(
    'airsplice_directory_calls_total',
    'Calls to stream directories; directory: its number in the configuration, from 1; failed: not the answer of a directory',
    ['directory', 'action', 'outcome'],
    (set) => {
      for (const [i, { counts }] of directories.all.entries())
        for (const [action, outcomes] of Object.entries(counts))
          for (const [outcome, count] of Object.entries(outcomes)) set({ directory: i + 1, action, outcome }, count);
    },
  );
  registry.gauge('airsplice_directory_listings', 'Channels that a directory lists', ['directory'], (set) => {
    for (const [i, { listed }] of directories.all.entries()) set({ directory: i + 1 }, listed);
  });
}
