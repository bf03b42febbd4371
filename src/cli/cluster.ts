/** `airsplice cluster [URL]`: what a machine knows of its cluster: what all have in common, the machines, who feeds which channel. Exit code 1 where it is alone, or not ready. */

import { printable, printableJson } from '../base/printable.js';
import type { RunCommand } from './command.js';
import { answerOf, DEFAULT_URL, urlOf } from './server.js';
import { inColumns } from './terminal.js';

/** As `/readyz?cluster` has it. */
interface KnownCluster {
  readonly ready: boolean;
  readonly node: string;
  readonly log: {
    readonly place: string;
    readonly reached: boolean;
    readonly behindSeconds: number;
    readonly clockSeconds: number;
    readonly waitingChanges: number;
    readonly position: number;
  };
  readonly nodes: readonly { readonly node: string; readonly seenSeconds: number }[];
  readonly channels: readonly {
    readonly channelkey: string;
    readonly owner: string;
    readonly epoch: number;
    readonly phase: string;
  }[];
}

/** As the report has them. */
const PLACES: Readonly<Record<string, string>> = { 'an origin': 'The origin', here: 'The log, here' };
const NODE_COLUMNS = 24;
const NUMBER_COLUMNS = 12;

export const cluster: RunCommand = async (line, stop) => {
  const url = urlOf(line.operands[0] ?? DEFAULT_URL, 'URL');
  const { status, text } = await answerOf(`${url}/readyz?cluster`, stop);
  if (status !== 200 && status !== 503) {
    process.stderr.write(status === 404 ? 'this server is not in a cluster\n' : `it answers ${status}\n`);
    return 1;
  }
  const report = JSON.parse(text) as KnownCluster;
  process.stdout.write(line.values['json'] ? `${printableJson(report)}\n` : `${clusterLines(report).join('\n')}\n`);
  return report.ready ? 0 : 1;
};

/** The report for a person. */
export function clusterLines({ ready, node, log, nodes, channels }: KnownCluster): readonly string[] {
  const { place, reached, behindSeconds, clockSeconds, waitingChanges, position } = log;
  const state = reached
    ? `reached, ${behindSeconds.toFixed(1)} s ago all was known`
    : `away for ${behindSeconds.toFixed(1)} s`;
  const column = (text: string) => inColumns(printable(text), NODE_COLUMNS);
  const number = (value: number | string) => inColumns(`${value}`, NUMBER_COLUMNS, true);
  return [
    `${printable(node)}: ${ready ? 'ready' : 'not ready'}`,
    `${PLACES[place] ?? printable(place)}: ${state}; change ${position}; ${waitingChanges} wait; its clock is ${clockSeconds.toFixed(3)} s before ours`,
    ...(nodes.length === 0 ? [] : ['', `${column('MACHINE')}${inColumns('SEEN', NUMBER_COLUMNS, true)}`]),
    ...nodes.map((each) => `${column(each.node)}${number(`${each.seenSeconds.toFixed(1)} s`)}`),
    ...(channels.length === 0
      ? []
      : ['', `${column('CHANNEL')}${column('FED BY')}${inColumns('EPOCH', NUMBER_COLUMNS, true)}  HERE`]),
    ...channels.map(
      ({ channelkey, owner, epoch, phase }) => `${column(channelkey)}${column(owner || '–')}${number(epoch)}  ${phase}`,
    ),
  ];
}
