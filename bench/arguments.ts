/** Parses and checks the arguments of `npm run bench`. Pure. */

import { parseArgs } from 'node:util';
import { loopbackTarget } from './crowd.js';

export const PEERS = ['icecast', 'nginx', 'floor', 'c-floor'] as const;

export const USAGE = `usage: npm run bench -- [options]
  --only NAME[,NAME]   these scenarios (--list names them); default: all
  --list               what each scenario measures, and how long it takes
  --quick              small and short: does it work? Its figures say nothing
  --rounds N           A B A B …; default 3, with --quick 1
  --seconds N          length of a window; default: what the scenario says
  --listeners N[,N]    sizes of the crowds of listeners; default 1000,4000,15000
  --node PATH[,PATH]   run the server with these, beside each other: --node node,"$(npx -y -p node@24 which node)"
  --url URL            measure this stream server instead of ours (loopback only): listeners, joins
  --against LIST       beside these only: ${PEERS.join(', ')}, none, or URLs of streams; default: all that are installed
  --save NAME          keep NAME.json and NAME-*.svg in the folder of results; default: last
  --out FOLDER         the folder of results; default bench/results
  --from FILE[,FILE]   measure nothing: report these files again, as one
  --markdown           tables in Markdown
  --help
Exit 1: something that was received was wrong; 2: it could not be measured.`;

export interface Options {
  readonly only: readonly string[] | undefined;
  readonly isQuick: boolean;
  readonly rounds: number;
  readonly seconds: number | undefined;
  readonly listeners: readonly number[] | undefined;
  readonly nodes: readonly string[];
  readonly url: string | undefined;
  /** Names of PEERS and URLs; undefined: all peers. */
  readonly against: readonly string[] | undefined;
  readonly save: string;
  readonly out: string | undefined;
  readonly from: readonly string[] | undefined;
  readonly isMarkdown: boolean;
}

/**
 * @param names of all scenarios
 * @returns 'help' or 'list' if there is nothing to measure
 * @throws RangeError or parseArgs's TypeError for a wrong argument
 */
export function readArguments(args: readonly string[], names: readonly string[]): Options | 'help' | 'list' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      listeners: { type: 'string' },
      node: { type: 'string' },
      url: { type: 'string' },
      against: { type: 'string' },
      save: { type: 'string', default: 'last' },
      out: { type: 'string' },
      from: { type: 'string' },
      markdown: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.list) return 'list';
  const only = list(values.only);
  for (const name of only ?? [])
    if (!names.includes(name)) throw new RangeError(`--only: ${name} is none of ${names.join(', ')}`);
  if (values.url !== undefined) loopbackTarget(values.url);
  const against = list(values.against)?.filter((each) => each !== 'none');
  for (const each of against ?? [])
    if (/^\w+:/.test(each)) loopbackTarget(each);
    else if (!(PEERS as readonly string[]).includes(each))
      throw new RangeError(`--against: ${each} is none of ${PEERS.join(', ')}, and no URL`);
  if (!/^[\w.-]+$/.test(values.save)) throw new RangeError('--save takes a plain file name');
  return {
    only,
    isQuick: values.quick,
    rounds: values.rounds === undefined ? (values.quick ? 1 : 3) : bounded('rounds', values.rounds, 20),
    seconds: values.seconds === undefined ? undefined : bounded('seconds', values.seconds, 600),
    listeners: list(values.listeners)?.map((each) => bounded('listeners', each, 100_000)),
    nodes: list(values.node) ?? [],
    url: values.url,
    against,
    save: values.save,
    out: values.out,
    from: list(values.from),
    isMarkdown: values.markdown,
  };
}

function list(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const parts = text.split(',').map((each) => each.trim());
  if (parts.includes('')) throw new RangeError(`"${text}" has an empty entry`);
  return parts;
}

function bounded(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value >= 1 && value <= most))
    throw new RangeError(`--${name} is a number from 1 to ${most}`);
  return value;
}
