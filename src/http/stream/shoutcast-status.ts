/**
 * Statistics in SHOUTcast's formats: `/7.html` of version 1; `/stats`, `/statistics` and `/nextsongs` of version 2, as XML, the first two
 * also as JSON. Names and order are SHOUTcast's; figures that we do not count are 0. Its listeners are our connections, and its unique
 * listeners our listeners. Pure.
 */

import { formatFacts } from '../../listener/cursor/stream-head.js';
import { elements, escapeMarkup, type StatusMembers } from '../markup.js';
import { isOnAir, type MountStatus, type StatusFacts } from './mount-status.js';
import type { Reached } from './shared-text.js';

const PREFIX = '<HTML><meta http-equiv="Pragma" content="no-cache"></head><body>';
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>';

/** `listeners,status,peak,max,unique,bitrate,song`. Readers split at the first six commas, since the song may contain more. */
export function sevenHtml(channel: MountStatus): string {
  const { mount, counts, maxListeners, title } = channel;
  const { connections, peakConnections, listeners } = counts;
  const status = isOnAir(channel) ? 1 : 0;
  const { bitrateKbps } = formatFacts(mount.facts, mount.audio);
  const figures = [connections, status, peakConnections, maxListeners, listeners, bitrateKbps];
  return `${PREFIX}${figures.join(',')},${escapeMarkup(title)}</body></html>`;
}

/** @param more XML to append to the stream's own elements */
export function streamXml(channel: MountStatus, facts: StatusFacts, reached: Reached, more = ''): string {
  const members = { ...streamOf(channel, facts, reached), version: facts.server };
  return document(`${elements(inCapitals(members))}${more}`);
}

export function streamJson(channel: MountStatus, facts: StatusFacts, reached: Reached): string {
  return JSON.stringify({ ...streamOf(channel, facts, reached), version: facts.server });
}

/** The element of `/statistics`: the server with all streams. */
export function serverElement(facts: StatusFacts, reached: Reached): string {
  const streams = facts.channels.map(
    (channel, i) => `<STREAM id="${i + 1}">${elements(inCapitals(streamOf(channel, facts, reached)))}</STREAM>`,
  );
  return `<STREAMSTATS>${elements(inCapitals(serverOf(facts)))}${streams.join('')}</STREAMSTATS>`;
}

export function serverXml(facts: StatusFacts, reached: Reached): string {
  return document(serverElement(facts, reached));
}

export function serverJson(facts: StatusFacts, reached: Reached): string {
  const streams = facts.channels.map((channel, i) => ({ id: i + 1, ...streamOf(channel, facts, reached) }));
  return JSON.stringify({ ...serverOf(facts), streams });
}

export function nextSongs({ nextTitle }: MountStatus): string {
  const title = nextTitle === '' ? '' : `<TITLE seq="1">${escapeMarkup(nextTitle)}</TITLE>`;
  return document(`<NEXTSONGS>${title}</NEXTSONGS>`);
}

function document(content: string): string {
  return `${DECLARATION}<SHOUTCASTSERVER>${content}</SHOUTCASTSERVER>`;
}

function inCapitals(members: StatusMembers): StatusMembers {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name.toUpperCase(), value]));
}

/** Bitrate and sample rate are texts in SHOUTcast's JSON. */
function streamOf(channel: MountStatus, { clock }: StatusFacts, { base }: Reached): StatusMembers {
  const { mount, counts, maxListeners, onAirSinceMs, title, nextTitle, paths } = channel;
  const { facts, audio } = mount;
  return {
    currentlisteners: counts.connections,
    peaklisteners: counts.peakConnections,
    maxlisteners: maxListeners,
    uniquelisteners: counts.listeners,
    averagetime: 0,
    servergenre: facts.genre,
    servergenre2: '',
    servergenre3: '',
    servergenre4: '',
    servergenre5: '',
    // Readers find their stream by this URL.
    serverurl: facts.url || `${base}${paths[0]!}`,
    servertitle: facts.name,
    songtitle: title,
    nexttitle: nextTitle,
    streamhits: 0,
    streamstatus: isOnAir(channel) ? 1 : 0,
    backupstatus: 0,
    streamlisted: 0,
    streampath: paths[0]!,
    streamuptime: onAirSinceMs === null ? 0 : Math.max(0, Math.floor((clock.wallMs() - onAirSinceMs) / 1000)),
    bitrate: String(formatFacts(facts, audio).bitrateKbps),
    samplerate: String(formatFacts(facts, audio).sampleRate),
    content: formatFacts(facts, audio).contentType,
  };
}

function serverOf({ channels, server }: StatusFacts): StatusMembers {
  const sum = (figure: (channel: MountStatus) => number) => channels.reduce((all, each) => all + figure(each), 0);
  return {
    totalstreams: channels.length,
    activestreams: channels.filter(isOnAir).length,
    currentlisteners: sum(({ counts }) => counts.connections),
    // The sum of the channels' peaks, which may have been at different times.
    peaklisteners: sum(({ counts }) => counts.peakConnections),
    maxlisteners: Math.max(0, ...channels.map(({ maxListeners }) => maxListeners)),
    uniquelisteners: sum(({ counts }) => counts.listeners),
    averagetime: 0,
    version: server,
  };
}
