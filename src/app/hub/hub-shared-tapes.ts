/** Creates the audio that this machine shares with the others of a cluster: its options, its log lines. */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { AddressList, hostOf } from '../../base/ip.js';
import { SharedTapes } from '../../cluster/tapes/shared-tapes.js';
import type { ChannelSettings } from '../../cluster/titles/channel-settings.js';
import type { LoadedConfig } from '../../config/load.js';
import type { ClusterConfig } from '../../config/schema.js';
import { LinkSilent } from '../../link/wire/link-connection.js';
import { OtherVersion } from '../../link/wire/link-version.js';
import type { Core } from '../core.js';
import { badRecords } from './bad-records.js';
import { nameTaken } from './hub-cluster.js';
import type { HubSide } from './hub-side.js';
import type { LinkedClients } from './linked-clients.js';

/**
 * Whether TLS and `cluster.peers` allow a request to this URL, which comes from Redis or an origin and may have been written by others.
 */
function peerCheck({ peers, tapes }: ClusterConfig): (url: string) => boolean {
  const names = new Set(peers.map((peer) => peer.toLowerCase()));
  const networks = new AddressList(peers.filter((peer) => isIP(peer.split('/')[0]!) !== 0));
  return (url) => {
    const { protocol } = new URL(url);
    if (tapes?.tls !== undefined && protocol !== 'https:') return false;
    const host = hostOf(url);
    return peers.length === 0 || names.has(host) || networks.has(host);
  };
}

/**
 * Null: titles alone are shared, or nothing. Before the sources run.
 * @param isReturned channels whose tape is what workers had of it
 */
export function makeSharedTapes(
  core: Core,
  side: HubSide,
  { links, hls }: LinkedClients,
  isReturned: (channel: string) => boolean,
): SharedTapes | null {
  const { config, clock, log, onError, repeats } = core;
  const { hub, names, moreLeases } = side;
  const { cluster } = config;
  if (hub.cluster === null || cluster?.tapes === undefined) return null;
  const { host, port, advertise, secret, tls, caFile } = cluster.tapes;
  return new SharedTapes({
    clock,
    log,
    names,
    hls,
    isReturned,
    moreLeases,
    engine: hub.cluster,
    channels: hub.channels,
    sessions: links.sessions,
    counted: links.counted,
    onMoved: (channel) => {
      links.moveTape(channel);
      side.hls.refeed(channel);
    },
    onFacts: (channel) => links.look(channel),
    onOwned: (channel) => hub.titles.fed(channel),
    maxLagMs: () => config.streams.lagSeconds * 1000,
    options: {
      answerMs: cluster.answerSeconds * 1000,
      node: cluster.node,
      mayFeed: cluster.sources,
      host,
      port,
      advertise,
      secret: secret.export(),
      tls: tls && { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
      ca: caFile === undefined ? undefined : readFileSync(caFile),
      mayAsk: peerCheck(cluster),
    },
    onBad: badRecords(repeats),
    settings: () => settingsOf(config),
    onDiffers: (difference) =>
      log.warn({ ...difference }, 'two machines have different settings for a channel: make them equal'),
    onNameTaken: nameTaken(core, cluster),
    onError: (error) => {
      if (error instanceof LinkSilent) {
        const { peer, message: reason } = error;
        repeats.warn('cluster silent', { peer, reason }, 'another machine does not respond: its connection was closed');
      } else if (!(error instanceof OtherVersion)) onError(error);
      else repeats.warn('cluster version', { version: error.version }, `${error.message}: its tapes are not used`);
    },
  });
}

/** The settings of each channel that should be the same on every machine. */
function* settingsOf({ stations, cluster, metadata }: LoadedConfig): Iterable<readonly [string, ChannelSettings]> {
  for (const { channels } of Object.values(stations)) {
    for (const [key, { delaySeconds, metaint, holdSeconds = metadata.holdSeconds, sources }] of Object.entries(
      channels,
    )) {
      const types = cluster!.sources ? sources.map(({ type }) => type) : null;
      yield [key, { delaySeconds, metaint: metaint ?? null, holdSeconds, sources: types }];
    }
  }
}
