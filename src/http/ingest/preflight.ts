/**
 * Names the methods of a mount to HTTP clients, at an address that serves encoders but no listeners. Encoders do not get here: the front
 * recognises them by their first bytes (net/front/first-bytes.ts).
 */

import { pathOf, plainPath } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import { isEncoderMethod, mountAllow, refuseMethod } from '../allow.js';
import type { Exchange, HttpService } from '../http-service.js';
import { notServed, sendProblem } from '../problem.js';

export class EncoderPreflight implements HttpService {
  readonly role = 'encoder';
  readonly #mounts: ReadonlyMap<string, Mount>;

  constructor(mounts: ReadonlyMap<string, Mount>) {
    this.#mounts = mounts;
  }

  takes(path: string): boolean {
    return this.#mounts.has(plainPath(path));
  }

  handle({ request, response, roles }: Exchange): void {
    const method = request.method!;
    const mount = this.#mounts.get(plainPath(pathOf(request.url!)))!;
    if (method === 'OPTIONS') response.writeHead(204, { ...mountAllow(mount, roles), Connection: 'close' }).end();
    else if (isEncoderMethod(method, mount, roles)) sendProblem(response, refuseMethod(method, mount, roles));
    else sendProblem(response, notServed());
  }
}
