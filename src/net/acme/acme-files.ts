/**
 * The files of one certificate that the server obtains by ACME, in a folder of the data folder that only the server's user can read:
 *
 *   account.pem       the key of the account at the authority; its thumbprint is in each answer to a challenge (acme-answers.ts)
 *   certificate.pem   the chain and its key, in one file, so that net/tls/certificate.ts never reads one without the other
 *   orders.json       the times of recent orders, Unix milliseconds
 *
 * Each is written to `….new` and renamed. An unusable file is renamed to `….damaged`, and stops nothing. One process writes, the others read.
 */

import { X509Certificate } from 'node:crypto';
import { chmod, mkdir, open, readdir, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PAIR_FILE, pairProblem } from '../../config/addresses/tls.js';
import { isKey, newKey } from './acme-key.js';

export const ACCOUNT_FILE = 'account.pem';
const ORDERS_FILE = 'orders.json';
/** The longest file: a chain and its key, or a hundred orders. */
const MAX_BYTES = 256 * 1024;
const [FOLDER_MODE, FILE_MODE] = [0o700, 0o600];

/** Whether it is the name of such a file, or of a damaged or unfinished one. */
export function isAcmeFile(name: string): boolean {
  return [ACCOUNT_FILE, PAIR_FILE, ORDERS_FILE].includes(name.replace(/\.(?:damaged|new)$/, ''));
}

/** A certificate that can be used. */
export interface KeptPair {
  readonly pem: string;
  /** Unix milliseconds. */
  readonly beginsMs: number;
  readonly endsMs: number;
  /** Whether it is for this host. */
  isFor(domain: string): boolean;
}

export class AcmeFiles {
  readonly #folder: string;
  readonly #onDamaged: (file: string) => void;

  /** @param onDamaged a file was moved aside */
  constructor(folder: string, onDamaged: (file: string) => void) {
    this.#folder = folder;
    this.#onDamaged = onDamaged;
  }

  /** Called first. Sets the mode of existing folders too: others may be able to read one that was restored from a backup. */
  async prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: FOLDER_MODE });
    await chmod(dirname(this.#folder), FOLDER_MODE);
    await chmod(this.#folder, FOLDER_MODE);
  }

  /** The key of the account, made if there is none. */
  async account(): Promise<string> {
    const known = await this.#read(ACCOUNT_FILE, (text) => (isKey(text) ? text : null));
    if (known !== null) return known;
    const key = newKey();
    await this.saveAccount(key);
    return key;
  }

  async saveAccount(key: string): Promise<void> {
    await this.#write(ACCOUNT_FILE, key);
  }

  /** Null: there is none. */
  async pair(): Promise<KeptPair | null> {
    return await this.#read(PAIR_FILE, pairOf);
  }

  /**
   * Of the server's other unexpired certificates the one that is for most of these domains; null: none is for any.
   * If the domains of an address have changed, it serves until there is a new one.
   */
  async formerPair(domains: readonly string[], wallMs: number): Promise<KeptPair | null> {
    let [best, most]: [KeptPair | null, number] = [null, 0];
    const parent = dirname(this.#folder);
    for (const name of await readdir(parent)) {
      const pair = pairOf(await readFile(join(parent, name, PAIR_FILE), 'utf8').catch(() => ''));
      if (pair === null || pair.endsMs <= wallMs) continue;
      const count = domains.filter((domain) => pair.isFor(domain)).length;
      if (count > most) [best, most] = [pair, count];
    }
    return best;
  }

  async savePair(pem: string): Promise<void> {
    await this.#write(PAIR_FILE, pem);
  }

  async orders(): Promise<readonly number[]> {
    return (await this.#read(ORDERS_FILE, ordersIn)) ?? [];
  }

  async saveOrders(orders: readonly number[]): Promise<void> {
    await this.#write(ORDERS_FILE, JSON.stringify(orders));
  }

  /** @param parse returns null for an unusable text */
  async #read<T>(name: string, parse: (text: string) => T | null): Promise<T | null> {
    const file = join(this.#folder, name);
    let bytes: Buffer;
    try {
      bytes = await readFile(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    const value = bytes.length > MAX_BYTES ? null : parse(bytes.toString());
    if (value !== null) return value;
    await rename(file, `${file}.damaged`);
    this.#onDamaged(file);
    return null;
  }

  async #write(name: string, text: string): Promise<void> {
    const file = join(this.#folder, name);
    const handle = await open(`${file}.new`, 'w', FILE_MODE);
    try {
      await handle.chmod(FILE_MODE);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${file}.new`, file);
  }
}

/** Null: unusable. An expired certificate is used until there is another. */
export function pairOf(pem: string): KeptPair | null {
  const bytes = Buffer.from(pem);
  if (pairProblem(bytes, bytes) !== undefined) return null;
  const certificate = new X509Certificate(bytes);
  const [beginsMs, endsMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const isFor = (domain: string) => certificate.checkHost(domain) !== undefined;
  return endsMs > beginsMs ? { pem, beginsMs, endsMs, isFor } : null;
}

function ordersIn(text: string): readonly number[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((each) => Number.isFinite(each)) ? value : null;
  } catch {
    return null;
  }
}
