/**
 * An encoder's own titles, as Icecast and SHOUTcast take them: `/admin/metadata` (Basic) and `/admin.cgi` (`pass=`), each as GET or as
 * a POST form (protocol.md, "Encoders"). Many encoders close the connection without reading the answer: the title counts all the same.
 * What they do read is plain text and a status, so refusals here are no problem+json.
 *
 * The secret comes first: where it stands in the head (Basic, or `pass=` in the address) no byte of a form is read before it is right.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { queryBytes } from '../metadata/query.js';
import { cleanWithin, decodeNamed, decodeUndeclared } from '../metadata/text.js';
import { cutTitle, splitTitle } from '../metadata/title.js';
import { basicCredentials } from '../source/handshake.js';
import { type Guarded, type Login, openedBy, readLogin } from '../source/shoutcast.js';
import { type Judged, type Judges, judgeRequest } from './held-connection.js';
import type { Proxies } from './peer.js';
import { NO_SECRET, SECRET_REASONS } from './secret-gate.js';

/** A title that an encoder told, clean. */
export interface EncoderTitle {
  readonly artist: string;
  readonly song: string;
  /** What stood between artist and song; absent: the default. */
  readonly separator?: string;
  /** The URL of an image, or `""`. */
  readonly cover: string;
}

/** What must be known of a channel that takes an encoder; wired in programme.ts. */
export interface TitleDesk extends Guarded {
  readonly channel: string;
  /** Whether the channel takes encoders' titles at all. */
  readonly takesTitles: boolean;
  /** Whether an encoder feeds it now, or its titles are taken all the same. */
  readonly isFed: boolean;
  /** Resolves when the title is accepted or passed over; never rejects. */
  title(title: EncoderTitle): Promise<void>;
}

export interface UpdinfoOptions extends Judges {
  /** The channels that take an encoder. */
  readonly desks: readonly TitleDesk[];
  /** The channel heard at a path, or undefined. */
  channelAt(path: string): string | undefined;
  readonly proxies: Proxies;
  /** Of a POST form. */
  readonly bodyBytes: number;
  /** Of query and form together. */
  readonly parameters: number;
  /** A longer artist or song is cut, since nobody would read a refusal. */
  readonly textBytes: number;
  /** A longer URL is passed over. */
  readonly urlBytes: number;
  /** Every answer, for the log. Never with credentials. */
  answered(answer: TitleAnswer): void;
}

export interface TitleAnswer {
  readonly status: number;
  /** Of the client. */
  readonly address: string;
  /** `""` where it was not found out. */
  readonly channel: string;
  readonly why: string;
}

/** A refusal, or the answer to what was taken. */
class Answer {
  readonly status: number;
  readonly text: string;
  readonly heads: Readonly<Record<string, string>>;
  /** For the log. */
  readonly why: string;

  constructor(status: number, text: string, heads: Readonly<Record<string, string>> = {}, why = text) {
    this.status = status;
    this.text = text;
    this.heads = heads;
    this.why = why;
  }
}

/** What a request comes on, and how it is answered. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

type Fields = ReadonlyMap<string, Buffer | null>;

const PATHS: ReadonlySet<string> = new Set(['/admin/metadata', '/admin.cgi']);
const METHODS = 'GET, POST, OPTIONS';
const ASK_FOR_PASSWORD = { 'WWW-Authenticate': 'Basic realm="airsplice"', Allow: METHODS };
const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const IMAGE = /^https?:\/\/[^?#]+\.(jpe?g|png|gif|webp|avif|svg|bmp)([?#]|$)/i;

export class Updinfo {
  readonly #options: UpdinfoOptions;

  constructor(options: UpdinfoOptions) {
    this.#options = options;
  }

  /** Whether a request for this path belongs here. */
  takes(path: string): boolean {
    return PATHS.has(path);
  }

  /** Answers a request for one of the two paths. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const mark = request.url!.indexOf('?');
    const query = mark < 0 ? '' : request.url!.slice(mark + 1);
    const path = mark < 0 ? request.url! : request.url!.slice(0, mark);
    const exchange = { request, response };
    if (request.method === 'GET') {
      void this.#take(path, query, exchange);
    } else if (request.method === 'OPTIONS') {
      response.writeHead(204, { Allow: METHODS }).end();
    } else if (request.method !== 'POST') {
      this.#answer(exchange, '', new Answer(405, 'Use GET or POST', { Allow: METHODS }));
    } else if (!FORM.test(request.headers['content-type'] ?? 'application/x-www-form-urlencoded')) {
      this.#answer(exchange, '', new Answer(415, 'The body must be a form (application/x-www-form-urlencoded)'));
    } else {
      void this.#take(path, query, exchange);
    }
  }

  async #take(path: string, query: string, exchange: Exchange): Promise<void> {
    const { request } = exchange;
    const isForm = request.method === 'POST';
    let fields: Fields | Answer = this.#fields(query);
    if (fields instanceof Answer) return this.#answer(exchange, '', fields);
    const isSecretInHead = path !== '/admin.cgi' || fields.has('pass');
    if (isForm && !isSecretInHead) fields = this.#fields(`${query}&${await this.#readForm(exchange)}`);
    if (fields instanceof Answer) return this.#answer(exchange, '', fields);
    const login = path === '/admin.cgi' ? shoutcastLogin(textOf(fields, 'pass')) : basicLogin(request);
    if (login === null) {
      return this.#answer(exchange, '', new Answer(401, 'Authentication required', ASK_FOR_PASSWORD, NO_SECRET));
    }
    // A form that has not been read may name any mount.
    const isUnread = isForm && isSecretInHead;
    let desks = isUnread ? this.#options.desks : this.#named(fields, login);
    if (desks instanceof Answer) return this.#answer(exchange, '', desks);
    let opened: readonly TitleDesk[] = [];
    const { readings } = login;
    let refused = await this.#judge(exchange, () => (opened = openedBy(readings, desks as TitleDesk[])).length > 0);
    if (isUnread && refused === null) {
      fields = this.#fields(`${query}&${await this.#readForm(exchange)}`);
      if (fields instanceof Answer) return this.#answer(exchange, '', fields);
      desks = this.#named(fields, login);
      if (desks instanceof Answer) return this.#answer(exchange, '', desks);
      opened = openedBy(readings, desks);
      // What is right for one channel is wrong for another, and counts as that.
      if (opened.length === 0) refused = await this.#judge(exchange, () => false);
    }
    if (refused !== null) return this.#answer(exchange, desks.length === 1 ? desks[0]!.channel : '', refused);
    const [desk, ...others] = opened;
    if (others.length > 0) {
      return this.#answer(exchange, '', new Answer(403, 'Several channels have this password: say which, with mount='));
    }
    this.#answer(exchange, desk!.channel, await this.#tell(desk!, fields));
  }

  #fields(query: string): Fields | Answer {
    const { parameters } = this.#options;
    return queryBytes(query, parameters) ?? new Answer(400, `There are more than ${parameters} parameters`);
  }

  /** Fields of the form count more than those of the query. Stays open for ever where it is too large, which is answered here, or cut off. */
  #readForm(exchange: Exchange): Promise<string> {
    const { request } = exchange;
    const chunks: Buffer[] = [];
    let bytes = 0;
    return new Promise((resolve) => {
      request.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes <= this.#options.bodyBytes) return;
        chunks.length = 0;
        request.removeAllListeners('data').removeAllListeners('end').resume();
        this.#answer(exchange, '', new Answer(413, 'The form is too large', { Connection: 'close' }));
      });
      request.on('end', () => resolve(Buffer.concat(chunks).toString('latin1').trimEnd()));
    });
  }

  /** @returns null: the secret is right */
  async #judge({ request, response }: Exchange, compare: () => boolean): Promise<Answer | null> {
    const origin = this.#options.proxies.originOf(request);
    return refusalOf(await new Promise((onJudged) => judgeRequest(this.#options, origin, response, compare, onJudged)));
  }

  async #tell(desk: TitleDesk, fields: Fields): Promise<Answer> {
    if (textOf(fields, 'mode') !== 'updinfo') return new Answer(400, 'Only mode=updinfo is known here');
    if (!desk.isFed) return new Answer(400, 'No encoder feeds this mount');
    if (!desk.takesTitles) return new Answer(200, 'Mountpoint will not accept this information update');
    await desk.title(this.#title(fields));
    return new Answer(200, 'Metadata update successful');
  }

  /** Where no mount is named all channels are looked at. */
  #named(fields: Fields, login: PasswordLogin): readonly TitleDesk[] | Answer {
    const mount = textOf(fields, 'mount') || login.mount;
    if (!mount) return this.#options.desks;
    const channel = this.#options.channelAt(mount.startsWith('/') ? mount : `/${mount}`);
    const desk = this.#options.desks.find((each) => each.channel === channel);
    return desk === undefined ? new Answer(404, 'No channel takes an encoder at this mount') : [desk];
  }

  /** Artist and title where both are there, else `song`, else `title` (protocol.md: Liquidsoap sends all three). */
  #title(fields: Fields): EncoderTitle {
    const charset = textOf(fields, 'charset');
    const { textBytes, urlBytes } = this.#options;
    const read = (name: string) => {
      const bytes = fields.get(name) ?? Buffer.alloc(0);
      return (charset === '' ? null : decodeNamed(bytes, charset)) ?? decodeUndeclared(bytes);
    };
    const clean = (text: string) => cutTitle(text, textBytes);
    const [artist, title] = [clean(read('artist')), clean(read('title'))];
    // An encoder's url is often the station's page: only an image is a cover.
    const url = cleanWithin(read('url'), urlBytes) ?? '';
    const cover = IMAGE.test(url) ? url : '';
    if (artist !== '' && title !== '') return { artist, song: title, cover };
    const parts = splitTitle(read('song') || read('title'));
    return { artist: clean(parts.artist), song: clean(parts.song), separator: parts.separator, cover };
  }

  #answer({ request, response }: Exchange, channel: string, answer: Answer): void {
    const { status, text, heads, why } = answer;
    this.#options.answered({ status, channel, why, address: this.#options.proxies.ofRequest(request) });
    const body =
      status === 200
        ? `<?xml version="1.0"?>\n<iceresponse><message>${text}</message><return>1</return></iceresponse>\n`
        : `${text}\n`;
    response.writeHead(status, {
      'Content-Type': status === 200 ? 'text/xml; charset=utf-8' : 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      ...heads,
    });
    response.end(body);
  }
}

/** Null: the password is right. */
function refusalOf({ verdict, retrySeconds }: Judged): Answer | null {
  if (verdict === 'right') return null;
  if (verdict === 'wrong') return new Answer(401, 'Wrong user or password', ASK_FOR_PASSWORD, SECRET_REASONS.wrong);
  const heads = { 'Retry-After': String(retrySeconds) };
  return new Answer(429, 'Too many wrong passwords from this address', heads, SECRET_REASONS['too-many']);
}

type PasswordLogin = Pick<Extract<Login, { kind: 'password' }>, 'mount' | 'readings'>;

function basicLogin({ headers }: IncomingMessage): PasswordLogin | null {
  const given = basicCredentials({ headers: new Map([['authorization', headers.authorization ?? '']]) });
  return given && { mount: null, readings: [given] };
}

/** Encoders put into `pass=` what they put into the first line of their audio: `user:password`, `password:#sid`, `/mount:password`. */
function shoutcastLogin(pass: string): PasswordLogin {
  const login = readLogin(pass);
  return login.kind === 'password' ? login : { mount: null, readings: [] };
}

/** A field that is no part of a title; `""` where it is missing or cannot be read. */
function textOf(fields: Fields, name: string): string {
  return decodeUndeclared(fields.get(name) ?? Buffer.alloc(0));
}
