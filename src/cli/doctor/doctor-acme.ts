/**
 * Checks what the server needs to order a certificate: whether port 80 of each domain leads to this server. The authority connects there.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AcmeConfig, certificateFiles, certificateFolder } from '../../config/addresses/tls.js';
import { ACCOUNT_FILE } from '../../net/acme/acme-files.js';
import { thumbprintOf } from '../../net/acme/acme-key.js';
import { messageOf } from '../../net/outbound/message-of.js';
import { answerOf } from '../server.js';
import { certificateFindings } from './doctor-certificates.js';
import { type DoctorFinding, Findings } from './finding.js';

const RENEW = 'the server renews it automatically: if it could not, its log says why';

/** @param data the data folder @param host as for certificateFindings @param port at which authorities ask */
export async function acmeFindings(
  acme: AcmeConfig,
  data: string,
  host: string,
  signal: AbortSignal,
  port = 80,
): Promise<readonly DoctorFinding[]> {
  const findings = new Findings('certificates');
  const files = certificateFiles({ acme }, data);
  const isThere = existsSync(files.certFile);
  if (!isThere) {
    findings.note(
      `no certificate for ${acme.domains[0]} yet`,
      'the server orders one once it runs; until then TLS is refused',
    );
  }
  const thumbprint = ownThumbprint(join(certificateFolder(acme, data), ACCOUNT_FILE));
  const asked = acme.domains.map((domain) => judgeProof(domain, port, thumbprint, findings, signal));
  await Promise.all(asked);
  return [...(isThere ? certificateFindings(files, host, Date.now(), RENEW) : []), ...findings.all];
}

async function judgeProof(
  domain: string,
  port: number,
  thumbprint: string | null,
  findings: Findings,
  signal: AbortSignal,
): Promise<void> {
  const token = randomBytes(16).toString('base64url');
  const at = `http://${domain}${port === 80 ? '' : `:${port}`}`;
  try {
    const { status, text } = await answerOf(`${at}/.well-known/acme-challenge/${token}`, signal);
    const [given, by] = text.split('.');
    if (status !== 200 || given !== token) {
      const advice =
        'start the server; port 80 of the domain must lead to one of its addresses without tls, directly or through a proxy';
      findings.bad(`${at} answers a challenge with ${status}: the authority cannot verify the domain`, advice);
    } else if (thumbprint !== null && by !== thumbprint) {
      const advice = 'its name or port 80 points elsewhere, or data.folder belongs to another server';
      findings.bad(`${at} is answered by another airsplice server`, advice);
    } else findings.good(`${at} reaches this server: the authority can verify the domain`);
  } catch (error) {
    const advice =
      'check the name, the firewall and the port (tried from this machine only: the authority may still reach it)';
    findings.bad(`the authority may be unable to reach ${domain}: ${messageOf(error)}`, advice);
  }
}

/** Null: the server has no account yet, or this user may not read its file. */
function ownThumbprint(file: string): string | null {
  try {
    return thumbprintOf(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
