/** The pages of the stations: as the configuration has them, with what is on air read when it is asked for. */

import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { contentTypeOf } from '../../audio/frames/format.js';
import type { Clock } from '../../base/clock.js';
import { mergeGetters, withGetters } from '../../base/getters.js';
import type { LoadedConfig } from '../../config/load.js';
import { endOf, PICTURE_TYPES } from '../../config/page-config.js';
import { coverOrigin, type OwnAddresses, registerCover } from '../../http/page/cover.js';
import { setErrorPages } from '../../http/page/error-page.js';
import { fileOf } from '../../http/page/page-files.js';
import { type PageParts, registerPage } from '../../http/page/page-routes.js';
import type { PageChannel, PageSite, ServedFile } from '../../http/page/page-site.js';
import { Languages } from '../../http/page/page-texts.js';
import { hlsPath, rewindPath } from '../../http/stream/hls-answers.js';
import { isOnAir, type MountStatus } from '../../http/stream/mount-status.js';
import type { PublicUrl } from '../../http/stream/public-url.js';
import { formatFacts } from '../../listener/cursor/stream-head.js';

export interface PageFactsParts {
  readonly statuses: { readonly channels: readonly MountStatus[] };
  readonly clock: Pick<Clock, 'now'>;
  /** A file that was there when the configuration was checked cannot be read: it is tried again. */
  onError(error: unknown): void;
}

/** Where it could not be read. */
const AGAIN_MS = 1000;

/** The pages, and the frames of covers in them. */
export function registerPages(
  app: FastifyInstance,
  { config, publicUrl, ...parts }: Pick<PageParts, 'site' | 'clock'> & { config: LoadedConfig; publicUrl: PublicUrl },
): void {
  const own = () => ownAddresses(config);
  registerPage(app, {
    ...parts,
    baseOf: (request) => publicUrl.of(request),
    coverOrigin: (url, request) => coverOrigin(url, request, own()),
  });
  registerCover(app, own, () => config.page.frameAncestors);
}

/** No browser plays MP2, but all take `audio/mpeg`, which its head says. */
function isMp2({ mount }: MountStatus): boolean {
  return mount.audio.contentType === contentTypeOf('mp2');
}

/** Names and ports under which clients may reach this server, beside the Host of each request. */
function ownAddresses({ addresses, streams }: LoadedConfig): OwnAddresses {
  const publicUrl = streams.publicUrl === '' ? null : new URL(streams.publicUrl);
  const names = addresses.map(({ host }) => host).concat(publicUrl?.hostname ?? []);
  const ports = addresses.map(({ port }) => port).concat(publicUrl === null ? [] : Number(publicUrl.port) || 443);
  return { names, ports };
}

/** Reads the pictures and texts that the configuration names. */
export function pageFacts(config: LoadedConfig, parts: PageFactsParts): PageSite {
  const { enabled, logo, languages: files, ...page } = config.page;
  const own = once(() => new Languages(files), parts);
  let ours: Languages | null = null;
  const languages = () => own() ?? (ours ??= new Languages({}));
  const picture = pictureOf(logo, parts);
  // The configuration may get another path.
  setErrorPages(withGetters({ languages, startPath: () => startPathOf(config.streams) }));
  const known = { ...page, isEnabled: enabled, channels: channelsOf(config, parts) };
  return mergeGetters(known, withGetters({ languages, logo: picture }));
}

/** Below a proxy's path where `streams.publicUrl` has one. */
function startPathOf({ publicUrl }: LoadedConfig['streams']): string {
  return publicUrl === '' ? '/' : `${new URL(publicUrl).pathname.replace(/\/+$/, '')}/`;
}

function channelsOf({ order, stations }: LoadedConfig, parts: PageFactsParts): PageChannel[] {
  const statuses = new Map(parts.statuses.channels.map((status) => [status.mount.facts.key, status]));
  return order.flatMap(({ station, channels }) =>
    channels.map((key): PageChannel => {
      const channel = stations[station]!.channels[key]!;
      const { name, description, mounts, logo } = channel;
      const mount = mounts[0] ?? `/${key}`;
      const status = statuses.get(key);
      const picture = pictureOf(logo, parts);
      const known = { stationkey: station, station: stations[station]!.name || station, key, mount };
      return mergeGetters(
        known,
        withGetters({
          logo: picture,
          name: () => name || status?.mount.facts.name || key,
          description: () => description || (status?.mount.facts.description ?? ''),
          // Who needs a signature or a name has no use for what a page makes of it.
          hls: () => (status?.mount.access === 'open' && !isMp2(status) ? (hlsPath(status.mount, mount) ?? '') : ''),
          rewind: () => {
            const path = status === undefined ? null : rewindPath(status.mount, mount);
            return path === null ? null : { path, hours: status!.mount.hls!.rewindHours };
          },
          onAir: () => status !== undefined && isOnAir(status),
          type: () => {
            if (!status?.mount.hasAudio) return '';
            const { facts, audio } = status.mount;
            return isMp2(status) ? audio.contentType : formatFacts(facts, audio).contentType;
          },
          now: () => status?.records.now ?? null,
          next: () => status?.records.next ?? null,
        }),
      );
    }),
  );
}

function pictureOf(path: string | undefined, parts: PageFactsParts): () => ServedFile | null {
  if (path === undefined) return () => null;
  return once(() => fileOf(PICTURE_TYPES[endOf(path)]!, readFileSync(path)), parts);
}

/** Reads it now; where that fails when it is asked for again, as long as it fails. Null: it could not be read yet. */
function once<T>(read: () => T, { clock, onError }: PageFactsParts): () => T | null {
  let value: T | null = null;
  let hasFailed = false;
  let againMs = Number.NEGATIVE_INFINITY;
  const get = () => {
    const nowMs = clock.now();
    if (value !== null || nowMs < againMs) return value;
    againMs = nowMs + AGAIN_MS;
    try {
      value = read();
    } catch (error) {
      if (!hasFailed) onError(error);
      hasFailed = true;
    }
    return value;
  };
  get();
  return get;
}
