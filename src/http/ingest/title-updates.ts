/**
 * An encoder's own titles, as Icecast and SHOUTcast take them: `/admin/metadata` (Basic) and `/admin.cgi` (`pass=`), each as GET or as
 * a POST form (protocol.md, "Encoders"). Many encoders close the connection without reading the answer: the title counts all the same.
 * What they do read is plain text and a status, so refusals here are no problem+json.
 *
 * The secret comes first: where it stands in the head (Basic, or `pass=` in the address) no byte of a form is read before it is right.
 */

import type { IncomingMessage } from 'node:http';
import { pathOf, queryOf } from '../../base/request-target.js';
import type { EncoderMount } from '../../channel/mount.js';
import { queryBytes } from '../../metadata/query.js';
import { cleanWithin, decodeNamed, decodeUndeclared } from '../../metadata/text.js';
import { cutTitle, splitTitle } from '../../metadata/title.js';
import { type Judged, type Judges, judgeRequest } from '../../net/held-connection.js';
import type { Proxies } from '../../net/peer.js';
import { basicCredentials } from '../../net/request-head.js';
import { NO_SECRET, SECRET_REASONS } from '../../net/secret-gate.js';
import type { SourceTitle } from '../../source/source.js';
import type { Exchange, HttpService } from '../service.js';
import { type Login, openedBy, readLogin } from './shoutcast-password.js';

export interface TitleUpdateOptions extends Judges {
  /** The channels that take an encoder. */
  readonly mounts: readonly EncoderMount[];
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
  onAnswered(answer: TitleAnswer): void;
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
class TitleUpdateAnswer {
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
type Asked = Pick<Exchange, 'request' | 'response'>;

type Fields = ReadonlyMap<string, Buffer | null>;

const PATHS: ReadonlySet<string> = new Set(['/admin/metadata', '/admin.cgi']);
const METHODS = 'GET, POST, OPTIONS';
const ASK_FOR_PASSWORD = { 'WWW-Authenticate': 'Basic realm="airsplice"', Allow: METHODS };
const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const IMAGE = /^https?:\/\/[^?#]+\.(jpe?g|png|gif|webp|avif|svg|bmp)([?#]|$)/i;

export class TitleUpdates implements HttpService {
  readonly role = 'encoder';
  readonly isReserved = true;
  readonly #options: TitleUpdateOptions;

  constructor(options: TitleUpdateOptions) {
    this.#options = options;
  }

  takes(path: string): boolean {
    return PATHS.has(path);
  }

  handle({ request, response }: Asked): void {
    const path = pathOf(request.url!);
    const query = queryOf(request.url!);
    const exchange = { request, response };
    if (request.method === 'GET') {
      void this.#take(path, query, exchange);
    } else if (request.method === 'OPTIONS') {
      response.writeHead(204, { Allow: METHODS }).end();
    } else if (request.method !== 'POST') {
      this.#answer(exchange, '', new TitleUpdateAnswer(405, 'Use GET or POST', { Allow: METHODS }));
    } else if (!FORM.test(request.headers['content-type'] ?? 'application/x-www-form-urlencoded')) {
      this.#answer(
        exchange,
        '',
        new TitleUpdateAnswer(415, 'The body must be a form (application/x-www-form-urlencoded)'),
      );
    } else {
      void this.#take(path, query, exchange);
    }
  }

  async #take(path: string, query: string, exchange: Asked): Promise<void> {
    const { request } = exchange;
    const isForm = request.method === 'POST';
    let fields: Fields | TitleUpdateAnswer = this.#fields(query);
    if (fields instanceof TitleUpdateAnswer) return this.#answer(exchange, '', fields);
    const isSecretInHead = path !== '/admin.cgi' || fields.has('pass');
    if (isForm && !isSecretInHead) fields = this.#fields(`${query}&${await this.#readForm(exchange)}`);
    if (fields instanceof TitleUpdateAnswer) return this.#answer(exchange, '', fields);
    const login = path === '/admin.cgi' ? shoutcastLogin(textOf(fields, 'pass')) : basicLogin(request);
    if (login === null) {
      return this.#answer(
        exchange,
        '',
        new TitleUpdateAnswer(401, 'Authentication required', ASK_FOR_PASSWORD, NO_SECRET),
      );
    }
    // A form that has not been read may name any mount.
    const isUnread = isForm && isSecretInHead;
    let mounts = isUnread ? this.#options.mounts : this.#named(fields, login);
    if (mounts instanceof TitleUpdateAnswer) return this.#answer(exchange, '', mounts);
    let opened: readonly EncoderMount[] = [];
    const { readings } = login;
    let refused = await this.#judge(exchange, () => (opened = openedBy(readings, mounts as EncoderMount[])).length > 0);
    if (isUnread && refused === null) {
      fields = this.#fields(`${query}&${await this.#readForm(exchange)}`);
      if (fields instanceof TitleUpdateAnswer) return this.#answer(exchange, '', fields);
      mounts = this.#named(fields, login);
      if (mounts instanceof TitleUpdateAnswer) return this.#answer(exchange, '', mounts);
      opened = openedBy(readings, mounts);
      // What is right for one channel is wrong for another, and counts as that.
      if (opened.length === 0) refused = await this.#judge(exchange, () => false);
    }
    if (refused !== null) return this.#answer(exchange, mounts.length === 1 ? mounts[0]!.channel : '', refused);
    const [mount, ...others] = opened;
    if (others.length > 0) {
      return this.#answer(
        exchange,
        '',
        new TitleUpdateAnswer(403, 'Several channels have this password: say which, with mount='),
      );
    }
    this.#answer(exchange, mount!.channel, await this.#tell(mount!, fields));
  }

  #fields(query: string): Fields | TitleUpdateAnswer {
    const { parameters } = this.#options;
    return queryBytes(query, parameters) ?? new TitleUpdateAnswer(400, `There are more than ${parameters} parameters`);
  }

  /** Fields of the form count more than those of the query. Stays open for ever where it is too large, which is answered here, or cut off. */
  #readForm(exchange: Asked): Promise<string> {
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
        this.#answer(exchange, '', new TitleUpdateAnswer(413, 'The form is too large', { Connection: 'close' }));
      });
      request.on('end', () => resolve(Buffer.concat(chunks).toString('latin1').trimEnd()));
    });
  }

  /** @returns null: the secret is right */
  async #judge({ request, response }: Asked, compare: () => boolean): Promise<TitleUpdateAnswer | null> {
    const origin = this.#options.proxies.originOf(request);
    return refusalOf(await new Promise((onJudged) => judgeRequest(this.#options, origin, response, compare, onJudged)));
  }

  async #tell(mount: EncoderMount, fields: Fields): Promise<TitleUpdateAnswer> {
    if (textOf(fields, 'mode') !== 'updinfo') return new TitleUpdateAnswer(400, 'Only mode=updinfo is known here');
    if (!mount.isFed) return new TitleUpdateAnswer(400, 'No encoder feeds this mount');
    if (!mount.takesTitles) return new TitleUpdateAnswer(200, 'Mountpoint will not accept this information update');
    await mount.title(this.#title(fields));
    return new TitleUpdateAnswer(200, 'Metadata update successful');
  }

  /** Where no mount is named all channels are looked at. */
  #named(fields: Fields, login: PasswordLogin): readonly EncoderMount[] | TitleUpdateAnswer {
    const mount = textOf(fields, 'mount') || login.mount;
    if (!mount) return this.#options.mounts;
    const channel = this.#options.channelAt(mount.startsWith('/') ? mount : `/${mount}`);
    const found = this.#options.mounts.find((each) => each.channel === channel);
    return found === undefined ? new TitleUpdateAnswer(404, 'No channel takes an encoder at this mount') : [found];
  }

  /** Artist and title where both are there, else `song`, else `title` (protocol.md: Liquidsoap sends all three). */
  #title(fields: Fields): SourceTitle {
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

  #answer({ request, response }: Asked, channel: string, answer: TitleUpdateAnswer): void {
    const { status, text, heads, why } = answer;
    this.#options.onAnswered({ status, channel, why, address: this.#options.proxies.ofRequest(request) });
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
function refusalOf({ verdict, retrySeconds }: Judged): TitleUpdateAnswer | null {
  if (verdict === 'right') return null;
  if (verdict === 'wrong')
    return new TitleUpdateAnswer(401, 'Wrong user or password', ASK_FOR_PASSWORD, SECRET_REASONS.wrong);
  const heads = { 'Retry-After': String(retrySeconds) };
  return new TitleUpdateAnswer(429, 'Too many wrong passwords from this address', heads, SECRET_REASONS['too-many']);
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
