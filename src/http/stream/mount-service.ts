/**
 * Requests for a mount that Node's HTTP server has read: those that are not the first on their connection, or not GET. Most listeners join
 * through listener-acceptor.ts. OPTIONS is answered with the accepted methods, others than GET and HEAD with 405.
 */

import { Refusal } from '../../base/refusal.js';
import { pathOf, queryOf, targetOf } from '../../base/request-target.js';
import type { Proxies } from '../../net/front/client-address.js';
import { mountAllow, READ_METHODS, refuseMethod } from '../allow.js';
import type { Exchange, HttpService } from '../http-service.js';
import { sendProblem } from '../problem.js';
import type { ListenUrls } from './listen-urls.js';
import type { Stream } from './stream.js';
import { HttpStreamRequest } from './stream-request.js';

/** CORS: pages of other origins may listen, and read the titles. */
const PREFLIGHT: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': READ_METHODS,
  'Access-Control-Allow-Headers': 'icy-metadata, range',
  'Access-Control-Max-Age': '86400',
};

export class MountService implements HttpService {
  readonly role = 'stream';
  readonly #urls: ListenUrls;
  readonly #stream: Stream;
  readonly #proxies: Proxies;

  constructor(urls: ListenUrls, stream: Stream, proxies: Proxies) {
    this.#urls = urls;
    this.#stream = stream;
    this.#proxies = proxies;
  }

  takes(path: string): boolean {
    return this.#urls.mountAt(path) !== undefined || this.#urls.otherStream(path) !== null;
  }

  handle({ request, response, pipeline, roles }: Exchange): void {
    const { method, url } = request;
    const mount = this.#urls.mountAt(pathOf(url!));
    if (mount === undefined) {
      const stream = this.#urls.otherStream(pathOf(url!));
      sendProblem(response, new Refusal('not-found', `There is no stream ${stream}: only /stream/1/ is served.`));
      return;
    }
    // The configured spelling of the mount, for hooks and signatures.
    request.url = targetOf({ path: mount.path, query: queryOf(url!) });
    if (method === 'OPTIONS') {
      response.writeHead(204, { ...mountAllow(mount, roles), ...PREFLIGHT }).end();
      return;
    }
    const listener = new HttpStreamRequest(
      request,
      response,
      pipeline,
      roles.headers,
      this.#proxies.ofRequest(request),
    );
    if (method === 'GET' || method === 'HEAD') this.#stream.handle(listener, mount);
    else listener.refuse(refuseMethod(method!, mount, roles));
  }
}
