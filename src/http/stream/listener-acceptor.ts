/**
 * Takes connections whose first bytes request a mount directly from the front, bypassing Node's HTTP server, whose objects would remain in
 * memory as long as the listener plays.
 */

import type { Socket } from 'node:net';
import { Refusal } from '../../base/refusal.js';
import type { Mount } from '../../channel/mount.js';
import type { Proxies } from '../../net/front/client-address.js';
import type { Connections } from '../../net/front/connections.js';
import { type HeadLimits, HeadReader } from '../../net/front/head-reader.js';
import type { AddressHeaders } from '../legacy.js';
import { endWithProblem, headRefusal, isChunkedOnly, tooManyConnections } from '../problem.js';
import type { ListenUrls } from './listen-urls.js';
import type { Stream } from './stream.js';
import { SocketStreamRequest } from './stream-request.js';

const GET = Buffer.from('GET /');
const BLANK = 0x20;
const QUESTION = 0x3f;

export class ListenerAcceptor {
  readonly #urls: ListenUrls;
  readonly #stream: Stream;
  readonly #heads: HeadReader;
  readonly #proxies: Proxies;
  readonly #connections: Connections;

  constructor(urls: ListenUrls, stream: Stream, proxies: Proxies, connections: Connections, limits: HeadLimits) {
    this.#proxies = proxies;
    this.#connections = connections;
    this.#urls = urls;
    this.#stream = stream;
    this.#heads = new HeadReader(limits);
  }

  /** Takes the connection if its first bytes name a mount, else returns false. @param headers those of the address */
  take(socket: Socket, first: Buffer, headers: AddressHeaders): boolean {
    const mount = this.#mountOf(first);
    if (mount === undefined) return false;
    this.#heads.read(socket, first, (result) => {
      if (!this.#connections.begin(socket)) endWithProblem(socket, tooManyConnections(), headers);
      else if ('kind' in result) endWithProblem(socket, headRefusal(result), headers);
      else if (result.headers.has('transfer-encoding') && !isChunkedOnly(result.headers.get('transfer-encoding'))) {
        endWithProblem(socket, new Refusal('bad-request', 'The only supported transfer coding is chunked.'), headers);
      } else {
        const address = this.#proxies.clientOf(socket, (name) => result.headers.get(name));
        const head = { ...result, path: mount.path };
        this.#stream.handle(new SocketStreamRequest(socket, head, headers, address), mount);
      }
    });
    return true;
  }

  close(): void {
    this.#heads.close();
  }

  #mountOf(first: Buffer): Mount | undefined {
    if (first.length <= GET.length || !first.subarray(0, GET.length).equals(GET)) return undefined;
    let end = GET.length;
    while (end < first.length && first[end] !== BLANK && first[end] !== QUESTION) end++;
    // The path may continue in the next chunk: such a connection goes to Node's HTTP server.
    return end === first.length ? undefined : this.#urls.mountAt(first.toString('latin1', GET.length - 1, end));
  }
}
