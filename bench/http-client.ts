/**
 * HTTP requests to loopback over kept connections, at most 64 at once; each is checked for its status by the caller. Owned by
 * bench/metadata.ts, which closes it.
 */

import { Agent, request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly etag: string;
}

export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  /** @param body posted as JSON; without one it is a GET. Rejects when the connection breaks. */
  send(url: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
    const length =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST';
      const sent = request(url, { method, agent: this.#agent, headers: { ...headers, ...length } }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, etag: answer.headers.etag ?? '' }));
        answer.on('error', reject);
      });
      sent.on('error', reject);
      sent.setTimeout(10_000, () => sent.destroy(new Error(`${url}: no answer in 10 s`)));
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
