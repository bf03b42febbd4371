/**
 * Rules that span several members: unique and reserved paths, options that need others, the demo's secrets. They check the raw data, so that
 * their problems are reported together with the schema's; they ignore members of the wrong type. Pure functions.
 */

import { isLoopback, plainAddress } from '../base/ip.js';
import { KEY } from '../base/key.js';
import type { Path } from './document.js';
import { MOUNT } from './field.js';
import { HLS_DEFAULTS, MAX_REWIND_SEGMENTS, MIN_SPARE_SEGMENTS } from './hls-config.js';
import { reservedAs } from './reserved.js';
import { DEMO_SECRETS_CONSENT } from './schema.js';
import { parseSecret } from './secret.js';
import { BODY_TIMEOUT_SECONDS, PIECE_SECONDS, STALL_SECONDS } from './sources/pull-config.js';

export interface Finding {
  readonly path: Path;
  readonly at: 'key' | 'value';
  readonly message: string;
}

interface RawChannel {
  readonly key: string;
  readonly path: Path;
  readonly value: unknown;
}

/** The problems of the configuration by all rules. @param raw the file's data with variables filled in */
export function crossCheck(raw: unknown, env: NodeJS.ProcessEnv): Finding[] {
  const channels = entries(member(raw, 'stations')).flatMap(([station, value]) =>
    entries(member(value, 'channels')).map(
      ([key, channel]): RawChannel => ({ key, path: ['stations', station, 'channels', key], value: channel }),
    ),
  );
  return [
    ...checkPaths(channels),
    ...checkListenUrls(member(raw, 'shoutcastListenUrls'), channels),
    ...checkEncoders(raw, channels),
    ...checkPieces(raw, channels),
    ...checkLegacy(raw),
    ...checkShoutcastPorts(raw),
    ...checkAccess(raw, channels),
    ...checkHls(raw, channels),
    ...checkCovers(raw, channels),
    ...checkProxied(raw),
    ...checkAlerts(raw, channels),
    ...checkCluster(raw),
    ...checkDemoSecrets(raw, channels, env),
  ];
}

/** Each URL path belongs to one channel only, and none hides one of our routes. */
function checkPaths(channels: readonly RawChannel[]): Finding[] {
  const findings: Finding[] = [];
  const owners = new Map<string, string>();
  const claim = (mount: string, key: string, path: Path, at: Finding['at']): void => {
    const owner = owners.get(mount);
    const ours = reservedAs(mount);
    if (ours !== null) findings.push({ path, at, message: `is a path that this server uses itself (${ours})` });
    else if (owner !== undefined) {
      const listed = at === 'value' && owner === key && mount === `/${key}`;
      const taken = `is already taken by the channel ${owner}`;
      findings.push({ path, at, message: listed ? 'need not be listed: the key is always a mount' : taken });
    } else owners.set(mount, key);
  };
  // Keys first: a key is always a mount, so a mount that equals one is the problem to report.
  for (const { key, path } of channels) if (KEY.test(key)) claim(`/${key}`, key, path, 'key');
  for (const { key, path, value } of channels) {
    for (const [index, mount] of items(member(value, 'mounts'))) {
      if (typeof mount === 'string' && MOUNT.test(mount)) claim(mount, key, [...path, 'mounts', index], 'value');
    }
  }
  return findings;
}

/** The channel of SHOUTcast's listen URLs must exist, and no mount may be one of those URLs (http/stream/listen-urls.ts). */
function checkListenUrls(named: unknown, channels: readonly RawChannel[]): Finding[] {
  if (typeof named !== 'string' || !KEY.test(named)) return [];
  if (!channels.some(({ key }) => key === named)) {
    return [{ path: ['shoutcastListenUrls'], at: 'value', message: 'is not a channel' }];
  }
  const all = channels.flatMap(({ key, path, value }) =>
    items(member(value, 'mounts')).map(([i, mount]) => ({ path: [...path, 'mounts', i], mount: String(mount), key })),
  );
  const paths = new Set([...channels.map(({ key }) => `/${key}`), ...all.map(({ mount }) => mount)]);
  const isListenUrl = (mount: string) =>
    /^\/(?:;|stream\/1\/?(?:;|$))/.test(mount) ||
    [...mount.matchAll(/\/?;/g)].some(({ index }) => paths.has(mount.slice(0, index)));
  return all
    .filter(({ mount }) => isListenUrl(mount))
    .map(({ path }) => ({
      path,
      at: 'value',
      message: 'is a SHOUTcast listen URL, which shoutcastListenUrls serves',
    }));
}

/** A channel has at most one encoder; `takeover` lets another replace it (src/http/ingest/README.md). */
function checkEncoders(raw: unknown, channels: readonly RawChannel[]): Finding[] {
  return channels.flatMap(({ path, value }): Finding[] => {
    const encoders = items(member(value, 'sources')).filter(([, source]) => member(source, 'type') === 'encoder');
    const station = member(member(raw, 'stations'), String(path[1]));
    const hook = [value, station, raw].map((holder) => member(holder, 'encoderHook')).find((own) => own !== undefined);
    const isAsked = (source: unknown) => hook !== undefined && member(source, 'hook') !== false;
    const isMissing = encoders.filter(([, source]) => member(source, 'password') === undefined && !isAsked(source));
    const missing = 'is missing: without an encoderHook an encoder needs it';
    const second = 'is a second encoder of this channel';
    return [
      ...isMissing.map(
        ([i]): Finding => ({ path: [...path, 'sources', i, 'password'], at: 'value', message: missing }),
      ),
      ...encoders.slice(1).map(([i]): Finding => ({ path: [...path, 'sources', i], at: 'value', message: second })),
    ];
  });
}

/** Timeouts must exceed `pieceSeconds`, or a source that sends in pieces would be cut off between two (source/audio-due-time.ts). */
function checkPieces(raw: unknown, channels: readonly RawChannel[]): Finding[] {
  const sources = member(raw, 'sources');
  const written = member(sources, 'pieceSeconds');
  const pieceSeconds = written ?? PIECE_SECONDS;
  if (typeof pieceSeconds !== 'number') return [];
  const least = (path: Path, name: string, holder: unknown, preset: number): Finding[] => {
    const patienceSeconds = member(holder, name) ?? preset;
    if (typeof patienceSeconds !== 'number' || patienceSeconds > pieceSeconds) return [];
    if (member(holder, name) !== undefined) {
      return [
        { path: [...path, name], at: 'value', message: `must be more than sources.pieceSeconds (${pieceSeconds})` },
      ];
    }
    const message = `must be less than ${name} (${preset} by default)`;
    return [{ path: ['sources', 'pieceSeconds'], at: 'value', message }];
  };
  const pulls = channels.flatMap(({ path, value }) =>
    items(member(value, 'sources'))
      .filter(([, source]) => member(source, 'type') === 'pull')
      .flatMap(([i, source]) => least([...path, 'sources', i], 'stallSeconds', source, STALL_SECONDS)),
  );
  return [...least(['sources'], 'bodyTimeoutSeconds', sources, BODY_TIMEOUT_SECONDS), ...pulls];
}

/** The role legacy needs the dates of its deprecation and its successor (RFC 9745, RFC 8594). */
function checkLegacy(raw: unknown): Finding[] {
  if (member(raw, 'legacy') !== undefined) return [];
  return items(member(raw, 'addresses')).flatMap(([a, address]) =>
    items(member(address, 'roles'))
      .filter(([, role]) => role === 'legacy')
      .map(([r]) => ({ path: ['addresses', a, 'roles', r], at: 'value', message: 'needs the options of legacy' })),
  );
}

/** The access of a channel needs its hook or keys. */
function checkAccess(raw: unknown, channels: readonly RawChannel[]): Finding[] {
  return channels.flatMap(({ path, value }): Finding[] => {
    const access = member(value, 'access');
    const needs = access === 'hook' ? 'listenerHook' : access === 'signed' ? 'signedUrls' : null;
    if (needs === null || member(raw, needs) !== undefined) return [];
    return [{ path: [...path, 'access'], at: 'value', message: `needs the options of ${needs}` }];
  });
}

/** Segments must stay available for a while after they leave the playlist; a rewind is bounded. */
function checkHls(raw: unknown, channels: readonly RawChannel[]): Finding[] {
  const all = member(member(raw, 'streams'), 'hls');
  const owns = channels.map(({ path, value }) => ({ path: [...path, 'hls'], own: member(value, 'hls') }));
  const switches = [{ path: ['streams', 'hls'], own: all }, ...owns].filter(({ own }) => own !== undefined);
  return switches.flatMap(({ path, own }): Finding[] => {
    const lengthOf = (name: 'window' | 'keep' | 'rewindHours' | 'segmentSeconds') =>
      member(own, name) ?? member(all, name) ?? HLS_DEFAULTS[name];
    const [listed, kept] = [lengthOf('window'), lengthOf('keep')];
    const isShort = typeof listed === 'number' && typeof kept === 'number' && kept < listed + MIN_SPARE_SEGMENTS;
    const message = `must be at least ${MIN_SPARE_SEGMENTS} more than window (${listed})`;
    const segmentSeconds = Number(lengthOf('segmentSeconds'));
    const isLong = Number(lengthOf('rewindHours')) * 3600 > MAX_REWIND_SEGMENTS * segmentSeconds;
    const maxHours = Math.floor((MAX_REWIND_SEGMENTS * segmentSeconds) / 3600);
    const most = `must be at most ${MAX_REWIND_SEGMENTS} segments, ${maxHours} hours`;
    return [
      ...(isLong ? [{ path: [...path, 'rewindHours'], at: 'value' as const, message: most }] : []),
      ...(isShort ? [{ path: [...path, 'keep'], at: 'value' as const, message }] : []),
    ];
  });
}

/** Covers need a folder or a hook; those of a folder also need `publicUrl`, since records have their URL at this server. */
function checkCovers(raw: unknown, channels: readonly RawChannel[]): Finding[] {
  const hasUrl = (member(member(raw, 'streams'), 'publicUrl') ?? '') !== '';
  return channels.flatMap(({ path, value }): Finding[] => {
    const covers = member(value, 'covers');
    if (typeof covers !== 'object' || covers === null) return [];
    const [folder, hook] = [member(covers, 'folder'), member(covers, 'hook')];
    if (folder === undefined && hook === undefined) {
      return [{ path: [...path, 'covers'], at: 'value', message: 'needs folder or hook' }];
    }
    if (folder === undefined || hasUrl) return [];
    return [{ path: [...path, 'covers', 'folder'], at: 'value', message: 'needs streams.publicUrl' }];
  });
}

/** An address that reads PROXY headers needs the list of proxies that may send them. */
function checkProxied(raw: unknown): Finding[] {
  if (items(member(member(raw, 'proxies'), 'trusted')).length > 0) return [];
  return items(member(raw, 'addresses'))
    .filter(([, address]) => member(address, 'proxyProtocol') === true)
    .map(([a]) => ({ path: ['addresses', a, 'proxyProtocol'], at: 'value', message: 'needs proxies.trusted' }));
}

/** Channels named in webhooks must exist. */
function checkAlerts(raw: unknown, channels: readonly RawChannel[]): Finding[] {
  const known = new Set(channels.map(({ key }) => key));
  return items(member(member(raw, 'alerts'), 'webhooks')).flatMap(([w, webhook]) =>
    items(member(webhook, 'channels'))
      .filter(([, key]) => typeof key === 'string' && KEY.test(key) && !known.has(key))
      .map(([c]) => ({ path: ['alerts', 'webhooks', w, 'channels', c], at: 'value', message: 'is not a channel' })),
  );
}

/** A port for encoders needs the role encoder. */
function checkShoutcastPorts(raw: unknown): Finding[] {
  return items(member(raw, 'addresses')).flatMap(([a, address]) => {
    const roles = member(address, 'roles');
    if (typeof member(address, 'shoutcastPort') !== 'number' || !Array.isArray(roles)) return [];
    if (roles.includes('encoder')) return [];
    return [{ path: ['addresses', a, 'shoutcastPort'], at: 'value', message: 'needs the role encoder' }];
  });
}

/** The demo's secrets, which anyone can read, must not guard an address that others can reach. */
function checkDemoSecrets(raw: unknown, channels: readonly RawChannel[], env: NodeJS.ProcessEnv): Finding[] {
  if (member(raw, 'demoSecretsInPublic') === DEMO_SECRETS_CONSENT) return [];
  const demo = channels.find(({ value }) =>
    [
      ...items(member(value, 'pushTokens')).map(([, token]) => token),
      ...items(member(value, 'sources')).map(([, source]) => member(source, 'password')),
    ].some((secret) => isDemoSecret(secret, env)),
  );
  if (demo === undefined) return [];
  const message =
    `is open to other machines, while the channel ${demo.key} has a demo secret: change the secret, ` +
    `or set demoSecretsInPublic to "${DEMO_SECRETS_CONSENT}"`;
  return items(member(raw, 'addresses'))
    .map(([index, address]) => ({ index, host: member(address, 'host') }))
    .filter(({ host }) => typeof host === 'string' && !isThisMachine(host))
    .map(({ index }) => ({ path: ['addresses', index, 'host'], at: 'value', message }));
}

function isDemoSecret(text: unknown, env: NodeJS.ProcessEnv): boolean {
  const secret = typeof text === 'string' ? parseSecret(text, env) : undefined;
  return secret !== undefined && 'demo' in secret && secret.demo !== null;
}

function isThisMachine(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopback(plainAddress(host));
}

/** Machines share their state by Redis or by origins, not both; the port for other machines is a separate one. */
function checkCluster(raw: unknown): Finding[] {
  const cluster = member(raw, 'cluster');
  if (typeof cluster !== 'object' || cluster === null) return [];
  const [url, origins, tapes] = ['url', 'origins', 'tapes'].map((name) => member(cluster, name));
  const hasOrigins = items(origins).length > 0;
  if (url === undefined && tapes === undefined) {
    const message = 'is missing: without a Redis url machines reach each other by it';
    return [{ path: ['cluster', 'tapes'], at: 'key', message }];
  }
  if (url !== undefined && hasOrigins) {
    return [{ path: ['cluster', 'origins'], at: 'key', message: 'are for machines without a Redis url' }];
  }
  const port = member(tapes, 'port');
  const isTaken = items(member(raw, 'addresses')).some(([, address]) => member(address, 'port') === port);
  if (typeof port !== 'number' || port === 0 || !isTaken) return [];
  const message = 'is the port of an address: other machines need a separate port';
  return [{ path: ['cluster', 'tapes', 'port'], at: 'value', message }];
}

function entries(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

function items(value: unknown): [number, unknown][] {
  return Array.isArray(value) ? [...value.entries()] : [];
}

function member(value: unknown, name: string): unknown {
  return entries(value).find(([key]) => key === name)?.[1];
}
