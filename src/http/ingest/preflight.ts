/**
 * What Node's HTTP server answers about a mount at an address that serves encoders and no listeners: which methods it takes. An encoder
 * itself never comes here, the front knows it by its first bytes (net/first-bytes.ts).
 */

import type { Mount } from '../../channel/mount.js';
import { notServed, sendProblem } from '../problem.js';
import type { Exchange, HttpService } from '../service.js';

const METHODS = 'OPTIONS, PUT, SOURCE';

export class EncoderPreflight implements HttpService {
  readonly role = 'encoder';
  readonly #mounts: ReadonlyMap<string, Mount>;

  constructor(mounts: ReadonlyMap<string, Mount>) {
    this.#mounts = mounts;
  }

  takes(path: string): boolean {
    return this.#mounts.has(path);
  }

  handle({ request, response }: Exchange): void {
    if (request.method === 'OPTIONS') response.writeHead(204, { Allow: METHODS, Connection: 'close' }).end();
    else sendProblem(response, notServed());
  }
}
