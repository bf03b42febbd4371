/** Channels as an operator sees them: what the hub knows of their sources, and what this process knows of titles and listeners (of all processes). */

import type { ChannelReport, ChannelSources } from '../../admin/channel-rows.js';
import type { LoadedConfig } from '../../config/load.js';
import type { MountStatus } from '../../http/stream/mount-status.js';
import { formatFacts } from '../../listener/cursor/stream-head.js';

export interface ReportParts {
  readonly statuses: readonly MountStatus[];
  readonly config: LoadedConfig;
  /** Pushes of a channel that wait for their time. */
  held(channel: string): number;
}

/** In configured order; without those of which the hub says nothing. */
export function channelReports(
  sources: readonly ChannelSources[],
  { statuses, config, held }: ReportParts,
): ChannelReport[] {
  const bySources = new Map(sources.map((each) => [each.channel, each]));
  const stations = new Map(config.order.flatMap(({ station, channels }) => channels.map((key) => [key, station])));
  return statuses.flatMap((status): ChannelReport[] => {
    const { mount, paths, counts, hlsListeners, title, nextTitle, typicalLagMs, maxListeners } = status;
    const { facts, audio } = mount;
    const { contentType, bitrateKbps, sampleRate, channels } = formatFacts(facts, audio);
    const known = bySources.get(facts.key);
    if (known === undefined) return [];
    return [
      {
        ...known,
        station: stations.get(facts.key) ?? '',
        name: facts.name || facts.key,
        genre: facts.genre,
        description: facts.description,
        mounts: paths,
        listenUrl: paths[0] ?? `/${facts.key}`,
        contentType,
        bitrateKbps,
        sampleRate,
        audioChannels: channels,
        title,
        nextTitle,
        held: held(facts.key),
        listeners: counts.listeners,
        peakListeners: counts.peakListeners,
        connections: counts.connections,
        peakConnections: counts.peakConnections,
        hlsListeners,
        maxListeners: Number.isFinite(maxListeners) ? maxListeners : null,
        lagMs: typicalLagMs === null ? null : Math.round(typicalLagMs),
        isPublic: facts.public === true,
      },
    ];
  });
}
