/**
 * The certificate and key of an address, read again when their files change, so that a renewal needs no restart. The files are polled:
 * a watch on a file is lost when it is replaced, and one on its folder when that is a link, as renewal tools make them.
 * Invariant: a pair that cannot be used never replaces one that can.
 */

import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Alarm, AlarmHandler, Clock } from '../../base/clock.js';
import { nextWhole } from '../../base/whole-time.js';
import { pairProblem } from '../../config/addresses/tls.js';

const CHECK_MS = 2000;

export interface CertificateFiles {
  /** PEM, absolute paths. */
  readonly certFile: string;
  readonly keyFile: string;
  /** The server obtains them by ACME: until then they may be missing or damaged. Absent: an operator provides them. */
  readonly isOwn?: boolean;
}

/** A certificate with its key, as `tls.createServer` and `setSecureContext` take them. */
export interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface CertificateOutput {
  onRenewed(pair: Pair): void;
  /** The files have changed and cannot be used; called once for each change. */
  onRefused(reason: string): void;
}

export class Certificate implements AlarmHandler {
  /** The pair read at the start; null: there is none yet. */
  readonly first: Pair | null;
  readonly #files: CertificateFiles;
  readonly #clock: Clock;
  readonly #output: CertificateOutput;
  #current: Pair | null;
  #seen = '';
  #alarm: Alarm;
  #stopped = false;

  /** Throws if an operator's file cannot be read. */
  constructor(files: CertificateFiles, clock: Clock, output: CertificateOutput) {
    this.#files = files;
    this.#clock = clock;
    this.#output = output;
    this.first = files.isOwn === true ? usable(files) : read(files);
    this.#current = this.first;
    this.#alarm = clock.alarm(nextWhole(CHECK_MS, clock.now()), this);
  }

  onAlarm(): void {
    void this.#check()
      .catch((error: NodeJS.ErrnoException) => {
        if (this.#files.isOwn !== true || error.code !== 'ENOENT') this.#refuse(error.message);
      })
      .finally(() => {
        if (!this.#stopped) this.#alarm = this.#clock.alarm(nextWhole(CHECK_MS, this.#clock.now()), this);
      });
  }

  /** The last pair that can be used; null: none yet. */
  get current(): Pair | null {
    return this.#current;
  }

  stop(): void {
    this.#stopped = true;
    this.#alarm.cancel();
  }

  async #check(): Promise<void> {
    const { certFile, keyFile } = this.#files;
    // Before reading, so that a change in between is seen next time; in order, so that of two missing files the same one is reported.
    const seen = `${await stampOf(certFile)} ${await stampOf(keyFile)}`;
    if (seen === this.#seen) return;
    const pair = { cert: await readFile(certFile), key: await readFile(keyFile) };
    this.#seen = seen;
    if (this.#stopped || isEqual(pair, this.#current)) return;
    const problem = pairProblem(pair.cert, pair.key);
    if (problem !== undefined) {
      this.#output.onRefused(problem);
      return;
    }
    this.#current = pair;
    this.#output.onRenewed(pair);
  }

  /** Reports the same fault once. */
  #refuse(reason: string): void {
    if (this.#seen === reason) return;
    this.#seen = reason;
    this.#output.onRefused(reason);
  }
}

function read({ certFile, keyFile }: CertificateFiles): Pair {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

/** Null: a file is missing, or the pair cannot be used. */
function usable(files: CertificateFiles): Pair | null {
  try {
    const pair = read(files);
    return pairProblem(pair.cert, pair.key) === undefined ? pair : null;
  } catch {
    return null;
  }
}

function isEqual(pair: Pair, other: Pair | null): boolean {
  return other !== null && pair.cert.equals(other.cert) && pair.key.equals(other.key);
}

async function stampOf(file: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}
