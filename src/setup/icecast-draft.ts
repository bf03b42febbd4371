/**
 * An icecast.xml as a draft: mounts with their passwords, fallbacks and listeners' authentication, relays, sockets, limits, names, aliases, logs.
 * Every element that is not read here is reported as lost, with its line and without its value, which may be a secret.
 */

import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { urlHost } from '../base/ip.js';
import { pairProblem } from '../config/addresses/tls.js';
import { host } from '../config/field.js';
import { HEADER_NAME } from '../config/schema.js';
import { audioProblem } from '../source/files/audio-file.js';
import { dataFolder } from './answers.js';
import { type Comment, type Draft, type DraftOptions, everyNetwork, type Option } from './draft.js';
import { readMounts } from './icecast-mounts.js';
import { importedChannels, mountProblem, plainText } from './imported.js';
import { parseXml, type XmlElement } from './xml.js';

const PORT = 8000;
const LEVELS: Readonly<Record<string, string>> = { 1: 'error', 2: 'warn', 3: 'info', 4: 'debug' };
/** The bitrate by which bytes of burst become seconds, if the mounts do not name theirs. */
const BITRATE_KBPS = 128;
const MAX_BURST_SECONDS = 60;
/** The default of streams.lagSeconds, and its minimum distance from the burst. */
const LAG_SECONDS = 30;
const LAG_BEYOND_BURST_SECONDS = 5;
/** The default of sources.pieceSeconds, which sources.bodyTimeoutSeconds must exceed. */
const MIN_BODY_SECONDS = 10;

/** Elements without a counterpart here, and the reason or the replacement. */
const REASONS: Readonly<Record<string, string>> = {
  'limits.sources': 'every channel may have its sources',
  'limits.queue-size': 'streams.lagSeconds limits how far a listener may fall behind',
  'limits.client-timeout': 'limits.requestSeconds limits how long a request may take',
  'limits.threadpool': 'it needs none',
  'authentication.relay-password': 'relays pull mounts as listeners do',
  'authentication.admin-user': 'see admin.users: the user admin got a new password',
  'authentication.admin-password': 'see admin.users: the user admin got a new password',
  'paths.basedir': 'it is not needed',
  'paths.adminroot': 'it is not needed',
  'paths.pidfile': 'it is not needed',
  fileserve: 'files in the webroot are not served',
  security: 'a service manager gives the server its user',
  directory: 'see directories: channels are listed by those configured there',
  'mount.hidden': 'every channel is in the statistics',
  'mount.dump-file': 'airsplice record records a stream',
  'mount.intro': 'intro files are not played to new listeners',
  'logging.errorlog': 'the log goes to standard error',
};

/** @param path of the configuration, absolute @param station its name; '': that of the host @param more mounts that the file does not name */
export function icecastDraft(xml: string, path: string, station: string, more: readonly string[]): Draft {
  const root = parseXml(xml);
  if (root.name !== 'icecast') throw new Error(`it is not an icecast.xml: it begins with <${root.name}>`);
  const lost = new Set<string>();
  const lose = (sentence: string) => void lost.add(sentence);
  const paths = root.one('paths');
  const addresses = readSockets(root, paths, lose);
  const first = addresses.find(({ tls }) => tls === undefined) ?? addresses[0]!;
  const self = `http://${urlHost(isEverywhere(first.host) ? '127.0.0.1' : first.host)}:${first.port}`;
  const hostname = root.textOf('hostname');
  const publicUrl = publicUrlOf(hostname, first);
  const found = readMounts(root, { webroot: paths?.textOf('webroot') ?? '', isPlayable, publicUrl, more, lose });
  const { channels, keys, logins, comments } = importedChannels(found.mounts, self, lose);
  readAliases(paths, keys, channels, lose);
  const { limits, streams, sources } = readLimits(
    root,
    found.mounts.map(({ options }) => options['bitrateKbps']),
    lose,
  );
  const headers = readHeaders(root, lose);
  if (publicUrl !== '') streams['publicUrl'] = publicUrl;
  if (Object.keys(headers).length > 0) streams['headers'] = headers;
  const log = readLogging(root, paths, lose);
  for (const { path: at, line } of root.unread()) {
    if (at[0] === 'location' || at[0] === 'admin') continue;
    lose(`<${at.join('><')}> (line ${line}): ${REASONS[at.join('.')] ?? 'there is no such option here'}`);
  }
  const name = station || (hostname !== '' && hostname !== 'localhost' ? hostname : 'Imported Station');
  const sections: DraftOptions = { ...found.hook, limits, ...log, streams, sources };
  const under = ['stations', 'imported', 'channels'];
  const channelComments = comments.map(({ path: at, text }): Comment => ({ path: [...under, ...at], text }));
  return {
    options: {
      addresses: addresses.map((address): Option => ({ ...address })),
      ...Object.fromEntries(Object.entries(sections).filter(([, value]) => Object.keys(value as object).length > 0)),
      data: { folder: dataFolder(path) },
      stations: { imported: { name: plainText(name, 255), channels } },
    },
    comments: [
      { path: ['data'], text: 'Titles and their history, kept across restarts.' },
      {
        path: ['stations'],
        text: 'A mount is a channel. Its encoder keeps its password; here is the digest.',
      },
      ...channelComments,
    ],
    lost: [...lost],
    logins,
    port: first.port,
    publicUrl,
  };
}

type ListenAddress = { host: string; port: number; shoutcastPort: number | false; tls?: Option };

function readSockets(
  root: XmlElement,
  paths: XmlElement | undefined,
  lose: (sentence: string) => void,
): ListenAddress[] {
  const certificate = paths?.textOf('ssl-certificate') || paths?.textOf('tls-certificate') || '';
  const shared = root.textOf('bind-address');
  const addresses: ListenAddress[] = [];
  const shoutcast: number[] = [];
  const sockets = root.all('listen-socket');
  for (const socket of sockets) {
    const port = Number(socket.textOf('port')) || PORT;
    const bound = socket.textOf('bind-address') || shared;
    const at = isHost(bound) ? bound : everyNetwork();
    if (bound !== '' && !isHost(bound))
      lose(`port ${port} (line ${socket.line}) was bound to an address that is not available here`);
    const mode = socket.textOf('tls-mode');
    const isTls =
      socket.textOf('ssl') === '1' || socket.textOf('tls') === '1' || /^(auto|auto_no_plain|rfc2818)$/.test(mode);
    if (socket.textOf('shoutcast-compat') === '1') {
      shoutcast.push(port);
      continue;
    }
    if (addresses.some((address) => address.port === port)) continue;
    if (isTls) {
      const problem = certificateProblem(certificate);
      if (problem !== null) {
        lose(`port ${port} (line ${socket.line}) was for TLS: ${problem}; see addresses and tls`);
        continue;
      }
    }
    const tls = { certFile: certificate, keyFile: certificate, ...(mode === 'auto' ? { sharePort: true } : {}) };
    const shoutcastPort = socket.textOf('shoutcast-mount') === '' ? false : port + 1;
    addresses.push({ host: at, port, shoutcastPort, ...(isTls ? { tls } : {}) });
  }
  if (addresses.length === 0) {
    const port = Number(root.textOf('port')) || PORT;
    addresses.push({ host: everyNetwork(), port, shoutcastPort: false });
  }
  for (const port of shoutcast) {
    const free = addresses.find(({ shoutcastPort }) => shoutcastPort === false);
    if (free === undefined) lose(`port ${port} was for SHOUTcast encoders: here an address has only one such port`);
    else free.shoutcastPort = port;
  }
  if (root.textOf('shoutcast-mount') !== '' && addresses[0]!.shoutcastPort === false)
    addresses[0]!.shoutcastPort = addresses[0]!.port + 1;
  return addresses;
}

function isHost(text: string): boolean {
  return host().safeParse(text).success;
}

function certificateProblem(file: string): string | null {
  if (file === '') return 'the file names no certificate';
  try {
    const pem = readFileSync(file);
    return pairProblem(pem, pem) ?? null;
  } catch {
    return `its certificate ${file} is unreadable here`;
  }
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function publicUrlOf(hostname: string, { port, tls }: ListenAddress): string {
  const isName = /^[A-Za-z0-9.-]+\.[A-Za-z0-9-]+$/.test(hostname) || isIP(hostname) !== 0;
  if (!isName || isEverywhere(hostname)) return '';
  return `${tls === undefined ? 'http' : 'https'}://${urlHost(hostname)}:${port}`;
}

function readLimits(root: XmlElement, bitrates: readonly (Option | undefined)[], lose: (sentence: string) => void) {
  const found = root.one('limits');
  const limits: DraftOptions = {};
  const streams: DraftOptions = {};
  const sources: DraftOptions = {};
  const numberOf = (name: string) => Number(found?.textOf(name) ?? '');
  const clients = numberOf('clients');
  if (clients >= 1) limits['listeners'] = Math.min(1_000_000, Math.floor(clients));
  const head = numberOf('header-timeout');
  if (head > 0) limits['headSeconds'] = Math.min(300, head);
  const body = numberOf('source-timeout');
  if (body > MIN_BODY_SECONDS) sources['bodyTimeoutSeconds'] = Math.min(600, body);
  else if (body > 0)
    lose(`<source-timeout> is less than one piece of audio may take here: see sources.bodyTimeoutSeconds`);
  const burst = found?.textOf('burst-size') ?? '';
  const isWanted = found?.textOf('burst-on-connect') !== '0';
  if (!isWanted) streams['burstSeconds'] = 0;
  else if (/^\d+$/.test(burst)) {
    const known = bitrates.filter((bitrate) => typeof bitrate === 'number');
    const bitrate = known.length > 0 ? Math.max(...known) : BITRATE_KBPS;
    const seconds = Math.min(MAX_BURST_SECONDS, Math.round(Number(burst) / 125 / bitrate));
    streams['burstSeconds'] = seconds;
    if (seconds + LAG_BEYOND_BURST_SECONDS > LAG_SECONDS) streams['lagSeconds'] = seconds + LAG_BEYOND_BURST_SECONDS;
    lose(`<burst-size> is streams.burstSeconds: ${seconds} s at ${bitrate} kb/s`);
  }
  return { limits, streams, sources };
}

function readHeaders(root: XmlElement, lose: (sentence: string) => void): DraftOptions {
  const headers: DraftOptions = {};
  for (const header of root.all('http-headers').flatMap((each) => each.all('header'))) {
    const { name = '', value = '' } = header.attributes;
    if (HEADER_NAME.test(name) && value !== '') headers[name] = plainText(value, 1024);
    else lose(`the header ${plainText(name, 100)} (line ${header.line}) cannot be sent`);
  }
  return headers;
}

function readLogging(root: XmlElement, paths: XmlElement | undefined, lose: (sentence: string) => void): DraftOptions {
  const logging = root.one('logging');
  const level = LEVELS[logging?.textOf('loglevel') ?? ''];
  const file = logging?.textOf('accesslog') ?? '';
  const folder = paths?.textOf('logdir') ?? '';
  const log: DraftOptions = level === undefined ? {} : { log: { level } };
  if (file === '') return log;
  if (file === '-') return { ...log, accessLog: { file } };
  const path = resolve(folder || '/var/log', file);
  // Not Icecast's own file, to which it may still write.
  const ours = join(dirname(path), `airsplice-${basename(path)}`);
  if (isWritable(dirname(ours))) return { ...log, accessLog: { file: ours } };
  lose(`the access log: ${dirname(path)} is not writable here; see accessLog`);
  return log;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isPlayable(file: string): boolean {
  try {
    return existsSync(file) && audioProblem(file) === null;
  } catch {
    return false;
  }
}

/** Adds aliases of a channel's mount to its mounts. */
function readAliases(
  paths: XmlElement | undefined,
  keys: ReadonlyMap<string, string>,
  channels: DraftOptions,
  lose: (sentence: string) => void,
): void {
  const taken = new Set([...keys].flatMap(([mount, key]) => [mount, `/${key}`]));
  for (const { attributes, line } of paths?.all('alias') ?? []) {
    const { source = '', destination = attributes['dest'] ?? '' } = attributes;
    const key = keys.get(destination);
    const problem = key === undefined ? 'leads to no mount' : mountProblem(source);
    if (source === '/' && key === undefined) continue;
    if (problem !== null || taken.has(source)) {
      lose(`the alias ${plainText(source, 200)} (line ${line}) ${problem ?? 'is a mount already'}`);
      continue;
    }
    taken.add(source);
    const channel = channels[key!] as DraftOptions;
    channel['mounts'] = [...((channel['mounts'] as Option[] | undefined) ?? []), source];
  }
}
