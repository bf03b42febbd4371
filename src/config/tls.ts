/**
 * The certificate of an address: two PEM files, relative to the configuration file. Both are tried together at the start, so that
 * a pair that cannot be used stops the start instead of refusing clients. net/tls/certificate.ts reads them again while the server runs.
 */

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { flag, readableFile, section } from './field.js';

/** The problem of a pair of PEM texts in OpenSSL's words, which hold nothing of the key; undefined: it can be used. */
export function pairProblem(cert: Buffer, key: Buffer): string | undefined {
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    // As in `error:0480006C:PEM routines::no start line`.
    return (error as Error).message.replace(/^error:[^:]*:/, '');
  }
}

/** @param folder of the configuration file, absolute. Out come absolute paths. */
export function tlsSchema(folder: string) {
  return section({
    certFile: readableFile(folder),
    keyFile: readableFile(folder),
    sharePort: flag().optional(),
  }).superRefine(({ certFile, keyFile }, context) => {
    const [cert, key] = [read(certFile), read(keyFile)];
    const problem = cert && key && pairProblem(cert, key);
    if (problem === undefined) return;
    const message = `must be a PEM certificate (certFile) and its PEM key without a passphrase (keyFile): ${problem}`;
    context.addIssue({ code: 'custom', message });
  });
}

/** Undefined: the problem of this file is reported already. */
function read(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
