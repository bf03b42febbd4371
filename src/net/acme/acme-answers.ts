/**
 * What an authority reads on port 80 to see that a domain leads here (HTTP-01: RFC 8555, 8.3): the token that it asks for, with the thumbprint of the
 * account that orders. So any process of any machine answers by itself: the key of the account is all that it needs, and no order need be known.
 * That is not less safe than to know the tokens: the authority looks for the thumbprint of the account that has ordered, which no other has.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.js';
import { type AcmeConfig, acmeCertificates, certificateFolder } from '../../config/addresses/tls.js';
import type { Config } from '../../config/schema.js';
import { ACCOUNT_FILE } from './acme-files.js';
import { thumbprintOf } from './acme-key.js';

/** Base64url of 128 bits at least, and no more than anybody uses. */
const TOKEN = /^[A-Za-z0-9_-]{16,256}$/;
/** Anybody may ask: the file is not read for each question. */
const FRESH_MS = 1000;

interface Thumbprint {
  /** Null: there is no account. */
  readonly thumbprint: Promise<string | null>;
  readonly untilMs: number;
}

export class AcmeAnswers {
  /** The one in force. */
  readonly #config: Pick<Config, 'addresses' | 'data'>;
  readonly #clock: Clock;
  /** By certificate. */
  readonly #known = new Map<string, Thumbprint>();

  constructor(config: Pick<Config, 'addresses' | 'data'>, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** @param host as in the request, with its port; undefined: it has none @returns null: nothing is to be proved for this host */
  async answer(host: string | undefined, token: string): Promise<string | null> {
    if (!TOKEN.test(token)) return null;
    const all = acmeCertificates(this.#config.addresses);
    const name = (host ?? '').toLowerCase().replace(/\.?(:\d*)?$/, '');
    const found = [...all].find(([, { domains }]) => domains.includes(name));
    // A proxy in front may ask by another name.
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
