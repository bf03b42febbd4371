/** Parses and checks the arguments of `npm run soak`. Pure. */

import { parseArgs } from 'node:util';

export const USAGE = `usage: npm run soak -- [options]
  --minutes N      how long the load lasts; default 120
  --workers N      processes that serve clients, beside the hub; default 2, 0: one process does all
  --listeners N    those that stay; default 200
  --joins N        listeners that come and go, a second; default 2
  --every SECONDS  between two samples; default 15
  --save NAME      keep NAME.json and NAME.svg in the folder of results; default: nothing is kept
  --out FOLDER     the folder of results; default bench/results
  --from FILE      run nothing: judge, print and draw this file again
  --markdown       tables in Markdown
  --help
Exit 1: not flat, or something was wrong; 2: it could not be run. Under half an hour slopes are not judged.`;

export interface SoakOptions {
  readonly minutes: number;
  readonly workers: number;
  readonly listeners: number;
  readonly joinsPerSecond: number;
  readonly everySeconds: number;
  readonly save: string | undefined;
  readonly out: string | undefined;
  readonly from: string | undefined;
  readonly isMarkdown: boolean;
}

/** @throws RangeError or parseArgs's TypeError for a wrong argument */
export function readArguments(args: readonly string[]): SoakOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '120' },
      workers: { type: 'string', default: '2' },
      listeners: { type: 'string', default: '200' },
      joins: { type: 'string', default: '2' },
      every: { type: 'string', default: '15' },
      save: { type: 'string' },
      out: { type: 'string' },
      from: { type: 'string' },
      markdown: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.save !== undefined && !/^[\w.-]+$/.test(values.save))
    throw new RangeError('--save takes a plain file name');
  return {
    minutes: bounded('minutes', values.minutes, 0.1, 1440),
    workers: bounded('workers', values.workers, 0, 16),
    listeners: bounded('listeners', values.listeners, 1, 10_000),
    joinsPerSecond: bounded('joins', values.joins, 0, 200),
    everySeconds: bounded('every', values.every, 6, 600),
    save: values.save,
    out: values.out,
    from: values.from,
    isMarkdown: values.markdown,
  };
}

function bounded(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most))
    throw new RangeError(`--${name} is a number from ${least} to ${most}`);
  if (['workers', 'listeners'].includes(name) && !Number.isInteger(value))
    throw new RangeError(`--${name} is a whole number`);
  return value;
}
