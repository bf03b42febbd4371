/**
 * An encoder's own titles, as Icecast and SHOUTcast accept them: `/admin/metadata` (Basic) and `/admin.cgi` (`pass=`), each as GET or as a POST form
 * (src/http/ingest/README.md, "Titles"). Many encoders close the connection without reading the answer: the title counts nevertheless. Others read
 * plain text and a status, so refusals are not problem+json.
 *
 * A secret in the head (Basic, or `pass=` in the address) is checked before any byte of a form is read, unless a hook needs the form.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { trimmedBytes } from '../../base/charset.js';
import { Refusal } from '../../base/refusal.js';
import { pathOf, plainPath, queryOf } from '../../base/request-target.js';
import type { EncoderMount } from '../../channel/mount.js';
import { systemMs } from '../../link/facts/shared-time.js';
import { queryBytes } from '../../metadata/query.js';
import { cutTitle } from '../../metadata/title.js';
import type { Proxies } from '../../net/front/client-address.js';
import { basicCredentials } from '../../net/front/request-head.js';
import { connectionId } from '../../net/front/tracked-connection.js';
import { type AskSecret, type Judged, type Judges, judgeRequest } from '../../net/limits/judge.js';
import { NO_SECRET } from '../../net/limits/secret-gate.js';
import { TITLE_METHODS } from '../allow.js';
import type { Exchange, HttpService } from '../http-service.js';
import { refuseFromPage } from '../origin.js';
import { type Login, namedIn, openedBy, readLogin } from './shoutcast-password.js';
import {
  type TitleAct,
  type TitleSender,
  TitleUpdateAnswer,
  type TitleUpdateVerdict,
  takenAnswer,
} from './title-answer.js';
import { type Fields, type TitleLimits, textOf, titleOf } from './title-fields.js';
import { askedOf, BASIC_CHALLENGE, type IngestOptions, secretRefusal } from './verdict.js';

export interface TitleUpdateOptions extends Judges, TitleLimits, Pick<IngestOptions, 'mountAt' | 'hookOf'> {
  readonly encoderMounts: readonly EncoderMount[];
  readonly proxies: Proxies;
  /** Maximum size of a POST form. */
  readonly bodyBytes: number;
  /** Limit, for query and form together. */
  readonly parameters: number;
  /** The user of the admin interface with these credentials: see AdminAccess (http/admin/admin-access.ts). Absent: there are no users. */
  titleSender?(headers: IncomingHttpHeaders): TitleSender | null;
  /** Every answer, for the log. Never with credentials. */
  onVerdict(answer: TitleUpdateVerdict): void;
  /** Gets the error that caused a 500. */
  onError(error: unknown): void;
}

type TitleExchange = Pick<Exchange, 'request' | 'response'>;

/** An update with the right secret of this channel. */
interface TitleUpdate {
  readonly mount: EncoderMount;
  readonly fields: Fields;
  /** Null: the channel's encoder. */
  readonly sender: TitleSender | null;
  /** When the hook was asked; absent: it was not. */
  readonly cameMs?: number | undefined;
}

/** `.xsl` is the web page of Icecast 2.4, which some scripts call. */
const PATHS: ReadonlySet<string> = new Set(['/admin/metadata', '/admin/metadata.xsl', '/admin.cgi']);
const BEARER = /^bearer +\S/i;
const CHALLENGE = { 'WWW-Authenticate': BASIC_CHALLENGE, Allow: TITLE_METHODS };
const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

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

  handle({ request, response }: TitleExchange): void {
    if (request.method === 'OPTIONS') response.writeHead(204, { Allow: TITLE_METHODS }).end();
    else void this.#update({ request, response });
  }

  async #update(exchange: TitleExchange): Promise<void> {
    try {
      const { mount, fields, sender, cameMs } = await this.#read(exchange);
      const answer = await this.#apply(mount, fields, cameMs);
      answer.channel = mount.channelKey;
      if (sender !== null) answer.act = this.#act(sender, fields);
      this.#answer(exchange, answer);
    } catch (error) {
      if (error instanceof TitleUpdateAnswer) this.#answer(exchange, error);
      // The hub is away, or refuses the title.
      else if (error instanceof Refusal) {
        this.#answer(exchange, new TitleUpdateAnswer(error.status, error.message, error.headers));
      } else {
        this.#options.onError(error);
        this.#answer(exchange, new TitleUpdateAnswer(500, 'Something went wrong on the server'));
      }
    }
  }

  /** Rejects with TitleUpdateAnswer. */
  async #read(exchange: TitleExchange): Promise<TitleUpdate> {
    const { request } = exchange;
    const path = pathOf(request.url!);
    const query = queryOf(request.url!);
    const isForm = request.method === 'POST';
    if (!isForm && request.method !== 'GET')
      throw new TitleUpdateAnswer(405, 'Use GET or POST', { Allow: TITLE_METHODS });
    if (isForm && !FORM.test(request.headers['content-type'] ?? 'application/x-www-form-urlencoded')) {
      throw new TitleUpdateAnswer(415, 'The body must be a form (application/x-www-form-urlencoded)');
    }
    if (isForm && !/^(identity)?$/i.test(request.headers['content-encoding'] ?? '')) {
      throw new TitleUpdateAnswer(415, 'The body must not be compressed');
    }
    let fields = this.#fields(query);
    const isSecretInHead = path !== '/admin.cgi' || fields.has('pass');
    if (isForm && !isSecretInHead) fields = this.#fields(`${query}&${await this.#readForm(request)}`);
    const login = path === '/admin.cgi' ? shoutcastLogin(textOf(fields, 'pass')) : basicLogin(request);
    if (login === null) throw new TitleUpdateAnswer(401, 'Authentication required', CHALLENGE, NO_SECRET);
    const { readings } = login;
    // A form that is not read yet may name any mount.
    const isUnread = isForm && isSecretInHead;
    let mounts = isUnread ? this.#options.encoderMounts : this.#named(fields, login);
    let opened: readonly EncoderMount[] = [];
    let sender: TitleSender | null = null;
    const named = mounts.some(({ channelKey }) => this.#options.hookOf(channelKey) !== null) ? namedIn(readings) : null;
    let form: Promise<string> | null = null;
    let cameMs: number | undefined;
    const read = () => (form ??= this.#readForm(request));
    const compare = () => {
      opened = openedBy(readings, mounts);
      sender = path === '/admin.cgi' ? null : (this.#options.titleSender?.(request.headers) ?? null);
      return opened.length > 0 || sender !== null || (named === null ? false : null);
    };
    // The form may name the channel whose hook is asked, so it is read first, up to the usual limit.
    const askHook = async () => {
      const known = isUnread ? this.#fields(`${query}&${await read()}`) : fields;
      const asked = askedOf(this.#named(known, login), named, this.#options);
      if (asked === null) return false;
      opened = [asked.mount];
      cameMs = systemMs();
      const mount = textOf(known, 'mount') || login.mount;
      return await asked.hook({
        ...asked.login,
        mount: mount ? plainPath(mount) : `/${asked.mount.channelKey}`,
        address: this.#options.proxies.ofRequest(request),
        agent: request.headers['user-agent'] ?? '',
        isTitle: true,
        socket: request.socket,
      });
    };
    await this.#judge(exchange, mounts, compare, askHook);
    if (opened.length === 0 && sender !== null) return await this.#readOf(sender, exchange, fields, isUnread);
    // A page that can send the password of /admin.cgi knows it already.
    if (path !== '/admin.cgi') refusePageSent(request);
    if (isUnread) {
      const isAsked = form !== null;
      fields = this.#fields(`${query}&${await read()}`);
      mounts = this.#named(fields, login);
      if (!isAsked) opened = openedBy(readings, mounts);
      // A secret of another channel counts as wrong.
      const isAnothers = () => (askedOf(mounts, named, this.#options) === null ? false : null);
      if (opened.length === 0) await this.#judge(exchange, mounts, isAnothers, askHook);
    }
    const [mount, ...others] = opened;
    if (others.length > 0) {
      throw new TitleUpdateAnswer(403, 'Several channels have this password: name one with mount=');
    }
    return { mount: mount!, fields, sender: null, cameMs };
  }

  /** The update of a user of the admin interface, whose secret is right. Rejects with TitleUpdateAnswer. */
  async #readOf(sender: TitleSender, exchange: TitleExchange, fields: Fields, isUnread: boolean): Promise<TitleUpdate> {
    const { request } = exchange;
    try {
      if (sender.refusal !== null) throw new TitleUpdateAnswer(403, sender.refusal);
      if (isUnread) fields = this.#fields(`${queryOf(request.url!)}&${await this.#readForm(request)}`);
      const [mount, ...others] = this.#named(fields, { mount: null });
      if (mount === undefined || others.length > 0) throw new TitleUpdateAnswer(400, 'Name the channel with mount=');
      return { mount, fields, sender };
    } catch (error) {
      if (error instanceof TitleUpdateAnswer) error.act = this.#act(sender, fields);
      throw error;
    }
  }

  #act({ name: user }: TitleSender, fields: Fields): TitleAct {
    const text = (name: string) => cutTitle(textOf(fields, name), this.#options.textBytes);
    return { user, mount: text('mount'), artist: text('artist'), title: text('title'), song: text('song') };
  }

  /** Throws TitleUpdateAnswer. */
  #fields(query: string): Fields {
    const { parameters } = this.#options;
    const fields = queryBytes(query, parameters);
    if (fields === null) throw new TitleUpdateAnswer(400, `More than ${parameters} parameters`);
    return fields;
  }

  /** Reads the form, whose fields override those of the query. Never settles if the connection ends first. Rejects with TitleUpdateAnswer. */
  #readForm(request: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    return new Promise((resolve, reject) => {
      request.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes <= this.#options.bodyBytes) return;
        chunks.length = 0;
        request.removeAllListeners('data').removeAllListeners('end').resume();
        reject(new TitleUpdateAnswer(413, 'The form is too large', { Connection: 'close' }));
      });
      request.on('end', () => resolve(trimmedBytes(Buffer.concat(chunks).toString('latin1'))));
    });
  }

  /** Rejects with TitleUpdateAnswer if the secret is wrong. @param mounts the channels with which it is compared */
  async #judge(
    { request, response }: TitleExchange,
    mounts: readonly EncoderMount[],
    compare: () => boolean | null,
    ask: AskSecret | null = null,
  ): Promise<void> {
    const origin = this.#options.proxies.originOf(request);
    const judged = await new Promise<Judged>((onJudged, reject) => {
      // A fault of the form is a better answer than that the hook could not be asked.
      const orRejects: AskSecret | null =
        ask &&
        (() =>
          ask().catch((error: unknown) => {
            reject(error);
            return false;
          }));
      judgeRequest(this.#options, origin, response, compare, onJudged, orRejects);
    });
    const refused = secretRefusal(judged, CHALLENGE);
    if (refused === null) return;
    const { status, text, headers, why } = refused;
    const refusal = new TitleUpdateAnswer(status, `${text[0]!.toUpperCase()}${text.slice(1)}`, headers, why);
    if (mounts.length === 1) refusal.channel = mounts[0]!.channelKey;
    throw refusal;
  }

  async #apply(mount: EncoderMount, fields: Fields, cameMs = systemMs()): Promise<TitleUpdateAnswer> {
    if (textOf(fields, 'mode') !== 'updinfo') return new TitleUpdateAnswer(400, 'Only mode=updinfo is supported');
    const { title, ignored } = titleOf(fields, this.#options, mount.charset);
    const taken = (text: string) => takenAnswer(text, ignored);
    if (title === null) return taken('No field of the title was filled in');
    const isFed = await mount.sendTitle(title, cameMs);
    if (!isFed) return new TitleUpdateAnswer(400, 'No encoder feeds this mount');
    return taken(
      mount.takesTitles ? 'Metadata update successful' : 'Mountpoint will not accept this information update',
    );
  }

  /** Without a named mount, all channels that take an encoder. Throws TitleUpdateAnswer. */
  #named(fields: Fields, login: Pick<PasswordLogin, 'mount'>): readonly EncoderMount[] {
    const mount = textOf(fields, 'mount') || login.mount;
    if (!mount) return this.#options.encoderMounts;
    const found = this.#options.mountAt(mount);
    if (found === undefined) throw new TitleUpdateAnswer(404, 'No channel accepts an encoder at this mount');
    return [found];
  }

  #answer({ request, response }: TitleExchange, answer: TitleUpdateAnswer): void {
    const { status, why, channel, act, ignored } = answer;
    const [address, connection] = [this.#options.proxies.ofRequest(request), connectionId(request.socket)];
    this.#options.onVerdict({ status, channel, why, address, connection, act, ignored });
    answer.writeTo(response);
  }
}

/** Throws TitleUpdateAnswer for a request that a page made a browser send, with a stored password. */
function refusePageSent(request: IncomingMessage): void {
  try {
    refuseFromPage(request);
  } catch (error) {
    throw error instanceof Refusal ? new TitleUpdateAnswer(error.status, error.message) : error;
  }
}

type PasswordLogin = Pick<Extract<Login, { kind: 'password' }>, 'mount' | 'readings'>;

function basicLogin({ headers }: IncomingMessage): PasswordLogin | null {
  const given = basicCredentials(headers.authorization);
  if (given === null) return BEARER.test(headers.authorization ?? '') ? { mount: null, readings: [] } : null;
  return { mount: null, readings: [given] };
}

/** `pass=` has the same forms as the first line of audio: `user:password`, `password:#sid`, `/mount:password`. */
function shoutcastLogin(pass: string): PasswordLogin {
  const login = readLogin(pass);
  return login.kind === 'password' ? login : { mount: null, readings: [] };
}
