/** Checks the certificates of a configuration as clients do: dates, key, chain, the name of the public URL. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { CertificateFiles } from '../../net/tls/certificate.js';
import { type DoctorFinding, Findings } from './finding.js';

const DAY_MS = 86_400_000;
/** Renewal programs renew a month ahead. */
const SOON_DAYS = 14;
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

const RENEW = 'renew it (certbot renew, acme.sh --renew); the server loads the new files by itself';

/** @param host of the public URL, as hostOf; "": unknown @param nowMs unix milliseconds @param renew advice for a certificate that expires */
export function certificateFindings(
  { certFile, keyFile }: CertificateFiles,
  host: string,
  nowMs = Date.now(),
  renew = RENEW,
): readonly DoctorFinding[] {
  const findings = new Findings('certificates');
  try {
    const chain = (readFileSync(certFile, 'latin1').match(PEM) ?? []).map((pem) => new X509Certificate(pem));
    const [own] = chain;
    if (own === undefined) {
      findings.bad(
        `${certFile} contains no certificate`,
        "it must be PEM: the server's own certificate first, then the chain that signed it",
      );
      return findings.all;
    }
    judgeDates(certFile, chain, { nowMs, renew }, findings);
    judgeChain(certFile, chain, findings);
    if (!own.checkPrivateKey(createPrivateKey(readFileSync(keyFile))))
      findings.bad(`${keyFile} is not the key of ${certFile}`, 'copy both from the same renewal');
    if (host !== '' && !isFor(own, host))
      findings.note(
        `${certFile} is not for ${host}, the host of streams.publicUrl`,
        'clients that connect to that name refuse it: request a certificate that includes it',
      );
  } catch (error) {
    findings.bad(
      `${certFile} or ${keyFile} cannot be read (${(error as Error).message})`,
      'make both readable for the server',
    );
  }
  return findings.all;
}

function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

function judgeDates(
  file: string,
  chain: readonly X509Certificate[],
  { nowMs, renew }: { readonly nowMs: number; readonly renew: string },
  findings: Findings,
): void {
  const endsMs = Math.min(...chain.map(({ validTo }) => Date.parse(validTo)));
  const beginsMs = Math.max(...chain.map(({ validFrom }) => Date.parse(validFrom)));
  const days = Math.floor((endsMs - nowMs) / DAY_MS);
  const end = new Date(endsMs).toISOString().slice(0, 10);
  if (endsMs <= nowMs) findings.bad(`${file} has expired (${end})`, renew);
  else if (beginsMs > nowMs)
    findings.bad(`${file} is not valid yet`, 'check the clock of this machine, or wait until it is');
  else if (days < SOON_DAYS) findings.note(`${file} expires in ${days} days (${end})`, renew);
  else findings.good(`${file} is valid until ${end}`);
}

/** Browsers fetch missing intermediate certificates; players and encoders do not. */
function judgeChain(file: string, chain: readonly X509Certificate[], findings: Findings): void {
  const [own] = chain;
  if (own!.checkIssued(own!)) {
    findings.note(`${file} is self-signed`, 'browsers and most players refuse it: use one from an authority');
    return;
  }
  const broken = chain.findIndex((each, i) => i + 1 < chain.length && !each.checkIssued(chain[i + 1]!));
  if (broken >= 0)
    findings.bad(
      `${file}: certificate ${broken + 1} was not signed by the next one`,
      "put them in order: the server's own, then its issuer, and so on (fullchain.pem)",
    );
  else if (chain.length === 1)
    findings.note(
      `${file} does not contain the issuer's certificate`,
      'if the issuer is an intermediate authority, players refuse it: use the full chain (fullchain.pem)',
    );
}
