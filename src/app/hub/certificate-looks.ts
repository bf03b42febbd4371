/** When the certificate of each address expires, for alerts and metrics: read from its file now and then, in one process of the server. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CertificateFacts } from '../../alerts/server-facts.js';
import { type AcmeConfig, certificateFiles, certificateName } from '../../config/addresses/tls.js';
import type { LoadedConfig } from '../../config/load.js';
import type { MetricRegistry } from '../metrics/registry.js';

/** How often files are read, where they are asked for. */
const LOOK_MS = 10_000;

export interface CertificateLookParts {
  /** The one in force. */
  readonly config: LoadedConfig;
  now(): number;
  /** Why the last order of a certificate failed, by its name; null: it did not. */
  problemOf(name: string): string | null;
}

export class CertificateLooks {
  readonly #parts: CertificateLookParts;
  #facts: readonly CertificateFacts[] = [];
  #lookedMs = Number.NEGATIVE_INFINITY;
  #isLooking = false;

  constructor(parts: CertificateLookParts) {
    this.#parts = parts;
  }

  /** As they were a moment ago. A disk that hangs holds nothing up: it is not asked again before it has answered. */
  get facts(): readonly CertificateFacts[] {
    const nowMs = this.#parts.now();
    if (!this.#isLooking && nowMs - this.#lookedMs >= LOOK_MS) {
      this.#lookedMs = nowMs;
      this.#isLooking = true;
      void this.#look();
    }
    return this.#facts;
  }

  observe(registry: MetricRegistry): void {
    registry.gauge(
      'airsplice_certificate_expires_seconds',
      'When the certificate of an address expires, Unix seconds; absent: there is none, or it is unreadable',
      ['address'],
      (set) => {
        for (const { address, expiresMs } of this.facts) if (expiresMs !== null) set({ address }, expiresMs / 1000);
      },
    );
  }

  async #look(): Promise<void> {
    const { config } = this.#parts;
    const found = config.addresses.map(async ({ host, port, tls }) => {
      if (tls === undefined) return null;
      const { certFile } = certificateFiles(tls, config.data.folder);
      return this.#factsOf(`${host}:${port}`, certFile, tls.acme);
    });
    this.#facts = (await Promise.all(found)).flatMap((facts) => facts ?? []);
    this.#isLooking = false;
  }

  async #factsOf(address: string, file: string, acme: AcmeConfig | undefined): Promise<CertificateFacts | null> {
    const problem = acme === undefined ? null : this.#parts.problemOf(certificateName(acme));
    const own = { isOwn: acme !== undefined, problem };
    try {
      const { validFrom, validTo } = new X509Certificate(await readFile(file));
      const [beginsMs, expiresMs] = [Date.parse(validFrom), Date.parse(validTo)];
      return Number.isNaN(expiresMs) ? null : { address, expiresMs, lifeMs: expiresMs - beginsMs, ...own };
    } catch {
      // Of an operator's files net/tls/certificate.ts logs it. One of ours is missing until the first order has brought it.
      return problem === null ? null : { address, expiresMs: null, lifeMs: 0, ...own };
    }
  }
}
