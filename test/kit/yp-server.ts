/**
 * A directory of streams (YP) for tests: a real HTTP server that answers by the published protocol (icecast.org/docs, "YP Directories"), and lists
 * the received entries. It can be made to answer anything else.
 */

import http, { type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { until } from './until.js';

export type YpForm = Readonly<Record<string, string>>;

export class YpServer {
  readonly forms: YpForm[] = [];
  /** SID → its last form. */
  readonly listed = new Map<string, YpForm>();
  touchFreq = '1';
  port = 0;
  #sids = 0;
  /** Replaces the answer. False: the normal answer. */
  answer: (response: ServerResponse, form: YpForm) => boolean = () => false;

  static async open(t: Test): Promise<YpServer> {
    const yp = new YpServer();
    const server = http.createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const form = Object.fromEntries(new URLSearchParams(body));
        yp.forms.push(form);
        if (!yp.answer(response, form)) yp.#answer(response, form);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    yp.port = (server.address() as AddressInfo).port;
    return yp;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/cgi-bin/yp-cgi?key=of-the-directory`;
  }

  of(action: string): YpForm[] {
    return this.forms.filter((form) => form['action'] === action);
  }

  async came(action: string, count: number, ms = 20_000): Promise<YpForm> {
    const seen = () => this.forms.map((form) => form['action']).join(' ');
    await until(() => this.of(action).length >= count, ms, seen);
    return this.of(action)[count - 1]!;
  }

  #answer(response: ServerResponse, form: YpForm): void {
    const { action, sid = '' } = form;
    if (action === 'add') {
      const made = `sid ${++this.#sids}`.replace(' ', '-');
      this.listed.set(made, form);
      const headers = { YPResponse: '1', YPMessage: 'Added', SID: made, TouchFreq: this.touchFreq };
      response.writeHead(200, headers).end();
    } else if (!this.listed.has(sid)) {
      response.writeHead(200, { YPResponse: '0', YPMessage: `SID ${sid} does not exist` }).end();
    } else {
      if (action === 'remove') this.listed.delete(sid);
      else this.listed.set(sid, { ...this.listed.get(sid), ...form });
      response.writeHead(200, { YPResponse: '1', YPMessage: 'OK' }).end();
    }
  }
}
