/**
 * `airsplice cluster`: a machine's view of its cluster: the shared log, the other machines, which one feeds which channel. Exit code 1 if it is
 * not in a cluster, or not ready.
 */

import * as z from 'zod';
import { printable, printableJson } from '../base/printable.js';
import type { RunCommand } from './command.js';
import { answerOf, readJson, serverError, serverUrl } from './server.js';
import { inColumns } from './terminal/terminal.js';

/** The part of `/readyz?cluster` that is shown; checked, as any program may be answering. */
const knownCluster = z.looseObject({
  ready: z.boolean(),
  node: z.string(),
  log: z.looseObject({
    place: z.string(),
    reached: z.boolean(),
    behindSeconds: z.number(),
    clockSeconds: z.number(),
    waitingChanges: z.number(),
    position: z.number(),
  }),
  /** Absent: an earlier version of the server. */
  warnings: z.array(z.string()).exactOptional(),
  nodes: z.array(z.looseObject({ node: z.string(), seenSeconds: z.number() })),
  channels: z.array(z.looseObject({ channelkey: z.string(), owner: z.string(), epoch: z.number(), phase: z.string() })),
});

type KnownCluster = z.output<typeof knownCluster>;

/** The answer of a server that is not in a cluster. */
const alone = z.object({ type: z.literal('urn:airsplice:problem:not-found') });

/** Names of the log's places in the report. */
const PLACES: Readonly<Record<string, string>> = { 'an origin': 'The origin', here: 'The log, here' };
const NODE_COLUMNS = 24;
const NUMBER_COLUMNS = 12;

export const cluster: RunCommand = async (line, stop) => {
  const url = serverUrl(line);
  const { status, text } = await answerOf(`${url}/readyz?cluster`, stop);
  if (status === 404 && alone.safeParse(readJson(text)).success) throw new Error('this server is not in a cluster');
  const { data: report } = knownCluster.safeParse(readJson(text));
  if ((status !== 200 && status !== 503) || report === undefined)
    throw serverError(url, `does not report on a cluster (${status})`);
  process.stdout.write(line.values['json'] ? `${printableJson(report)}\n` : `${clusterLines(report).join('\n')}\n`);
  return report.ready ? 0 : 1;
};

/** The report as text. */
export function clusterLines({ ready, node, log, warnings = [], nodes, channels }: KnownCluster): readonly string[] {
  const { place, reached, behindSeconds, clockSeconds, waitingChanges, position } = log;
  const state = reached
    ? `reachable, up to date ${behindSeconds.toFixed(1)} s ago`
    : `unreachable for ${behindSeconds.toFixed(1)} s`;
  const column = (text: string) => inColumns(printable(text), NODE_COLUMNS);
  const number = (value: number | string) => inColumns(`${value}`, NUMBER_COLUMNS, true);
  return [
    `${printable(node)}: ${ready ? 'ready' : 'not ready'}`,
    `${PLACES[place] ?? printable(place)}: ${state}; change ${position}; ${waitingChanges} waiting; the clock of this machine is ${clockSeconds.toFixed(3)} s ahead`,
    ...warnings.map((warning) => `warning: ${printable(warning)}`),
    ...(nodes.length === 0 ? [] : ['', `${column('MACHINE')}${inColumns('SEEN', NUMBER_COLUMNS, true)}`]),
    ...nodes.map((each) => `${column(each.node)}${number(`${each.seenSeconds.toFixed(1)} s`)}`),
    ...(channels.length === 0
      ? []
      : ['', `${column('CHANNEL')}${column('FED BY')}${inColumns('EPOCH', NUMBER_COLUMNS, true)}  HERE`]),
    ...channels.map(
      ({ channelkey, owner, epoch, phase }) =>
        `${column(channelkey)}${column(owner || '–')}${number(epoch)}  ${printable(phase)}`,
    ),
  ];
}
