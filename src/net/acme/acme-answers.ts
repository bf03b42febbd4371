/**
 * Answers HTTP-01 challenges (RFC 8555, 8.3) with the requested token and the thumbprint of the account. The account's key is all that is needed,
 * so any process of any machine can answer without knowing the order. That is as safe as knowing the tokens: the authority expects the thumbprint
 * of the account that has ordered, and no other account has it.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.js';
import { type AcmeConfig, acmeCertificates, certificateFolder } from '../../config/addresses/tls.js';
import type { Config } from '../../config/schema.js';
import { ACCOUNT_FILE } from './acme-files.js';
import { thumbprintOf } from './acme-key.js';

/** Base64url, with generous bounds: RFC 8555, 8.3 requires at least 22 characters. */
const TOKEN = /^[A-Za-z0-9_-]{16,256}$/;
/** Anyone may ask, so the file is not read for each request. */
const FRESH_MS = 1000;

interface Thumbprint {
  /** Null: there is no account. */
  readonly thumbprint: Promise<string | null>;
  readonly untilMs: number;
}

export class AcmeAnswers {
  /** The configuration in force. */
  readonly #config: Pick<Config, 'addresses' | 'data'>;
  readonly #clock: Clock;
  /** By the name of the certificate. */
  readonly #known = new Map<string, Thumbprint>();

  constructor(config: Pick<Config, 'addresses' | 'data'>, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** @param host the Host header; undefined: none @returns null: no certificate is for this host, or the token is malformed */
  async answer(host: string | undefined, token: string): Promise<string | null> {
    if (!TOKEN.test(token)) return null;
    const all = acmeCertificates(this.#config.addresses);
    const name = (host ?? '').toLowerCase().replace(/\.?(:\d*)?$/, '');
    const found = [...all].find(([, { domains }]) => domains.includes(name));
    // A proxy may change the Host.
    const [certificate, acme] = found ?? (all.size === 1 ? [...all][0]! : []);
    if (certificate === undefined || acme === undefined) return null;
    const thumbprint = await this.#thumbprint(certificate, acme);
    return thumbprint === null ? null : `${token}.${thumbprint}`;
  }

  #thumbprint(certificate: string, acme: AcmeConfig): Promise<string | null> {
    const known = this.#known.get(certificate);
    if (known !== undefined && this.#clock.now() < known.untilMs) return known.thumbprint;
    const file = join(certificateFolder(acme, this.#config.data.folder), ACCOUNT_FILE);
    const thumbprint = readFile(file, 'utf8')
      .then(thumbprintOf)
      .catch(() => null);
    this.#known.set(certificate, { thumbprint, untilMs: this.#clock.now() + FRESH_MS });
    return thumbprint;
  }
}
