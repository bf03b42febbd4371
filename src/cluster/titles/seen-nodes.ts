/** The nodes that have asked for leases (../tapes/leases.ts). A node that was absent for a day is forgotten. */

import type { SharedLog } from '../log/shared-log.js';
import { nodeName } from './ordered-schema.js';

/** When it was seen last (unix milliseconds by the clock of the log), and the URL of its tapes. */
export interface SeenNode {
  readonly seenMs: number;
  readonly url: string;
}

const FORGOTTEN_MS = 86_400_000;
const NODE = /^(\d{1,15}) (https?:\/\/\S{1,1024}) \S+$/;

/** By name. Rejects as the log does. */
export async function seenNodes(log: SharedLog, nowMs: number): Promise<ReadonlyMap<string, SeenNode>> {
  const nodes = new Map<string, SeenNode>();
  for (const [node, text] of await log.nodes()) {
    const [, seenMs, url] = NODE.exec(text) ?? [];
    // Values written by other programs are ignored.
    if (seenMs !== undefined && nodeName.safeParse(node).success)
      nodes.set(node, { seenMs: Number(seenMs), url: url! });
  }
  // A time far ahead: written while that clock was wrong, or by another program.
  const gone = [...nodes].flatMap(([node, { seenMs }]) => (Math.abs(nowMs - seenMs) > FORGOTTEN_MS ? [node] : []));
  for (const node of gone) nodes.delete(node);
  if (gone.length > 0) await log.forget(gone);
  return nodes;
}
