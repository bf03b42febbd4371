/**
 * A certificate authority whose answers a test sets, for those that a real one (pebble.ts) never sends. By default it accepts each order, asks for
 * no proof, and gives the certificate in `chain`.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** The steps of an order. */
export type AuthorityStep = 'dir' | 'nonce' | 'account' | 'order' | 'authz' | 'chal' | 'finalize' | 'poll' | 'cert';
/** @param payload of the request, which the account has signed */
type Answer = (response: ServerResponse, payload: Readonly<Record<string, unknown>>) => unknown;

export class FakeAuthority {
  readonly url: string;
  /** The requested steps, in order. */
  readonly asked: AuthorityStep[] = [];
  readonly answers: Partial<Record<AuthorityStep, Answer>> = {};
  /** PEM. */
  chain = '';
  status = 'ready';

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`;
  }

  static async open(t: Test): Promise<FakeAuthority> {
    const server = createServer((request, response) => {
      let body = '';
      request.setEncoding('latin1').on('data', (text: string) => {
        body += text;
      });
      request.on('end', () => authority.#answer(request, response, body));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.close();
      server.closeAllConnections();
    });
    const authority = new FakeAuthority((server.address() as AddressInfo).port);
    return authority;
  }

  get directory(): string {
    return `${this.url}/dir`;
  }

  /** An order in this state. */
  order(status = this.status): object {
    const { url } = this;
    return { status, authorizations: [`${url}/authz`], finalize: `${url}/finalize`, certificate: `${url}/cert` };
  }

  #answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const step = request.url!.slice(1) as AuthorityStep;
    this.asked.push(step);
    response.setHeader('Replay-Nonce', `nonce-${this.asked.length}`);
    const own = this.answers[step];
    if (own !== undefined) {
      own(response, payloadOf(body));
      return;
    }
    const { url } = this;
    const json = (status: number, value: object, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value));
    if (step === 'nonce') return void response.writeHead(200).end();
    if (step === 'cert') return void response.writeHead(200).end(this.chain);
    if (step === 'dir') {
      json(200, { newNonce: `${url}/nonce`, newAccount: `${url}/account`, newOrder: `${url}/order` });
    } else if (step === 'account') json(201, { status: 'valid' }, { Location: `${url}/account/1` });
    else if (step === 'order') json(201, this.order(), { Location: `${url}/poll` });
    else if (step === 'authz')
      json(200, { status: 'valid', identifier: { type: 'dns', value: 'a.test' }, challenges: [] });
    else if (step === 'finalize') json(200, this.order('valid'));
    else if (step === 'poll') json(200, this.order('valid'));
    else json(404, {});
  }
}

function payloadOf(body: string): Readonly<Record<string, unknown>> {
  const { payload = '' } = body === '' ? {} : (JSON.parse(body) as { readonly payload?: string });
  return payload === '' ? {} : JSON.parse(Buffer.from(payload, 'base64url').toString());
}
