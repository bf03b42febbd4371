/** Looks up the names of other hosts in a configuration: upstreams, the listener hook, overflow and public URL. */

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { hostOf } from '../../base/ip.js';
import type { Config } from '../../config/schema.js';
import { type DoctorFinding, Findings } from './finding.js';

const LOOKUP_MS = 5000;

export async function nameFindings(config: Config): Promise<DoctorFinding[]> {
  const findings = new Findings('names');
  const named = namesOf(config);
  const found = await Promise.all(named.map(async ([, host]) => addressOf(host)));
  for (const [i, [what, host]] of named.entries()) {
    const { address, code } = found[i]!;
    if (address !== null) findings.good(`${host} (${what}) is ${address}`);
    else
      findings.bad(
        `${host} (${what}) does not resolve (${code})`,
        `check the name; if it is right, check /etc/resolv.conf: getent hosts ${host}`,
      );
  }
  return findings.all;
}

/** Purpose and name; each name once. */
function namesOf({ stations, listenerHook, streams }: Config): readonly (readonly [string, string])[] {
  const urls: [string, string][] = [];
  if (listenerHook !== undefined) urls.push(['listenerHook.url', listenerHook.url]);
  if (streams.overflowUrl !== undefined) urls.push(['streams.overflowUrl', streams.overflowUrl]);
  if (streams.publicUrl !== '') urls.push(['streams.publicUrl', streams.publicUrl]);
  for (const { channels } of Object.values(stations)) {
    for (const [key, { sources }] of Object.entries(channels)) {
      for (const source of sources) {
        if (source.type === 'pull') for (const url of [source.url].flat()) urls.push([`a source of ${key}`, url]);
      }
    }
  }
  const byHost = new Map<string, string>();
  for (const [what, url] of urls) {
    const host = hostOf(url);
    if (isIP(host) === 0 && !byHost.has(host)) byHost.set(host, what);
  }
  return [...byHost].map(([host, what]) => [what, host] as const);
}

interface FoundAddress {
  readonly address: string | null;
  readonly code: string;
}

async function addressOf(host: string): Promise<FoundAddress> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<FoundAddress>((resolve) => {
    timer = setTimeout(resolve, LOOKUP_MS, { address: null, code: 'no answer in 5 s' });
  });
  const found = lookup(host).then(
    ({ address }): FoundAddress => ({ address, code: '' }),
    (error: NodeJS.ErrnoException): FoundAddress => ({ address: null, code: error.code ?? error.message }),
  );
  return Promise.race([found, late]).finally(() => clearTimeout(timer));
}
