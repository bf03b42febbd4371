/**
 * Statistics in Icecast's formats: `/status-json.xsl` of 2.4 (members in its order, `source` an object for one, an array for several,
 * absent for none, `dummy` at the end), and the same as XML, as `/admin/publicstats` of 2.5. Monitoring scripts rely on exactly these
 * formats, so all names are Icecast's; only `connections` and `typical_lag` are ours.
 *
 * A channel is one source, named by its first configured mount, or by the one in the query.
 */

import { audioInfoOf, formatFacts } from '../../listener/cursor/stream-head.js';
import { elements, icecastTimes, type StatusMembers } from '../markup.js';
import { isOnAir, type MountStatus, type StatusFacts } from './mount-status.js';
import type { Reached } from './shared-text.js';

interface IcecastSource {
  readonly path: string;
  readonly members: StatusMembers;
}

/** @param path only the channel with this mount; null: all */
export function statusJson(facts: StatusFacts, reached: Reached, path: string | null = null): string {
  const sources = sourcesOf(facts, reached, path).map(({ members }) => ({ ...members, dummy: null }));
  const icestats = {
    ...serverOf(facts, reached),
    ...(sources.length === 0 ? { dummy: null } : { source: sources.length === 1 ? sources[0] : sources }),
  };
  return JSON.stringify({ icestats });
}

/** @param path only the channel with this mount; null: all */
export function publicStats(facts: StatusFacts, reached: Reached, path: string | null = null): string {
  const sources = sourcesOf(facts, reached, path).map(
    ({ path, members }) => `<source mount="${path}">${elements(members)}</source>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<icestats>${elements(serverOf(facts, reached))}${sources.join('')}</icestats>\n`;
}

function serverOf({ server, startedMs }: StatusFacts, { host }: Reached): StatusMembers {
  // `admin` and `location` name a person and a place, which we do not know; scripts expect them.
  return { admin: '', host, location: '', server_id: server, ...icecastTimes('server_start', startedMs) };
}

function sourcesOf({ channels }: StatusFacts, { base }: Reached, path: string | null): IcecastSource[] {
  const asked = path === null ? channels : channels.filter(({ paths }) => paths.includes(path));
  return asked.filter(isOnAir).map((channel) => {
    const at = path ?? channel.paths[0]!;
    return { path: at, members: membersOf(channel, `${base}${at}`) };
  });
}

function membersOf({ mount, counts, onAirSinceMs, title, typicalLagMs }: MountStatus, url: string): StatusMembers {
  const { facts, audio } = mount;
  const { contentType, bitrateKbps, sampleRate, channels } = formatFacts(facts, audio);
  const audioInfo = audioInfoOf(facts, audio);
  return {
    ...(audioInfo === '' ? {} : { audio_info: audioInfo }),
    ...(bitrateKbps > 0 ? { bitrate: bitrateKbps } : {}),
    ...(channels > 0 ? { channels } : {}),
    connections: counts.connections,
    genre: facts.genre,
    listener_peak: counts.peakListeners,
    listeners: counts.listeners,
    listenurl: url,
    ...(sampleRate > 0 ? { samplerate: sampleRate } : {}),
    server_description: facts.description,
    server_name: facts.name,
    server_type: contentType,
    ...(facts.url === '' ? {} : { server_url: facts.url }),
    ...(onAirSinceMs === null ? {} : icecastTimes('stream_start', onAirSinceMs)),
    ...(title === '' ? {} : { title }),
    ...(typicalLagMs === null ? {} : { typical_lag: Math.round(typicalLagMs) / 1000 }),
  };
}
