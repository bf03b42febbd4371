/**
 * An encoder's own titles, as Icecast and SHOUTcast take them: `/admin/metadata` (Basic) and `/admin.cgi` (`pass=`), each as GET or as
 * a POST form (protocol.md, "Encoders"). Many encoders close the connection without reading the answer: the title counts all the same.
 * What they do read is plain text and a status, so refusals here are no problem+json.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { queryBytes } from '../metadata/query.js';
import { cleanText, decodeNamed, decodeUndeclared, utf8Bytes } from '../metadata/text.js';
import { cutText, splitTitle } from '../metadata/title.js';
import { basicCredentials } from '../source/handshake.js';
import { type Guarded, type Login, openedBy, readLogin } from '../source/shoutcast.js';
import type { Proxies } from './peer.js';
import type { Rate } from './rate.js';

/** A title that an encoder told, clean. */
export interface EncoderTitle {
  readonly artist: string;
  readonly song: string;
  /** The URL of an image, or `""`. */
  readonly cover: string;
}

/** What must be known of a channel that takes an encoder; wired in programme.ts. */
export interface TitleDesk extends Guarded {
  readonly channel: string;
  /** Whether the channel takes encoders' titles at all. */
  readonly takesTitles: boolean;
  /** Resolves when the title is accepted or passed over; never rejects. */
  title(title: EncoderTitle): Promise<void>;
}

export interface UpdinfoOptions {
  /** The channels that take an encoder. */
  readonly desks: readonly TitleDesk[];
  /** The channel heard at a path, or undefined. */
  channelAt(path: string): string | undefined;
  /** Wrong passwords, by address. */
  readonly wrongSecrets: Rate;
  readonly proxies: Proxies;
  /** Of a POST form. */
  readonly bodyBytes: number;
  /** A longer artist or song is cut, since nobody would read a refusal. */
  readonly textBytes: number;
  /** A longer URL is passed over. */
  readonly urlBytes: number;
  /** Every answer, for the log; channel `""` where it was not found out. Never with credentials. */
  answered(status: number, channel: string, why: string): void;
}

/** A refusal, or the answer to what was taken. */
class Answer {
  readonly status: number;
  readonly text: string;
  readonly heads: Readonly<Record<string, string>>;

  constructor(status: number, text: string, heads: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.text = text;
    this.heads = heads;
  }
}

type Fields = ReadonlyMap<string, Buffer | null>;

const PATHS: ReadonlySet<string> = new Set(['/admin/metadata', '/admin.cgi']);
const METHODS = 'GET, POST, OPTIONS';
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
    if (request.method === 'GET') {
      void this.#take(path, query, request, response);
    } else if (request.method === 'OPTIONS') {
      response.writeHead(204, { Allow: METHODS }).end();
    } else if (request.method !== 'POST') {
      this.#answer(response, '', new Answer(405, 'Use GET or POST', { Allow: METHODS }));
    } else if (!FORM.test(request.headers['content-type'] ?? 'application/x-www-form-urlencoded')) {
      this.#answer(response, '', new Answer(415, 'The body must be a form (application/x-www-form-urlencoded)'));
    } else {
      this.#readForm(path, query, request, response);
    }
  }

  /** Fields of the form count more than those of the query. */
  #readForm(path: string, query: string, request: IncomingMessage, response: ServerResponse): void {
    let form = '';
    request.on('data', (chunk: Buffer) => {
      form += chunk.toString('latin1');
      if (form.length <= this.#options.bodyBytes) return;
      request.removeAllListeners('data').removeAllListeners('end').resume();
      this.#answer(response, '', new Answer(413, 'The form is too large', { Connection: 'close' }));
    });
    request.on('end', () => void this.#take(path, `${query}&${form.trimEnd()}`, request, response));
  }

  async #take(path: string, query: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fields = queryBytes(query);
    const desk = this.#admit(path, fields, request);
    if (desk instanceof Answer) return this.#answer(response, '', desk);
    if (textOf(fields, 'mode') !== 'updinfo') {
      return this.#answer(response, desk.channel, new Answer(400, 'Only mode=updinfo is known here'));
    }
    if (!desk.takesTitles) {
      return this.#answer(
        response,
        desk.channel,
        new Answer(200, 'Mountpoint will not accept this information update'),
      );
    }
    await desk.title(this.#title(fields));
    this.#answer(response, desk.channel, new Answer(200, 'Metadata update successful'));
  }

  /** The channel whose title is told, if whoever tells it may. Where no mount is named all passwords are looked at. */
  #admit(path: string, fields: Fields, request: IncomingMessage): TitleDesk | Answer {
    const login = path === '/admin.cgi' ? shoutcastLogin(textOf(fields, 'pass')) : basicLogin(request);
    if (login === null) {
      const heads = { 'WWW-Authenticate': 'Basic realm="airsplice"', Allow: METHODS };
      return new Answer(401, 'Authentication required', heads);
    }
    const mount = textOf(fields, 'mount') || login.mount;
    if (!mount) {
      const theirs = openedBy(login.readings, this.#options.desks);
      if (theirs.length > 1) return new Answer(403, 'Several channels have this password: say which, with mount=');
      return theirs[0] ?? this.#wrong(request);
    }
    const channel = this.#options.channelAt(mount.startsWith('/') ? mount : `/${mount}`);
    const desk = this.#options.desks.find((each) => each.channel === channel);
    if (desk === undefined) return new Answer(404, 'No channel takes an encoder at this mount');
    return openedBy(login.readings, [desk])[0] ?? this.#wrong(request);
  }

  #wrong(request: IncomingMessage): Answer {
    const waitSeconds = this.#options.wrongSecrets.take(this.#options.proxies.originOf(request));
    if (waitSeconds === 0) return new Answer(403, 'Wrong user or password');
    return new Answer(429, 'Too many wrong passwords from this address', { 'Retry-After': String(waitSeconds) });
  }

  /** Artist and title where both are there, else `song`, else `title` (protocol.md: Liquidsoap sends all three). */
  #title(fields: Fields): EncoderTitle {
    const charset = textOf(fields, 'charset');
    const read = (name: string) => {
      const bytes = fields.get(name) ?? Buffer.alloc(0);
      return cleanText((charset === '' ? null : decodeNamed(bytes, charset)) ?? decodeUndeclared(bytes));
    };
    const cut = (text: string) => cutText(text, this.#options.textBytes);
    const [artist, title, url] = [read('artist'), read('title'), read('url')];
    // An encoder's url is often the station's page: only an image is a cover.
    const cover = IMAGE.test(url) && utf8Bytes(url) <= this.#options.urlBytes ? url : '';
    if (artist !== '' && title !== '') return { artist: cut(artist), song: cut(title), cover };
    const parts = splitTitle(read('song') || title);
    return { artist: cut(parts.artist), song: cut(parts.song), cover };
  }

  #answer(response: ServerResponse, channel: string, answer: Answer): void {
    const { status, text, heads } = answer;
    this.#options.answered(status, channel, text);
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

type Claim = Pick<Extract<Login, { kind: 'password' }>, 'mount' | 'readings'>;

function basicLogin({ headers }: IncomingMessage): Claim | null {
  const given = basicCredentials({ headers: new Map([['authorization', headers.authorization ?? '']]) });
  return given && { mount: null, readings: [given] };
}

/** Encoders put into `pass=` what they put into the first line of their audio: `user:password`, `password:#sid`, `/mount:password`. */
function shoutcastLogin(pass: string): Claim {
  const login = readLogin(pass);
  return login.kind === 'password' ? login : { mount: null, readings: [] };
}

/** A field that is no part of a title; `""` where it is missing or cannot be read. */
function textOf(fields: Fields, name: string): string {
  return decodeUndeclared(fields.get(name) ?? Buffer.alloc(0));
}
