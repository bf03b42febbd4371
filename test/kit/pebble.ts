/**
 * Debian's `pebble`, a certificate authority for tests, and its name server, which resolves every domain to this machine. It uses the kit's
 * certificate. It rejects some nonces, as real authorities do.
 */

import { writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import type { Test } from 'tap';
import { ONE, PEM } from './certificate.js';
import { freePort, freePorts } from './process.js';
import { missing, Program } from './program.js';
import { tempFolder } from './temp-folder.js';

/** Why a test that needs it is skipped; false: it is installed. */
export const noPebble = missing('pebble', 'pebble-challtestsrv');

export interface PebbleSetting {
  /** The port for its proofs, instead of port 80. */
  readonly httpPort: number;
  /** Validity of certificates. */
  readonly validSeconds?: number;
  /** Key ids and keys for external account binding, which is then required. */
  readonly macKeys?: Readonly<Record<string, string>>;
}

export class Pebble {
  readonly port: number;
  /** URL of its directory. */
  readonly url: string;
  /** The value for `caFile`. */
  readonly caFile = `${PEM}one.cert.pem`;
  readonly #program: Program;
  readonly #managementPort: number;

  private constructor(program: Program, port: number) {
    this.#program = program;
    this.port = port;
    this.#managementPort = port + 1;
    this.url = `https://127.0.0.1:${port}/dir`;
  }

  /** Resolves once it answers. @param port of an earlier start */
  static async start(t: Test, setting: PebbleSetting, port?: number): Promise<Pebble> {
    const { httpPort, validSeconds, macKeys } = setting;
    const [dns, listens] = [await freePorts(2), port ?? (await freePort())];
    const names = ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dns + 1}`, '-defaultIPv6', ''];
    new Program(t, 'pebble-challtestsrv', [...names, '-http01', '', '-https01', '', '-tlsalpn01', '']);
    const config = join(tempFolder(t), 'pebble.json');
    const pebble = {
      listenAddress: `127.0.0.1:${listens}`,
      managementListenAddress: `127.0.0.1:${listens + 1}`,
      certificate: `${PEM}one.cert.pem`,
      privateKey: `${PEM}one.key.pem`,
      httpPort,
      tlsPort: 1,
      ocspResponderURL: '',
      externalAccountBindingRequired: macKeys !== undefined,
      ...(macKeys && { externalAccountMACKeys: macKeys }),
      ...(validSeconds !== undefined && { certificateValidityPeriod: validSeconds }),
    };
    writeFileSync(config, JSON.stringify({ pebble }));
    const env = { PEBBLE_VA_NOSLEEP: '1' };
    const program = new Program(t, 'pebble', ['-config', config, '-dnsserver', `127.0.0.1:${dns}`], env);
    const started = new Pebble(program, listens);
    await program.until(
      () =>
        started.#get('/dir', listens).then(
          () => true,
          () => false,
        ),
      20_000,
      'start',
    );
    return started;
  }

  /** The root certificate, PEM. */
  root(): Promise<string> {
    return this.#get('/roots/0', this.#managementPort);
  }

  /** The end of its output. */
  get said(): string {
    return this.#program.said;
  }

  async kill(): Promise<void> {
    await this.#program.stop('SIGKILL');
  }

  #get(path: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const asked = get({ host: '127.0.0.1', port, path, ca: ONE.cert, agent: false }, (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (text: string) => {
          body += text;
        });
        answer.on('end', () => (answer.statusCode === 200 ? resolve(body) : reject(new Error(`${answer.statusCode}`))));
      });
      asked.on('error', reject);
    });
  }
}
