/**
 * What Node's HTTP server answers about a mount at an address that serves encoders and no listeners: which methods it takes. An encoder
 * itself never comes here, the front knows it by its first bytes (net/first-bytes.ts).
 */

import { pathOf } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import { mountMethods } from '../allow.js';
import { notServed, sendProblem } from '../problem.js';
import type { Exchange, HttpService } from '../service.js';

export class EncoderPreflight implements HttpService {
  readonly role = 'encoder';
  readonly #mounts: ReadonlyMap<string, Mount>;

  constructor(mounts: ReadonlyMap<string, Mount>) {
    this.#mounts = mounts;
  }

  takes(path: string): boolean {
    return this.#mounts.has(path);
  }

  handle({ request, response, roles }: Exchange): void {
    if (request.method !== 'OPTIONS') {
      sendProblem(response, notServed());
      return;
    }
    const mount = this.#mounts.get(pathOf(request.url!))!;
    response.writeHead(204, { Allow: mountMethods(mount, roles), Connection: 'close' }).end();
  }
}
