/**
 * The country of an address, from the operator's file in MaxMind's format (GeoLite2-Country, DB-IP, IPinfo). The only user of the package maxmind.
 * A new file is loaded within a minute; if it cannot be read, the last one stays in use.
 */

import { readFile, stat } from 'node:fs/promises';
import { Reader } from 'maxmind';
import { plainAddress } from '../base/ip.js';
import { UNKNOWN } from './figures.js';

const CODE = /^[A-Za-z]{2}$/;

/** The record of an address, in the forms of several vendors. */
interface Located {
  readonly country?: { readonly iso_code?: unknown } | string;
  readonly registered_country?: { readonly iso_code?: unknown };
  readonly country_code?: unknown;
}

export class Countries {
  readonly #file: () => string;
  readonly #onError: (error: Error) => void;
  #reader: Reader<never> | null = null;
  /** Identifies the last file that was read, or was reported as unreadable. */
  #known = '';

  /** @param file "": none, all countries are unknown @param onError called once for each file that cannot be read */
  constructor(file: () => string, onError: (error: Error) => void) {
    this.#file = file;
    this.#onError = onError;
  }

  /** ISO 3166-1, or `unknown`. Takes microseconds. */
  of(address: string): string {
    const plain = plainAddress(address);
    if (this.#reader === null || plain === '') return UNKNOWN;
    let located: Located | null;
    try {
      located = this.#reader.get(plain) as Located | null;
    } catch {
      return UNKNOWN;
    }
    const country = typeof located?.country === 'object' ? located.country.iso_code : located?.country;
    const code = country ?? located?.country_code ?? located?.registered_country?.iso_code;
    return typeof code === 'string' && CODE.test(code) ? code.toUpperCase() : UNKNOWN;
  }

  /** Reads the file if it has changed. Called at the start and each minute. */
  async refresh(): Promise<void> {
    const file = this.#file();
    if (file === '') {
      this.#reader = null;
      this.#known = '';
      return;
    }
    let found = `${file} is missing`;
    try {
      const { ino, size, mtimeMs } = await stat(file);
      found = `${file} ${ino} ${size} ${mtimeMs}`;
      if (found === this.#known) return;
      this.#reader = new Reader(await readFile(file));
    } catch (cause) {
      if (found !== this.#known) {
        this.#onError(new Error(`statistics.countryFile cannot be read: ${(cause as Error).message}`, { cause }));
      }
    }
    this.#known = found;
  }
}
