/**
 * Requests for a mount that Node's HTTP server has read: those that are not the first on their connection, or no GET. The crowd comes
 * past it (accept.ts).
 */

import { pathOf } from '../../base/request-target.js';
import type { Mount } from '../../channel/mount.js';
import type { Proxies } from '../../net/peer.js';
import type { Exchange, HttpService } from '../service.js';
import type { Stream } from './stream.js';
import { HttpStreamRequest } from './stream-request.js';

export class MountService implements HttpService {
  readonly role = 'stream';
  readonly #mounts: ReadonlyMap<string, Mount>;
  readonly #stream: Stream;
  readonly #proxies: Proxies;

  constructor(mounts: ReadonlyMap<string, Mount>, stream: Stream, proxies: Proxies) {
    this.#mounts = mounts;
    this.#stream = stream;
    this.#proxies = proxies;
  }

  takes(path: string): boolean {
    return this.#mounts.has(path);
  }

  handle({ request, response, pipeline, headers }: Exchange): void {
    const mount = this.#mounts.get(pathOf(request.url!))!;
    this.#stream.handle(
      new HttpStreamRequest(request, response, pipeline, headers, this.#proxies.ofRequest(request)),
      mount,
    );
  }
}
