/** Certificates that the server gets by itself, put together where the channels are: who of several machines orders them, and their metrics. */

import * as z from 'zod';
import { SealedTurn } from '../../cluster/sealed-turn.js';
import type { Leased } from '../../cluster/tapes/leases.js';
import { AcmeCertificates } from '../../net/acme/acme-certificates.js';
import type { SharedCertificate } from '../../net/acme/acme-turn.js';
import type { Core } from '../core.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { badRecords } from './bad-records.js';
import { CertificateLooks } from './certificate-looks.js';

const sharedSchema: z.ZodType<SharedCertificate> = z.object({ account: z.string(), pair: z.string().nullable() });

export interface HubCertificates {
  readonly certificates: AcmeCertificates;
  /** Those of all addresses. */
  readonly looks: CertificateLooks;
  /** By which machines agree who orders: one for each certificate, where machines have a secret in common. */
  leased(): Iterable<readonly [name: string, leased: Leased]>;
}

export function makeCertificates({ config, clock, log, repeats }: Core, registry: MetricRegistry): HubCertificates {
  const { cluster } = config;
  const turns = new Map<string, SealedTurn<SharedCertificate>>();
  const onBad = badRecords(repeats);
  const certificates = new AcmeCertificates({
    config,
    clock,
    log,
    turnOf: (name) => {
      if (cluster?.tapes === undefined) return null;
      const turn = new SealedTurn({
        name,
        label: 'airsplice certificates 1',
        node: cluster.node,
        secret: cluster.tapes.secret.export(),
        schema: sharedSchema,
        onBad: (reason) => onBad(leaseName(name), reason),
      });
      turns.set(name, turn);
      return turn;
    },
    onGone: (name) => turns.delete(name),
  });
  registry.counter(
    'airsplice_certificate_orders_total',
    'Certificates that this server ordered from an authority',
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

/** No channel has a slash in its key. */
function leaseName(certificate: string): string {
  return `${certificate}/certificate`;
}
