/**
 * What is printed when the server has started: lines to paste, for a first try.
 */

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { urlHost } from '../../base/ip.js';
import { packageFile } from '../../base/own-files.js';
import type { Role } from '../../config/addresses/addresses-config.js';
import { hlsOf } from '../../config/hls-config.js';
import type { AddressConfig, ChannelConfig, Config } from '../../config/schema.js';
import { Roles } from '../../http/roles.js';

const DEMO_AUDIO = 'config/demo/airsplice.mp3';

/**
 * Each line leads to the first address that serves it to a client that comes straight there; what none serves is not shown.
 * @param ports the port of each address, in configured order @param program how it was called @param operator with a password that is shown here only
 */
export function banner(
  config: Config,
  ports: readonly number[],
  program: string,
  operator: { readonly user: string; readonly password: string } | null = null,
): string {
  const channels = Object.values(config.stations).flatMap((station) => Object.entries(station.channels));
  // The channel that an encoder feeds shows the most; else the first.
  const best = channels.find(([, channel]) => encoderOf(channel) !== undefined) ?? channels[0];
  const addresses = config.addresses.map((address, i) => new Reachable(address, ports[i]!));
  if (best === undefined)
    return `\n  airsplice listens on ${addresses[0]!.url}/ without a channel: add a station to the configuration.\n\n`;
  const [key, channel] = best;
  const mount = channel.mounts[0] ?? `/${key}`;
  const token = channel.pushTokens.find(({ demo }) => demo !== null)?.demo ?? 'TOKEN';
  const lines: string[] = [];
  const show = (what: string, role: Role, line: (address: Reachable) => string) => {
    const address = addresses.find((each) => each.serves(role));
    if (address !== undefined) lines.push(`  ${what.padEnd(6)} ${line(address)}\n`);
  };
  // The pages are at every address, their player only plays where the stream is.
  if (config.page.enabled) show('open', 'stream', (at) => `${at.url}/`);
  if (operator !== null) {
    const { user, password } = operator;
    show(
      'admin',
      'admin',
      (at) => `${at.url}/admin as ${user} with the password ${password}, generated for this start`,
    );
  }
  show('hear', 'stream', (at) => `ffplay -nodisp ${at.url}${mount}`);
  if (hlsOf(config.streams.hls, channel) !== null) show('hls', 'stream', (at) => `mpv ${at.url}${mount}/hls.m3u8`);
  show('push', 'push', (at) => {
    const push = `${at.url}/metapush/${key}/${token}`;
    return `curl '${push}?artist=Nina+Simone&song=Feeling+Good&duration=174'`;
  });
  show('poll', 'poll', (at) => `curl ${at.url}/metadata/channel/${key}.json`);
  show('watch', 'watch', (at) => `${program} watch ${key} --url ${at.url}`);
  const encoder = encoderOf(channel);
  if (encoder !== undefined) {
    const demo = encoder.password?.demo ?? null;
    const login = `${encoder.user}:${demo ?? 'PASSWORD'}`;
    const file = demo !== null ? relative('', fileURLToPath(packageFile(DEMO_AUDIO))) : 'YOUR.mp3';
    const ffmpeg = `ffmpeg -re -stream_loop -1 -i ${file} -c copy -f mp3 -content_type audio/mpeg`;
    show('feed', 'encoder', (at) => `${ffmpeg} ${at.isTls ? '-tls 1 ' : ''}icecast://${login}@${at.host}${mount}`);
  }
  // Encoders and upstreams are not connected yet.
  const hasAudio = channel.sources.some(({ type }) => type === 'file');
  const state = hasAudio ? 'airsplice plays.' : `airsplice runs. ${key} plays as soon as its source sends audio.`;
  return `\n  ${state}\n\n${lines.join('')}\n`;
}

/** An address as its own user's programs reach it. */
class Reachable {
  /** With the port. */
  readonly host: string;
  readonly isTls: boolean;
  readonly #roles: Roles;
  readonly #isProxied: boolean;

  constructor(address: AddressConfig, port: number) {
    this.host = `${hostOf(address.host)}:${port}`;
    this.isTls = address.tls !== undefined;
    this.#roles = new Roles(address.roles);
    this.#isProxied = address.proxyProtocol === true;
  }

  /** Only a proxy can speak to an address of proxies. */
  serves(role: Role): boolean {
    return !this.#isProxied && this.#roles.has(role);
  }

  get url(): string {
    return `http${this.isTls ? 's' : ''}://${this.host}`;
  }
}

function encoderOf(channel: ChannelConfig) {
  return channel.sources.find((source) => source.type === 'encoder');
}

/** An address that this machine can be reached at by its own user. */
function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return urlHost(host);
}
