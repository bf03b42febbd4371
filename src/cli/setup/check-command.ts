/**
 * `airsplice check CONFIG`: checks a configuration without a server; with `--diff` prints what a reload of the running server would change. Exit
 * code 2 if there are problems.
 */

import { formatText } from '../../audio/frames/audio-format.js';
import { urlHost } from '../../base/ip.js';
import { printable, printableLines } from '../../base/printable.js';
import { workersAsked } from '../../config/cluster-config.js';
import { hasHls } from '../../config/hls-config.js';
import { ConfigError, type LoadedConfig, loadConfig } from '../../config/load.js';
import { audioFormat, audioProblem } from '../../source/files/audio-file.js';
import type { RunCommand } from '../command.js';
import { askAbout } from '../reload-command.js';

export const check: RunCommand = async ({ operands: [path = ''], values }, stop) => {
  if (values['diff'] === true) return await showPlan(path, stop);
  try {
    const config = loadConfig(path, process.env, undefined, audioProblem);
    process.stdout.write(`${path} is valid: ${summary(config)}\n`);
    for (const line of [...(await filesThatDiffer(config)), ...hlsThatDiffers(config)])
      process.stdout.write(`${printable(line)}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { length } = error.problems;
    process.stderr.write(`${error.message}\nairsplice: ${length} ${length === 1 ? 'problem' : 'problems'}\n`);
    return 2;
  }
};

async function showPlan(path: string, stop: AbortSignal): Promise<number> {
  const plan = await askAbout(path, 'plan', stop);
  if (plan === null) return 2;
  process.stdout.write(`${printableLines(plan)}\n`);
  return 0;
}

/** A line for each channel with files of different formats, after which some players cannot continue. */
async function filesThatDiffer({ stations }: LoadedConfig): Promise<string[]> {
  const lines: string[] = [];
  for (const [station, { channels }] of Object.entries(stations)) {
    for (const [channel, { sources }] of Object.entries(channels)) {
      const paths = sources.flatMap((source) => (source.type === 'file' ? [source.path] : []));
      const found = await Promise.all(paths.map((path) => audioFormat(path)));
      const formats = found.map((format) => (format === null ? 'nothing' : formatText(format)));
      if (new Set(formats).size < 2) continue;
      const files = paths.map((path, i) => `${path} (${formats[i]})`).join(', ');
      lines.push(
        `stations.${station}.channels.${channel}: its files differ in format: ${files}. At a change, players that cannot continue are disconnected; if the codec changes, all are`,
      );
    }
  }
  return lines;
}

/** A note for a cluster without shared audio, in which each machine cuts different segments. */
function hlsThatDiffers(config: LoadedConfig): string[] {
  const { cluster } = config;
  if (cluster === undefined || cluster.tapes !== undefined || !hasHls(config)) return [];
  return [
    'streams.hls: machines share no audio (cluster.tapes), so each cuts its own segments: a cache or a player must stay with one machine',
  ];
}

function summary({ order, addresses, workers, cluster }: LoadedConfig): string {
  const channels = order.flatMap((station) => station.channels);
  const at = addresses.map(
    ({ host, port, tls }) => `${tls === undefined ? 'http' : 'https'}://${urlHost(host)}:${port}`,
  );
  const asked = workersAsked(workers, cluster);
  const processes =
    asked === 0
      ? 'one process'
      : `a hub and ${asked === 'auto' ? 'as many workers as cores allow' : counted(asked, 'worker')}`;
  return `${counted(channels.length, 'channel')} of ${counted(order.length, 'station')} at ${at.join(', ')}, ${processes}`;
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
