/** A client of the admin interface, by fetch and JSON, which checks each answer against the API document. */

import { answerProblems } from './documents.js';
import type { TestServer } from './server.js';

process.env['ADMIN_TEST_ALL'] = 'may do all of it';
process.env['ADMIN_TEST_READ'] = 'may look at it';
process.env['ADMIN_TEST_TITLES'] = 'may change titles';
process.env['ADMIN_TEST_OPERATE'] = 'may operate';

/** Users for a configuration: one for each right, and one with all. */
export const ADMIN_USERS = `
admin:
  users:
    all: { password: 'env:ADMIN_TEST_ALL', rights: [read, titles, operate] }
    reader: { tokens: ['env:ADMIN_TEST_READ'], rights: [read] }
    editor: { tokens: ['env:ADMIN_TEST_TITLES'], rights: [titles] }
    operator: { tokens: ['env:ADMIN_TEST_OPERATE'], rights: [operate] }
`;
export const ADMIN_LOGIN = `Basic ${Buffer.from('all:may do all of it').toString('base64')}`;
/** The token of the user with only this right. */
export const ADMIN_BEARER = {
  read: 'Bearer may look at it',
  titles: 'Bearer may change titles',
  operate: 'Bearer may operate',
} as const;

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect the members that they expect
  readonly body: any;
}

export class AdminClient {
  readonly #base: string;
  readonly #authorization: string;

  /** @param as the user; absent: the one with all rights */
  constructor({ base }: Pick<TestServer, 'base'>, as?: keyof typeof ADMIN_BEARER) {
    this.#base = base;
    this.#authorization = as === undefined ? ADMIN_LOGIN : ADMIN_BEARER[as];
  }

  get(path: string): Promise<AdminAnswer> {
    return this.ask('GET', path);
  }

  post(path: string, body: unknown = {}): Promise<AdminAnswer> {
    return this.ask('POST', path, body);
  }

  delete(path: string): Promise<AdminAnswer> {
    return this.ask('DELETE', path);
  }

  /** Rejects if the answer does not match the document. */
  async ask(method: string, path: string, body?: unknown): Promise<AdminAnswer> {
    const { href } = new URL(`${this.#base}/admin/api/${path}`);
    const answer = await fetch(href, {
      method,
      headers: {
        Authorization: this.#authorization,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const { status, headers } = answer;
    const problems = answerProblems(method, href, { status, headers: new Map(headers), body: text });
    if (problems.length > 0) throw new Error(problems.join('\n'));
    return { status, headers, body: text === '' ? null : JSON.parse(text) };
  }
}
