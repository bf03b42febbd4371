/**
 * The addresses at which the server listens, all with the same acceptors (network.ts). Owned by ClientSide.
 *
 * A reload prepares what can fail (ports, certificates), and then puts it in force in one step. An address that stays goes on listening, and
 * every connection stays; its newcomers are served by its new options.
 */

import { shoutcastPortOf } from '../../config/addresses/addresses-config.js';
import { addressSteps } from '../../config/list-steps.js';
import type { Config } from '../../config/schema.js';
import { TlsHandshakes } from '../../net/tls/handshakes.js';
import { Address, type AddressParts, type AddressPorts } from './address.js';

/** An address of the next configuration, and the one that listens in its place now; null: none. */
interface AddressPair {
  readonly address: Address;
  readonly before: Address | null;
}

/**
 * The addresses of a configuration that is to come into force. If several processes share ports, all of them take a step before any takes the next
 * one, since a port is free only once all have released it.
 *
 *   makeWay ──► listen ──► take                 or, from each of them: discard ──► restore, and all is as before
 */
export class NextAddresses {
  readonly #pairs: readonly AddressPair[];
  readonly #leaving: readonly Address[];
  readonly #onTaken: () => void;

  constructor(pairs: readonly AddressPair[], leaving: readonly Address[], onTaken: () => void) {
    this.#pairs = pairs;
    this.#leaving = leaving;
    this.#onTaken = onTaken;
  }

  /** Releases the ports that new addresses need. */
  makeWay(): void {
    const wanted = new Set(this.#coming.flatMap(({ address }) => address.fixedPorts));
    for (const { address } of this.#other) wanted.add(address.shoutcastPort ?? 0);
    wanted.delete(0);
    for (const address of this.#leaving) {
      if (address.fixedPorts.some((port) => wanted.has(port))) void address.drain();
    }
    for (const { before } of this.#other) if (wanted.has(before.shoutcastPort ?? 0)) before.drainShoutcast();
  }

  /** Rejects if a port is not available. */
  async listen(): Promise<void> {
    for (const { address } of this.#coming) await address.listen();
    for (const { address } of [...this.#coming, ...this.#other]) await address.listenForShoutcast();
  }

  /** In force from here on. */
  take(): void {
    for (const { address, before } of this.#pairs) {
      if (before !== null && address !== before) address.takeOver(before);
    }
    for (const address of this.#leaving) {
      void address.drain();
      address.retire();
    }
    this.#onTaken();
  }

  /** They do not come into force. */
  discard(): void {
    for (const { address, before } of this.#pairs) if (address !== before) address.discard();
  }

  /** Listens again at the former ports. Never rejects: a port that another program has taken meanwhile is lost. */
  async restore(): Promise<void> {
    const before = [...this.#leaving, ...this.#pairs.flatMap(({ before }) => before ?? [])];
    for (const address of before) await Promise.allSettled([address.listen(), address.listenForShoutcast()]);
  }

  /** Addresses that stay and whose second port changes. */
  get #other(): readonly { readonly address: Address; readonly before: Address }[] {
    return this.#pairs.flatMap(({ address, before }) =>
      before !== null && address !== before && !address.sharesShoutcast(before) ? [{ address, before }] : [],
    );
  }

  /** New addresses, in whose place none listens yet. */
  get #coming(): readonly AddressPair[] {
    return this.#pairs.filter(({ before }) => before === null);
  }
}

export class Addresses {
  /** Of all addresses. */
  readonly handshakes: TlsHandshakes;
  readonly #parts: AddressParts;
  /** As the configuration has them. */
  #all: readonly Address[];
  #configs: Config['addresses'];

  /** Throws when a certificate cannot be read. */
  constructor(parts: Omit<AddressParts, 'handshakes'>) {
    const { config } = parts;
    this.handshakes = new TlsHandshakes(parts.clock, config.limits.handshakes);
    this.#parts = { ...parts, handshakes: this.handshakes };
    this.#configs = config.addresses;
    this.#all = config.addresses.map((address) => new Address(address, config, this.#parts));
  }

  /** Resolves with the ports of each address, in configured order; rejects if one is not available. */
  async listen(): Promise<readonly AddressPorts[]> {
    for (const address of this.#all) await address.listen();
    for (const address of this.#all) await address.listenForShoutcast();
    return this.ports;
  }

  get ports(): readonly AddressPorts[] {
    return this.#all.map(({ ports }) => ports);
  }

  /** The addresses of another configuration. Throws if a certificate cannot be read. */
  next(config: Config): NextAddresses {
    const { steps, gone } = addressSteps(this.#configs, config.addresses);
    const isLegacyChanged = JSON.stringify(config.legacy) !== JSON.stringify(this.#parts.config.legacy);
    const pairs: AddressPair[] = [];
    try {
      for (const { next, from, isAnew } of steps) {
        const before = from === null ? null : this.#all[from]!;
        const isOther =
          isAnew ||
          (isLegacyChanged && next.roles?.includes('legacy') === true) ||
          before?.shoutcastPort !== shoutcastPortOf(next, config.addresses);
        const made = before === null || isOther ? new Address(next, config, this.#parts) : before;
        pairs.push({ address: made, before });
      }
    } catch (error) {
      for (const { address, before } of pairs) if (address !== before) address.discard();
      throw error;
    }
    const leaving = gone.map((i) => this.#all[i]!);
    return new NextAddresses(pairs, leaving, () => {
      this.#all = pairs.map(({ address }) => address);
      this.#configs = config.addresses;
    });
  }

  /** Takes no more connections; those that were accepted go on. Resolves when the last one has ended. */
  async drain(): Promise<void> {
    await Promise.all(this.#all.map((address) => address.drain()));
  }

  /** Takes no more connections. Resolves when the last one has ended. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((address) => address.close()));
  }
}
