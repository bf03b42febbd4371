/**
 * What is printed when the server plays: lines to paste, for the person who has just started it for the first time.
 */

import type { ChannelConfig, Config } from '../config/schema.js';

/** @param ports the port of each address, in configured order */
export function banner(config: Config, ports: readonly number[]): string {
  const channels = Object.values(config.stations).flatMap((station) => Object.entries(station.channels));
  // The channel that an encoder feeds shows the most; else the first.
  const best = channels.find(([, channel]) => encoderOf(channel) !== undefined) ?? channels[0];
  const host = hostOf(config.addresses[0]!.host);
  const base = `${host}:${ports[0]}`;
  const s = config.addresses[0]!.tls === undefined ? '' : 's';
  if (best === undefined)
    return `\n  airsplice listens on http${s}://${base}/ without a channel: add a station to the configuration.\n\n`;
  const [key, channel] = best;
  const demo = channel.pushTokens.some((token) => token.demo);
  const mount = channel.mounts[0] ?? `/${key}`;
  const push = `http${s}://${base}/metapush/${key}/${demo ? `${key}-token` : 'TOKEN'}`;
  const encoder = encoderOf(channel);
  const lines: [string, string][] = [
    ['open', `http${s}://${base}/`],
    ['hear', `ffplay -nodisp http${s}://${base}${mount}`],
    ['push', `curl '${push}?artist=Nina+Simone&song=Feeling+Good&duration=174'`],
    ['poll', `curl http${s}://${base}/metadata/channel/${key}.json`],
    [
      'watch',
      `node -e "new (require('ws'))('ws${s}://${base}/metadata/channel/${key}').on('message', (m) => console.log(String(m)))"`,
    ],
  ];
  if (encoder !== undefined) {
    const login = `${encoder.user}:${demo ? 'demo-source' : 'PASSWORD'}`;
    const file = demo ? 'config/demo/airsplice.mp3' : 'YOUR.mp3';
    lines.push([
      'feed',
      `ffmpeg -re -stream_loop -1 -i ${file} -c copy -f mp3 -content_type audio/mpeg ${s && '-tls 1 '}icecast://${login}@${base}${mount}`,
    ]);
  }
  return `\n  airsplice plays.\n\n${lines.map(([what, line]) => `  ${what.padEnd(6)} ${line}\n`).join('')}\n`;
}

function encoderOf(channel: ChannelConfig) {
  return channel.sources.find((source) => source.type === 'encoder');
}

/** An address that this machine can be reached at by its own user. */
function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
