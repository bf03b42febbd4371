/** Checks the addresses of a configuration: each port is opened for a moment, unless our server has it already. */

import net from 'node:net';
import { urlHost } from '../../base/ip.js';
import { shoutcastPortOf } from '../../config/addresses/addresses-config.js';
import type { AddressConfig } from '../../config/schema.js';
import { ownAnswer } from '../server.js';
import { type DoctorFinding, Findings } from './finding.js';

interface ListenPort {
  readonly host: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
  readonly isProxied: boolean;
  /** Only for SHOUTcast encoders. */
  readonly isExtra: boolean;
}

export async function portFindings(addresses: readonly AddressConfig[], signal: AbortSignal): Promise<DoctorFinding[]> {
  const findings = new Findings('ports');
  for (const listened of portsOf(addresses)) await checkPort(listened, findings, signal);
  return findings.all;
}

function portsOf(addresses: readonly AddressConfig[]): readonly ListenPort[] {
  return addresses.flatMap((address) => {
    const { host, port, tls, proxyProtocol = false } = address;
    // Port 0 is any free port.
    if (port === 0) return [];
    const scheme = tls === undefined ? 'http' : 'https';
    const own: ListenPort = { host, port, scheme, isProxied: proxyProtocol, isExtra: false };
    const extra = shoutcastPortOf(address, addresses) ?? 0;
    return extra === 0 ? [own] : [own, { ...own, port: extra, isExtra: true }];
  });
}

async function checkPort(listened: ListenPort, findings: Findings, signal: AbortSignal): Promise<void> {
  const { host, port, isExtra, isProxied } = listened;
  const at = `${urlHost(host)}:${port}${isExtra ? ' (SHOUTcast encoders)' : ''}`;
  const code = await problemOf(host, port);
  if (code === null) findings.good(`${at} is free`);
  else if (code === 'EADDRINUSE') {
    if (isProxied)
      findings.note(`${at} is in use, by a program that cannot be identified: the port expects a PROXY header`);
    else if (await isOurs(listened, signal)) findings.good(`${at}: airsplice answers there`);
    else {
      const other = isExtra ? 'another shoutcastPort, or false' : 'another port';
      findings.bad(
        `${at} is in use by another program`,
        `stop it (ss -ltnp 'sport = :${port}' shows it), or configure ${other}`,
      );
    }
  } else if (code === 'EACCES') {
    findings.bad(
      `${at} is not allowed to this user`,
      'ports below 1024 need CAP_NET_BIND_SERVICE (AmbientCapabilities= of the unit), or net.ipv4.ip_unprivileged_port_start',
    );
  } else if (code === 'EADDRNOTAVAIL') {
    findings.bad(
      `${host} is not an address of this machine`,
      '`ip address` lists them; 0.0.0.0 and :: mean all of them',
    );
  } else findings.bad(`${at} cannot be opened (${code})`, 'check the host and the port of this address');
}

/** The code of the error; null: the port can be opened. */
function problemOf(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port }, () => server.close(() => resolve(null)));
  });
}

/** Whether this server listens there: each of its addresses answers both paths. */
async function isOurs({ scheme, host, port }: ListenPort, signal: AbortSignal): Promise<boolean> {
  const asked = host === '0.0.0.0' || host === '::' ? 'localhost' : urlHost(host);
  const base = `${scheme}://${asked}:${port}`;
  try {
    const [health, ready] = await Promise.all(
      ['/healthz', '/readyz'].map((path) => ownAnswer(`${base}${path}`, signal)),
    );
    return health!.text === 'ok\n' && /^(not )?ready\n/.test(ready!.text);
  } catch {
    return false;
  }
}
