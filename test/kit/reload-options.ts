/** Random changes of single options: those that no connected client notices, and those for which a configuration is refused. */

import type { Random } from './random.js';
import { type ChannelState, type ConfigState, channelsOf } from './reload-config.js';

/** Makes a new text. */
export type Namer = (what: string) => string;

export function pick<T>(random: Random, all: readonly T[]): T {
  return all[random.int(0, all.length - 1)]!;
}

export function changeChannel(random: Random, nameOf: Namer, channel: ChannelState): void {
  const options: readonly (readonly [string, () => unknown])[] = [
    ['metaint', () => random.int(2000, 9000)],
    ['bitrateKbps', () => 128],
    ['maxListeners', () => random.int(500, 1000)],
    ['maxListenSeconds', () => random.int(10_000, 20_000)],
    ['overflowUrl', () => 'http://example.com/{mount}'],
    ['titlesFrom', () => pick(random, [['metapush'], ['metapush', 'upstream'], ['metapush', 'encoder', 'upstream']])],
    ['pushDecodesEntities', () => random.chance(0.5)],
    ['icy', () => ({ charset: pick(random, ['utf-8', 'iso-8859-1']), streamUrl: pick(random, ['none', 'cover']) })],
    ['partTime', () => random.chance(0.5)],
    ['noTitlesMinutes', () => random.int(0, 100)],
    ['titleOffsetMs', () => random.int(-100, 0)],
    ['holdSeconds', () => random.int(0, 500)],
    ['fallback', () => ({ artist: 'We', song: nameOf('fallback') })],
  ];
  const [name, value] = pick(random, options);
  if (name in channel && random.chance(0.4)) delete channel[name];
  else channel[name] = value();
}

export function changeTop(random: Random, nameOf: Namer, config: ConfigState): void {
  const options: readonly (readonly [string, string, () => unknown])[] = [
    ['limits', 'listeners', () => random.int(1000, 20_000)],
    ['limits', 'watchers', () => random.int(1000, 20_000)],
    ['limits', 'connections', () => random.int(5000, 20_000)],
    ['limits', 'pushesPerMinute', () => random.int(100_000, 900_000)],
    ['limits', 'pushBurst', () => random.int(10_000, 90_000)],
    ['limits', 'headLines', () => random.int(50, 100)],
    ['limits', 'requestSeconds', () => random.int(60, 100)],
    ['limits', 'answerSeconds', () => random.int(100, 200)],
    ['limits', 'webSocketFrames', () => random.int(200, 300)],
    ['limits', 'historyEntries', () => random.int(1000, 2000)],
    ['limits', 'textBytes', () => random.int(500, 2000)],
    ['streams', 'burstSeconds', () => random.int(1, 4)],
    ['streams', 'lagSeconds', () => random.int(40, 70)],
    ['streams', 'writeSeconds', () => pick(random, ['auto', 1, 2, 4])],
    ['streams', 'server', () => nameOf('server')],
    ['streams', 'headers', () => ({ 'X-Mark': nameOf('mark') })],
    ['streams', 'publicUrl', () => 'https://example.com/radio'],
    ['streams', 'showsOnReading', () => ({ Other: random.int(0, 5) })],
    ['streams', 'endsOnFormatChange', () => ({ Other: random.chance(0.5) ? ['mp3'] : [] })],
    ['sources', 'aheadSeconds', () => random.int(5, 20)],
    ['sources', 'stallsPerMinute', () => random.int(3, 9)],
    ['sources', 'silentSeconds', () => random.int(20, 600)],
    ['sessions', 'keepSeconds', () => random.int(1, 60)],
    ['sessions', 'togetherSeconds', () => random.int(0, 60)],
    ['history', 'days', () => random.int(10, 60)],
    ['history', 'entries', () => random.int(5000, 20_000)],
    ['titles', 'pushHoldSeconds', () => random.int(600, 900)],
    ['log', 'refusalsPerSecond', () => random.int(1, 100)],
    ['log', 'level', () => pick(random, ['info', 'warn'])],
    ['accessLog', 'anonymize', () => random.chance(0.5)],
    ['accessLog', 'textCharacters', () => random.int(100, 900)],
    ['watch', 'pingSeconds', () => random.int(10, 60)],
    ['watch', 'bufferBytes', () => random.int(100_000, 900_000)],
    ['shutdown', 'graceSeconds', () => random.int(3, 8)],
    ['metadata', 'heldPushes', () => random.int(10, 90)],
    ['proxies', 'trusted', () => [`10.0.0.${random.int(1, 200)}`]],
    ['admin', 'streams', () => random.int(1, 50)],
  ];
  const [section, name, value] = pick(random, options);
  config.top[section]![name] = value();
}

/** Makes a configuration invalid. @param takenPort port of another program @returns matches the refusal */
export function spoil(random: Random, takenPort: number, config: ConfigState): RegExp {
  const [key, channel] = pick(random, [...channelsOf(config)]);
  const spoils: readonly (() => RegExp)[] = [
    () => {
      channel['nmae'] = 'x';
      return /:\d+:\d+: stations\.\S+\.nmae: is not an option/;
    },
    () => {
      channel.sources = [];
      return new RegExp(`:\\d+:\\d+: stations\\.\\w+\\.channels\\.${key}\\.sources: `);
    },
    () => {
      channel.mounts.push('/metadata/x');
      return /:\d+:\d+: .*mounts.*: is a path that this server uses itself/;
    },
    () => {
      config.top['limits']!['watchers'] = 0;
      return /:\d+:\d+: limits\.watchers: must be a whole number/;
    },
    () => {
      channel.access = 'signed';
      return /access: needs the options of signedUrls/;
    },
    () => {
      config.top['sessions']!['max'] = 5;
      return /^! sessions\.max: .*needs a restart/m;
    },
    () => {
      config.top['log']!['bufferBytes'] = 2048;
      return /^! log\.bufferBytes: .*needs a restart/m;
    },
    () => {
      config.addresses.push({ host: '127.0.0.1', port: takenPort, shoutcastPort: false });
      return /EADDRINUSE/;
    },
  ];
  return pick(random, spoils)();
}
