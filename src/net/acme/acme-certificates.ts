/**
 * All certificates that the server obtains by ACME, from the configuration in force; one is ordered at a time. Runs in the one process that carries
 * the audio. Without such certificates nothing is loaded or done.
 */

import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { SerialQueue } from '../../base/serial-queue.js';
import { type AcmeConfig, acmeCertificates, certificateFolder } from '../../config/addresses/tls.js';
import type { LoadedConfig } from '../../config/load.js';
import { isSame } from '../../config/same.js';
import { AcmeCertificate } from './acme-certificate.js';
import { AcmeFiles } from './acme-files.js';
import type { AcmeTurn } from './acme-turn.js';
import { removeFormer } from './former-files.js';
import { isProved } from './own-proof.js';

/** How often files of certificates that are no longer configured are looked for. */
const FORMER_MS = 86_400_000;

export interface AcmeCertificatesParts {
  /** The configuration in force. */
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** The turn of a certificate, by its name; null: no other machine has the certificate. */
  turnOf(name: string): AcmeTurn | null;
  /** A certificate is no longer configured. */
  onGone(name: string): void;
}

export class AcmeCertificates {
  readonly #parts: AcmeCertificatesParts;
  readonly #all = new Map<string, AcmeCertificate>();
  /** Their options, by the same names. */
  #configured: ReadonlyMap<string, AcmeConfig> = new Map();
  readonly #ending = new AbortController();
  readonly #orders = new SerialQueue();
  #formerAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: AcmeCertificatesParts) {
    this.#parts = parts;
  }

  /** By their names (config/addresses/tls.ts). */
  get all(): ReadonlyMap<string, AcmeCertificate> {
    return this.#all;
  }

  /** The configuration has come into force, or has changed. */
  follow(): void {
    const wanted = acmeCertificates(this.#parts.config.addresses);
    for (const name of this.#all.keys()) {
      if (wanted.has(name)) continue;
      this.#all.delete(name);
      this.#parts.onGone(name);
    }
    for (const [name, acme] of wanted) {
      const known = this.#all.get(name);
      if (known === undefined) this.#all.set(name, this.#make(name, acme));
      else if (!isSame(this.#configured.get(name), acme)) known.again();
    }
    this.#configured = wanted;
  }

  /** Called once a second. */
  look(nowMs: number): void {
    if (this.#ending.signal.aborted) return;
    for (const certificate of this.#all.values()) certificate.look(nowMs);
    if (nowMs >= this.#formerAtMs) this.#removeFormer(nowMs);
  }

  /** Aborts the order under way. Idempotent. */
  close(): void {
    this.#ending.abort();
  }

  #removeFormer(nowMs: number): void {
    const { config, clock, log } = this.#parts;
    const [acme] = this.#configured.values();
    if (acme === undefined) return;
    this.#formerAtMs = nowMs + FORMER_MS;
    const parent = dirname(certificateFolder(acme, config.data.folder));
    void removeFormer(parent, this.#configured, clock.wallMs()).then((certificates) => {
      if (certificates.length > 0)
        log.info({ certificates }, 'removed the files of expired certificates that are no longer configured');
    });
  }

  #make(name: string, acme: AcmeConfig): AcmeCertificate {
    const { config, clock, log, turnOf } = this.#parts;
    const { domains } = acme;
    const folder = certificateFolder(acme, config.data.folder);
    const files = new AcmeFiles(folder, (file) =>
      log.error({ file }, 'a certificate file was damaged: moved aside, creating a new one'),
    );
    const certificate = new AcmeCertificate(
      {
        acme,
        files,
        clock,
        turn: turnOf(name),
        order: (_, accountKey) => this.#order(name, accountKey),
        isProved: ({ domains: [domain = ''] }, accountKey) =>
          isProved(config.addresses, domain, accountKey, this.#ending.signal),
        random: Math.random,
      },
      {
        onMissing: () => log.warn({ domains }, 'no certificate yet: ordering one; TLS is refused until it arrives'),
        onIssued: ({ endsMs }) => log.info({ domains, expires: new Date(endsMs).toISOString() }, 'a new certificate'),
        onFailed: (reason, pauseMs) => {
          if (this.#ending.signal.aborted) return;
          const text =
            certificate.pair === null
              ? 'no certificate: TLS is refused until the next order succeeds'
              : 'renewing the certificate failed: retrying';
          log.error({ domains, reason, againSeconds: Math.round(pauseMs / 1000) }, text);
        },
        onError: (err) =>
          log.error({ domains, err }, 'the files of a certificate cannot be used: it cannot be renewed'),
      },
    );
    return certificate;
  }

  /** One after the other (acme-client.ts). */
  #order(name: string, accountKey: string): Promise<string> {
    return this.#orders.run(async () => {
      const { signal } = this.#ending;
      signal.throwIfAborted();
      // The options in force: e-mail, account and authorities may have changed.
      const acme = acmeCertificates(this.#parts.config.addresses).get(name);
      if (acme === undefined) throw new Error('it is no longer configured');
      const { domains, email, directoryUrl, caFile, eab } = acme;
      const ca = caFile === undefined ? undefined : await readFile(caFile);
      const { orderCertificate } = await import('./acme-client.js');
      const account = eab && { kid: eab.keyId, hmacKey: eab.key.export().toString('base64') };
      return await orderCertificate({ directoryUrl, domains, email, ca, eab: account, accountKey, signal });
    });
  }
}
