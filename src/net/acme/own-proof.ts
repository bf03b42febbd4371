/**
 * Whether this server answers challenges: it asks itself, at its addresses; one answer is enough. The process that orders may be ready before those
 * that listen, and a failed proof counts against the account. The network between the authority and this machine is not tested.
 */

import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { AddressConfig } from '../../config/schema.js';
import { boundedAnswer } from '../outbound/bounded-answer.js';
import { Target } from '../outbound/target.js';
import { thumbprintOf } from './acme-key.js';

const LIMITS = { ca: undefined, timeoutMs: 2000, headBytes: 16 * 1024, bodyBytes: 16 * 1024 };

/** Never rejects. @returns true, too, if no address can be asked @param accountKey PEM */
export async function isProved(
  addresses: readonly AddressConfig[],
  domain: string,
  accountKey: string,
  signal: AbortSignal,
): Promise<boolean> {
  const asked = addresses.filter(
    ({ port, tls, proxyProtocol }) =>
      port !== 0 && proxyProtocol !== true && (tls === undefined || tls.sharePort === true),
  );
  if (asked.length === 0) return true;
  const token = randomBytes(16).toString('base64url');
  const answers = asked.map(async ({ host, port }) => {
    const url = `http://${targetOf(host)}:${port}/.well-known/acme-challenge/${token}`;
    const request = { target: Target.named(url, undefined, true), method: 'GET', headers: { Host: domain } } as const;
    const { body } = await boundedAnswer(request, { ...LIMITS, signal });
    if (body.toString() !== `${token}.${thumbprintOf(accountKey)}`) throw new Error('another answer');
    return true;
  });
  return await Promise.any(answers).catch(() => false);
}

/** The host under which this machine reaches an address that listens at `host`. */
function targetOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
}
