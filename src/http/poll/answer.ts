/**
 * The answer with one channel's last record, in two forms: its parts, for Node's HTTP server, and the whole answer as bytes, for
 * PollConnection. Rendered on first use, and again after the record or the second has changed.
 *
 * Invariant: both forms are equal, byte for byte; test/http/poll/poll-acceptor.test.ts compares them.
 */

import { STATUS_CODES } from 'node:http';
import type { Feed } from '../../feed/feed.js';
import type { TrackType } from '../../metadata/record.js';
import type { RecordView } from '../../metadata/view.js';
import type { AddressHeaders } from '../legacy.js';
import { JSON_TYPE, matchesTag, READ_CORS, type ReadForm, SHARED } from '../reads.js';
import type { PollHead } from './poll-head.js';

const TEXT_TYPE = 'text/plain; charset=utf-8';

/** An answer that needs no compression; null body: 204. */
export interface PlainAnswer {
  readonly body: string | null;
  readonly type: string;
  readonly etag: string;
  readonly cache: string;
}

/** @param view null: nothing has been pushed yet */
export function recordAnswer(view: RecordView | null, form: ReadForm): PlainAnswer {
  const text = form === 'txt';
  return {
    body: view === null ? null : text ? view.text : view.json,
    type: text ? TEXT_TYPE : JSON_TYPE,
    etag: view?.etag ?? '',
    cache: SHARED,
  };
}

/** The headers of an answer, in their order on the wire. */
export function headersOf(answer: PlainAnswer, status: 200 | 204 | 304): Record<string, string | number> {
  const cache = { 'Cache-Control': answer.cache };
  if (status === 204) return { ...READ_CORS, ...cache };
  const kept = { ...READ_CORS, ETag: answer.etag, ...cache };
  if (status === 304) return kept;
  return { ...kept, 'Content-Type': answer.type, 'Content-Length': Buffer.byteLength(answer.body!) };
}

/** Other spellings of a target are not answered here, so there are at most six for each channel. */
const TARGET = /^\/metadata\/channel\/([^/.]+)\.(json|txt)(?:\?type=(now|next))?$/;

/** All rendered answers of one address. */
export class PollAnswers {
  readonly #feed: Feed;
  readonly #headers: AddressHeaders;
  readonly #kept: string;
  /** By path and query. Only of known channels, so clients cannot make it grow. */
  readonly #answers = new Map<string, PollAnswer>();

  /** @param headers those of the address @param keepAliveMs how long Node's server keeps an idle connection */
  constructor(feed: Feed, headers: AddressHeaders, keepAliveMs: number) {
    this.#feed = feed;
    this.#headers = headers;
    this.#kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`;
  }

  /** @param target path and query as requested @returns undefined: the channel is unknown, or TARGET does not match */
  of(target: string): PollAnswer | undefined {
    const known = this.#answers.get(target);
    if (known?.isThere) return known;
    if (known !== undefined) this.#answers.delete(target);
    const [, channel, form, type = 'now'] = TARGET.exec(target) ?? [];
    if (channel === undefined || this.#feed.face(channel) === undefined) return undefined;
    const last = () => this.#feed.last(channel, type as TrackType);
    const answer = new PollAnswer(last, form as ReadForm, this.#headers, this.#kept);
    this.#answers.set(target, answer);
    return answer;
  }
}

export class PollAnswer {
  readonly #last: () => RecordView | null | undefined;
  readonly #form: ReadForm;
  readonly #headers: AddressHeaders;
  readonly #kept: string;
  #view: RecordView | null = null;
  /** Unix time (seconds) of the two renderings below. */
  #second = Number.NaN;
  /** The 200 or 204. */
  #full: string | null = null;
  /** The 304. */
  #same: string | null = null;

  /** @param last returns undefined if the channel was removed */
  constructor(last: () => RecordView | null | undefined, form: ReadForm, headers: AddressHeaders, kept: string) {
    this.#last = last;
    this.#form = form;
    this.#headers = headers;
    this.#kept = kept;
  }

  /** Whether its channel still exists. */
  get isThere(): boolean {
    return this.#last() !== undefined;
  }

  /** The whole answer, one character a byte. @param second unix time, for `Date` */
  to(head: PollHead, second: number): string {
    const view = this.#last() ?? null;
    if (view !== this.#view || second !== this.#second) {
      this.#view = view;
      this.#second = second;
      this.#full = this.#same = null;
    }
    const isSame = view !== null && head.ifNoneMatch !== undefined && matchesTag(head.ifNoneMatch, view.etag);
    const status = view === null ? 204 : isSame ? 304 : 200;
    if (head.closes) return this.#render(status, 'Connection: close\r\n\r\n');
    if (isSame) return (this.#same ??= this.#render(status, this.#kept));
    return (this.#full ??= this.#render(status, this.#kept));
  }

  #render(status: 200 | 204 | 304, connection: string): string {
    const answer = recordAnswer(this.#view, this.#form);
    const lines = Object.entries({ ...this.#headers, ...headersOf(answer, status) }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const date = new Date(this.#second * 1000).toUTCString();
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}Date: ${date}\r\n${connection}`;
    return Buffer.from(status === 200 ? head + answer.body! : head).toString('latin1');
  }
}
