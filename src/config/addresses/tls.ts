/**
 * The certificate of an address: two PEM files, relative to the configuration file, or one that the server orders from an authority by ACME
 * (RFC 8555). Files are tried together at the start, so that an unusable pair prevents the start instead of failing clients' handshakes.
 * net/tls/certificate.ts reads them again while the server runs; net/acme/ orders certificates.
 */

import { createHash, createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { z } from 'zod';
import { checked, flag, fromEnvironment, list, parsed, readableFile, section, text, webUrl } from '../field.js';
import type { ConfigContext } from '../station-config.js';

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';
/** Let's Encrypt allows no more in one certificate. */
const MAX_DOMAINS = 100;
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const DOMAIN = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`);
const EMAIL = /^[^\s@,?]{1,64}@[^\s@,?]{1,255}$/;
/** RFC 8555, 7.3.4: base64url, with or without its padding. */
const MAC_KEY = /^[A-Za-z0-9_-]{22,}={0,2}$/;
/** Maximum characters of the domain in a certificate's name, which is also the name of a folder and of a lease. */
const MAX_NAME = 100;
/** A certificate by ACME, its chain and its key are in one file, so that they are always read together. */
export const PAIR_FILE = 'certificate.pem';

/** The problem of a pair of PEM texts in OpenSSL's words, which never contain the key; undefined: it can be used. */
export function pairProblem(cert: Buffer, key: Buffer): string | undefined {
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    // Such as `error:0480006C:PEM routines::no start line`.
    return (error as Error).message.replace(/^error:[^:]*:/, '');
  }
}

const domain = () =>
  checked(
    'must be a host name in lower case, such as radio.example.org; for a wildcard or an IP address use certFile',
    (value) => DOMAIN.test(value) && isIP(value) === 0,
  );

/** Configuring it is the consent to the authority's terms. */
function acmeSchema({ env, folder }: Pick<ConfigContext, 'env' | 'folder'>) {
  return section({
    domains: list(domain(), 1, MAX_DOMAINS).refine((all) => new Set(all).size === all.length, {
      error: 'must list each host once',
    }),
    email: checked('must be an e-mail address', (value) => EMAIL.test(value)).optional(),
    directoryUrl: webUrl().default(LETS_ENCRYPT),
    // CA certificates to verify the directory's server. Absent: those of Node.
    caFile: readableFile(folder).optional(),
    eab: section({ keyId: text(1, 1024), key: macKeySchema(env) }).optional(),
  });
}

/** The authority's key for external account binding (RFC 8555, 7.3.4), as a KeyObject, which does not print it. */
function macKeySchema(env: NodeJS.ProcessEnv) {
  const error = "must be env: and the name of an environment variable that contains the authority's key, in base64url";
  return parsed(error, (value) => {
    const key = fromEnvironment(value, env) ?? '';
    return MAC_KEY.test(key) ? createSecretKey(Buffer.from(key, 'base64url')) : undefined;
  });
}

/** The result has absolute paths, and either both files or `acme`. */
export function tlsSchema(context: Pick<ConfigContext, 'env' | 'folder'>) {
  return section({
    certFile: readableFile(context.folder).optional(),
    keyFile: readableFile(context.folder).optional(),
    acme: acmeSchema(context).optional(),
    sharePort: flag().optional(),
  }).superRefine(({ certFile, keyFile, acme }, { addIssue }) => {
    if (acme !== undefined && (certFile ?? keyFile) !== undefined) {
      addIssue({ code: 'custom', message: 'needs either certFile and keyFile, or acme, not both' });
    } else if (acme === undefined && (certFile ?? keyFile) === undefined) {
      addIssue({ code: 'custom', message: 'needs certFile and keyFile, or acme' });
    } else if (acme === undefined && (certFile === undefined || keyFile === undefined)) {
      const path = [certFile === undefined ? 'certFile' : 'keyFile'];
      addIssue({ code: 'custom', path, message: 'is missing: a certificate and its key belong together' });
    }
    const [cert, key] = [read(certFile), read(keyFile)];
    const problem = cert && key && pairProblem(cert, key);
    if (problem === undefined) return;
    const message = `must be a PEM certificate (certFile) and its PEM key without a passphrase (keyFile): ${problem}`;
    addIssue({ code: 'custom', message });
  });
}

type TlsConfig = z.output<ReturnType<typeof tlsSchema>>;
export type AcmeConfig = NonNullable<TlsConfig['acme']>;

/** Rules between addresses with `acme`: one serves port 80 without TLS, and each domain is in one certificate only. */
export function checkAcme(
  addresses: readonly { readonly tls?: TlsConfig | undefined }[],
  { addIssue }: Pick<z.core.$RefinementCtx, 'addIssue'>,
): void {
  const owners = new Map<string, { readonly index: number; readonly acme: AcmeConfig }>();
  const hasPlain = addresses.some(({ tls }) => tls === undefined || tls.sharePort === true);
  for (const [index, { tls }] of addresses.entries()) {
    if (tls?.acme === undefined) continue;
    const { acme } = tls;
    const problem = (path: readonly (string | number)[], message: string) =>
      addIssue({ code: 'custom', path: [index, 'tls', 'acme', ...path], message });
    if (!hasPlain) {
      problem([], 'needs an address without tls (or with sharePort) that is reachable at port 80 of its domains');
    }
    for (const [at, name] of acme.domains.entries()) {
      const owner = owners.get(name);
      if (owner === undefined) owners.set(name, { index, acme });
      else if (certificateName(owner.acme) !== certificateName(acme)) {
        const other = `addresses.${owner.index}`;
        problem(
          ['domains', at],
          `is already in another certificate (${other}): write the same acme in both, or other domains`,
        );
      }
    }
  }
}

/** The name of a certificate's folder, unique to its domains and directory. */
export function certificateName({ domains, directoryUrl }: Pick<AcmeConfig, 'domains' | 'directoryUrl'>): string {
  const sorted = [...domains].sort();
  const digest = createHash('sha256')
    .update(JSON.stringify([directoryUrl, ...sorted]))
    .digest('hex');
  return `${sorted[0]!.slice(0, MAX_NAME)}-${digest.slice(0, 12)}`;
}

/** Whether a folder's name has the form of certificateName. */
export function isCertificateName(name: string): boolean {
  return /^[a-z0-9.-]+-[0-9a-f]{12}$/.test(name);
}

/** The folder of a certificate's files. @param data the data folder */
export function certificateFolder(acme: Pick<AcmeConfig, 'domains' | 'directoryUrl'>, data: string): string {
  return join(resolve(data), 'acme', certificateName(acme));
}

/** The files of an address's certificate. @param data the data folder */
export function certificateFiles(
  { acme, certFile = '', keyFile = '' }: Omit<TlsConfig, 'sharePort'>,
  data: string,
): { readonly certFile: string; readonly keyFile: string; readonly isOwn: boolean } {
  if (acme === undefined) return { certFile, keyFile, isOwn: false };
  const file = join(certificateFolder(acme, data), PAIR_FILE);
  return { certFile: file, keyFile: file, isOwn: true };
}

/** The certificates that the server orders, by name: several addresses may share one. */
export function acmeCertificates(
  addresses: readonly { readonly tls?: TlsConfig | undefined }[],
): ReadonlyMap<string, AcmeConfig> {
  const found = addresses.flatMap(({ tls }) => (tls?.acme === undefined ? [] : [tls.acme]));
  return new Map(found.map((acme) => [certificateName(acme), acme]));
}

/** The content of a file; undefined: none is named, or its problem is reported already. */
function read(file: string | undefined): Buffer | undefined {
  try {
    return file === undefined ? undefined : readFileSync(file);
  } catch {
    return undefined;
  }
}
