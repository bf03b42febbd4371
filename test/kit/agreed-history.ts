/** Checks the histories of several machines: no answered push is lost, and all histories are the same. */

import type { Test } from 'tap';
import type { ClusterNode } from './nodes.js';
import { until } from './until.js';
import { ask } from './wire.js';

/** Entries on one page. */
const PAGE = 1000;

/** An entry as it is read. */
interface Play {
  readonly song: string;
  readonly from: string;
}

/**
 * No answered push is missing or repeated at any machine, and each began at the same moment everywhere. Channel `live`; songs are unique.
 */
export async function agreeOnHistory(
  t: Test,
  nodes: readonly ClusterNode[],
  answered: readonly { readonly song: string }[],
): Promise<void> {
  let faults: string[] = [];
  await until(
    async () => {
      const histories = await Promise.all(nodes.map((node) => historyOf(t, node)));
      const [first] = histories;
      faults = histories.flatMap((plays, i) => {
        const songs = new Set(plays.map(({ song }) => song));
        const missing = answered.filter(({ song }) => !songs.has(song));
        const twice = plays.filter(({ song }, at) => plays.findIndex((play) => play.song === song) !== at);
        const other = plays.filter(
          ({ song, from }) => !first!.some((play) => play.song === song && play.from === from),
        );
        const { name } = nodes[i]!;
        return [
          ...missing.map(({ song }) => `${name} lacks ${song}`),
          ...twice.map(({ song }) => `${name} has ${song} twice`),
          ...other.map(({ song, from }) => `${name} has ${song} from ${from}, not so ${nodes[0]!.name}`),
        ];
      });
      return faults.length === 0;
    },
    20_000,
    () => `histories: ${faults.slice(0, 20).join('; ')}`,
  );
  t.pass('every push that was answered is in the history of every machine, once');
}

async function historyOf(t: Test, { port }: ClusterNode): Promise<readonly Play[]> {
  const plays: Play[] = [];
  for (let before = ''; ; ) {
    const path = `/metadata/channel/live/history.json?limit=${PAGE}${before}`;
    const page = (await ask(t, port, `GET ${path} HTTP/1.1`)).json() as Play[];
    plays.push(...page);
    if (page.length < PAGE) return plays;
    before = `&before=${page.at(-1)!.from}`;
  }
}
