/**
 * A draft from AzuraCast's API: the answer to `GET /api/stations` or `/api/nowplaying`, for all stations or one. Each mount is a channel at its
 * old path; until an encoder connects here, the channel relays AzuraCast's stream. AzuraCast's other functions are named as lost.
 */

import { isIP } from 'node:net';
import * as z from 'zod';
import { hostOf } from '../base/ip.js';
import { KEY } from '../base/key.js';
import { timezone } from '../config/field.js';
import { isPrivate } from '../net/outbound/private-address.js';
import { dataFolder, keyFrom } from './answers.js';
import { type Comment, type Draft, type DraftOptions, everyNetwork, type Option } from './draft.js';
import { type ImportedMount, importedChannels, mountProblem, numbered, plainText, plainUrl } from './imported.js';

const PORT = 8000;
const MOST = 1000;
const URL_BITS = /^https?:\/\/(?:\[[\d:a-f.]+\]|[^/:]+):(\d+)(?:\/|$)/i;

const stream = z.object({
  name: z.string().default(''),
  url: z.string(),
  bitrate: z.number().nullish(),
});
const station = z.object({
  name: z.string(),
  shortcode: z.string().default(''),
  description: z.string().nullish(),
  timezone: z.string().default(''),
  url: z.string().nullish(),
  is_public: z.boolean().optional(),
  mounts: z.array(stream.extend({ path: z.string(), is_default: z.boolean().default(false) })).max(MOST),
  remotes: z.array(stream).max(MOST).default([]),
  backend: z.string().nullish(),
  hls_enabled: z.boolean().default(false),
});
/** A station, alone or inside its `nowplaying`. */
const entry = z.union([station, z.object({ station }).transform((playing) => playing.station)]);
const document = z.union([z.array(entry).min(1).max(MOST), entry.transform((each) => [each])]);

type GivenStation = z.infer<typeof station>;

/** Whether a text looks like JSON, as no other file does that can be imported. */
export function isAzuracast(text: string): boolean {
  return /^\uFEFF?\s*[[{]/.test(text);
}

/** @param path of the configuration, absolute @param name for a single station; '': its own. Throws an Error that says what is wrong */
export function azuracastDraft(text: string, path: string, name: string): Draft {
  const stations = readStations(text);
  if (name !== '' && stations.length > 1)
    throw new Error(`it has ${stations.length} stations: name one with --station`);
  const lost = new Set<string>();
  const lose = (sentence: string) => void lost.add(sentence);
  const found = new FoundMounts(lose);
  const keys = stationKeys(stations);
  for (const [i, each] of stations.entries()) found.take(each, keys[i]!);
  const { mounts } = found;
  if (mounts.length === 0) throw new Error(`it names no mount: ${[...lost].join('; ')}`);
  const { channels, logins, comments, keys: channelKeys } = importedChannels(mounts, '', lose);
  for (const [path, mount] of found.listenPaths) {
    const channel = channels[channelKeys.get(mount)!] as DraftOptions;
    channel['mounts'] = [...((channel['mounts'] as Option[] | undefined) ?? []), path];
  }
  const stationOf = new Map(mounts.map(({ mount }) => [channelKeys.get(mount)!, found.stationOf.get(mount)!]));
  const port = Number(URL_BITS.exec(stations.flatMap((each) => each.mounts)[0]!.url)?.[1] ?? PORT);
  return {
    options: {
      addresses: [{ host: everyNetwork(), port }],
      data: { folder: dataFolder(path) },
      stations: Object.fromEntries(
        stations.flatMap((each, i) => {
          const own = Object.entries(channels).filter(([key]) => stationOf.get(key) === keys[i]);
          return own.length === 0 ? [] : [[keys[i]!, stationOptions(each, name, Object.fromEntries(own))]];
        }),
      ),
    },
    comments: [
      { path: ['data'], text: 'Titles and their history, kept across restarts.' },
      {
        path: ['stations'],
        text: "AzuraCast's stations. A channel is a mount at its old path: it plays a connected encoder, else what AzuraCast plays there.",
      },
      ...comments.map(
        ({ path: at, text }): Comment => ({
          path: ['stations', stationOf.get(at[0] as string)!, 'channels', ...at],
          text,
        }),
      ),
    ],
    lost: [...lost],
    logins,
    port,
    publicUrl: '',
  };
}

function readStations(text: string): readonly GivenStation[] {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Error('it looks like JSON but is invalid');
  }
  const { data, error } = document.safeParse(json);
  if (data !== undefined) return data;
  // Of the errors of all forms, those of a station are the most useful.
  const first = (Array.isArray(json) ? json[0] : json) as { readonly station?: unknown } | null | undefined;
  const issue = station.safeParse(first?.station ?? first).error?.issues[0] ?? error.issues[0]!;
  throw new Error(
    `it is JSON, but not what AzuraCast's /api/stations answers: ${[...issue.path, issue.message].join(': ')}`,
  );
}

/** A unique key for each station: its short code, or else one made from its name. */
function stationKeys(stations: readonly GivenStation[]): string[] {
  const wanted = stations.map(({ shortcode, name }) =>
    KEY.test(shortcode) ? shortcode : keyFrom(shortcode || name) || 'station',
  );
  const taken = new Set(wanted);
  return wanted.map((key, i) => {
    if (wanted.indexOf(key) === i) return key;
    const made = numbered(key, (next) => !taken.has(next));
    taken.add(made);
    return made;
  });
}

function stationOptions(from: GivenStation, name: string, channels: DraftOptions): DraftOptions {
  const options: DraftOptions = { name: plainText(name || from.name, 255) };
  if (from.timezone !== '' && timezone().safeParse(from.timezone).success) options['timezone'] = from.timezone;
  return { ...options, channels };
}

/** The mounts of all stations: here they share one server, so their paths must be unique. */
class FoundMounts {
  readonly mounts: ImportedMount[] = [];
  /** Mount → the key of its station. */
  readonly stationOf = new Map<string, string>();
  /** Path of a listen URL, if AzuraCast's web server is in front of the mounts → mount. */
  readonly listenPaths = new Map<string, string>();
  readonly #lose: (sentence: string) => void;

  constructor(lose: (sentence: string) => void) {
    this.#lose = lose;
  }

  take(station: GivenStation, key: string): void {
    const name = plainText(station.name, 100);
    for (const given of station.mounts) this.#take(station, key, name, given);
    if (station.mounts.length === 0) this.#lose(`${name} has no mount`);
    for (const { name: remote } of station.remotes)
      this.#lose(`${name}: its remote ${plainText(remote, 100)} is on another server: a channel can pull it`);
    if (station.hls_enabled) this.#lose(`${name}: its HLS has other paths here: MOUNT/hls.m3u8`);
    if ((station.backend ?? 'none') !== 'none')
      this.#lose(`${name}: playlists, requests and streamers' accounts stay in AzuraCast`);
  }

  #take(station: GivenStation, key: string, name: string, given: GivenStation['mounts'][number]): void {
    const path = given.path.startsWith('/') ? given.path : `/${given.path}`;
    const isTaken = (mount: string): boolean => this.stationOf.has(mount) || this.listenPaths.has(mount);
    const mount = isTaken(path) && this.stationOf.get(path) !== key ? `/${key}${path}` : path;
    const problem = isTaken(mount) ? 'is there twice' : mountProblem(mount);
    if (problem !== null) {
      this.#lose(`${name}: the mount ${plainText(path, 255)} ${problem}`);
      return;
    }
    if (mount !== path) this.#lose(`${name}: its mount ${path} is ${mount} here, since another station has it too`);
    this.stationOf.set(mount, key);
    const listenPath = URL.canParse(given.url) ? new URL(given.url).pathname : '';
    // Not a path of one segment, which may be the key of another channel.
    if (/^\/.+\//.test(listenPath) && mountProblem(listenPath) === null && listenPath !== mount && !isTaken(listenPath))
      this.listenPaths.set(listenPath, mount);
    this.mounts.push({
      mount,
      encoder: { user: 'source', password: '' },
      pulls: [],
      options: channelOptions(station, given),
      fallback: this.#relay(mount, given.url),
    });
  }

  #relay(mount: string, given: string): ImportedMount['fallback'] {
    const url = plainUrl(given);
    const host = url === '' ? '' : hostOf(url);
    if (url !== '' && host !== 'localhost' && (isIP(host) === 0 || !isPrivate(host)))
      return { pull: { type: 'pull', url }, text: 'Until then: what AzuraCast plays.' };
    this.#lose(`${mount}: AzuraCast's stream is not relayed, since its URL leads to a private address`);
    return null;
  }
}

function channelOptions(
  station: GivenStation,
  { name, bitrate, is_default }: GivenStation['mounts'][number],
): DraftOptions {
  const options: DraftOptions = {};
  const isOnly = is_default || station.mounts.length === 1 || name === '';
  options['name'] = plainText(isOnly ? station.name : `${station.name}: ${name}`, 255);
  const description = plainText(station.description ?? '', 1024);
  if (description !== '') options['description'] = description;
  const url = plainUrl(station.url ?? '');
  if (url !== '') options['url'] = url;
  if (station.is_public !== undefined) options['public'] = station.is_public;
  if (Number.isInteger(bitrate) && bitrate! >= 8 && bitrate! <= 2000) options['bitrateKbps'] = bitrate!;
  return options;
}
