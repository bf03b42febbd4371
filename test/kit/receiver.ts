/** A receiver of webhooks: a real HTTP server that keeps the requests, and answers as a test wants. */

import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
  /** When the whole request had arrived, monotonic milliseconds. */
  readonly atMs: number;
}

/** The members of an alert that tests look at. */
export interface ReceivedAlert {
  readonly event: string;
  readonly state: string;
  readonly channel: string | null;
  readonly subject: string;
  readonly summary: string;
  readonly severity: string;
  readonly flaps: number;
}

export class Receiver {
  readonly received: Received[] = [];
  /** Answers a request; `number` counts from 0. */
  answer: (response: ServerResponse, number: number) => void = (response) => response.writeHead(204).end();
  port = 0;

  static async open(t: Test): Promise<Receiver> {
    const receiver = new Receiver();
    const server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { headers, url: path = '' } = request;
        receiver.received.push({ headers, path, body: Buffer.concat(chunks).toString(), atMs: performance.now() });
        receiver.answer(response, receiver.received.length - 1);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    receiver.port = (server.address() as AddressInfo).port;
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** The parsed JSON bodies. */
  get alerts(): ReceivedAlert[] {
    return this.received.map(({ body }) => JSON.parse(body).data as ReceivedAlert);
  }

  /** The alerts of one event, such as `firing jazz`, `resolved jazz`. */
  of(event: string): string[] {
    return this.alerts.filter((alert) => alert.event === event).map(({ state, subject }) => `${state} ${subject}`);
  }
}
