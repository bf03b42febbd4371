/** Certificates that the server gets by itself, put together where the channels are: who of several machines orders them, and their metrics. */

import { CertificateTurn, leaseName } from '../../cluster/certificate-turn.js';
import type { Leased } from '../../cluster/tapes/leases.js';
import { AcmeCertificates } from '../../net/acme/acme-certificates.js';
import type { Core } from '../core.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { badRecords } from './bad-records.js';
import { CertificateLooks } from './certificate-looks.js';

export interface HubCertificates {
  readonly certificates: AcmeCertificates;
  /** Those of all addresses. */
  readonly looks: CertificateLooks;
  /** By which machines agree who orders: one for each certificate, where machines have a secret in common. */
  leased(): Iterable<readonly [name: string, leased: Leased]>;
}

export function makeCertificates(
  { config, clock, log, repeats, onError }: Core,
  registry: MetricRegistry,
): HubCertificates {
  const { cluster } = config;
  const turns = new Map<string, CertificateTurn>();
  const onBad = badRecords(repeats);
  const certificates = new AcmeCertificates({
    config,
    clock,
    log,
    turnOf: (name) => {
      if (cluster?.tapes === undefined) return null;
      const secret = cluster.tapes.secret.export();
      const turn = new CertificateTurn(name, cluster.node, secret, (reason) => onBad(leaseName(name), reason));
      turns.set(name, turn);
      return turn;
    },
    onGone: (name) => turns.delete(name),
    onError,
  });
  registry.counter(
    'airsplice_certificate_orders_total',
    'Certificates that this server has ordered of an authority',
    ['certificate', 'outcome'],
    (set) => {
      for (const [certificate, { counts }] of certificates.all)
        for (const [outcome, count] of Object.entries(counts)) set({ certificate, outcome }, count);
    },
  );
  const looks = new CertificateLooks({
    config,
    now: () => clock.now(),
    problemOf: (name) => certificates.all.get(name)?.problem ?? null,
  });
  looks.observe(registry);
  return {
    certificates,
    looks,
    *leased() {
      for (const [name, turn] of turns) yield [leaseName(name), turn];
    },
  };
}
