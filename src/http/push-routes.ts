/**
 * `/metapush/{channelkey}/{token}`, or `/metapush/{channelkey}` with a bearer token (RFC 6750): checks the token and the rate, parses the
 * push, and answers (specification, "Push metadata"; src/http/README.md, "Push"). The answer is sent after the commit, and after the record
 * was written to the readers of this node, unless their titles are delayed.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../base/ip.js';
import { REFUSALS, Refusal, retryLater, tooManyGuesses } from '../base/refusal.js';
import { queryOf } from '../base/request-target.js';
import * as docs from '../docs/push-docs.js';
import { formFields, isForm, printableName, urlFields } from '../metadata/push-fields.js';
import {
  type PushInput,
  type PushLimits,
  parsePushBody,
  parsePushFields,
  parsePushQuery,
  type ReadPush,
} from '../metadata/push-input.js';
import type { Proxies } from '../net/front/client-address.js';
import { bearerToken } from '../net/front/request-head.js';
import { connectionId } from '../net/front/tracked-connection.js';
import { type Judged, type Judges, judgeRequest } from '../net/limits/judge.js';
import type { Rate } from '../net/limits/rate.js';
import { SECRET_REASONS } from '../net/limits/secret-gate.js';
import type { AcceptedPush } from '../titles/pushes.js';
import { PUSH_METHODS } from './allow.js';
import { readBody } from './coded-body.js';
import { described, type RouteRole, refuseOthers } from './methods.js';
import { JSON_TYPE } from './reads.js';
import { hasBody } from './upgrade-offer.js';

/** The rest of the server, as pushes use it; wired in app/. */
export interface PushTarget {
  /** Whether this token may push to this channel. False for an unknown channel, after the same time. */
  authorizes(channel: string, token: string): boolean;
  /** Commits the push and delivers it to the readers. Rejects with a Refusal. @param connection its id, for the log */
  push(channel: string, input: PushInput, connection?: string): Promise<AcceptedPush>;
  /** An accepted push had fields that were ignored. @param names theirs (src/metadata/push-input.ts, ReadPush) */
  onIgnored(channel: string, names: readonly string[]): void;
  /** An accepted push was written to the readers of this node. @param tookMs since its request began */
  onPublished(tookMs: number): void;
  /** Called for every push, accepted or refused. */
  onAnswered(answer: PushAnswered): void;
}

export interface PushAnswered {
  readonly status: number;
  /** From the path; any text if `isAuthorized` is false. */
  readonly channel: string;
  readonly isAuthorized: boolean;
  /** The client's. */
  readonly address: string;
  /** Its id. */
  readonly connection: string | undefined;
  /** Why the secret was refused, otherwise the title of the status. */
  readonly why: string;
}

export interface PushRates extends Judges {
  /** Rate of accepted pushes, by channel. */
  readonly pushes: Rate;
  /** Rate of pushes refused with a 4xx, by channel: a separate bucket, so that they do not use up that of accepted pushes. */
  readonly refusedPushes: Rate;
  readonly proxies: Proxies;
}

interface PushParams {
  readonly channel: string;
  /** Absent in the bearer form. */
  readonly token?: string;
}

/** The client of a push, and the verdict on its token. */
interface PushClient {
  readonly address: string;
  verdict: Judged['verdict'] | undefined;
}

const ROLE: RouteRole = { role: 'push' };
/** Whether the token comes in a header. */
const PATHS = { '/metapush/:channel/:token': false, '/metapush/:channel': true };
/** With or without a charset: JSON is always UTF-8. */
export const JSON_BODY = /^application\/json\s*(;|$)/i;
const MULTIPART = /^multipart\//i;
/** See `readPush`. */
const BODY_TYPES = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'];
const CURLY = 0x7b;
/** Limit on names in the header Airsplice-Ignored. */
const MAX_NAMES = 20;
const ANSWER_HEADERS = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store' };

/** @param limits those of the fields, another object after a change; and that of a POST's body in bytes, fixed at the start */
export function registerPush(
  app: FastifyInstance,
  target: PushTarget,
  limits: () => PushLimits & { readonly pushBodyBytes: number },
  rates: PushRates,
): void {
  const clients = new WeakMap<FastifyRequest, PushClient>();
  app.addContentTypeParser(BODY_TYPES, { parseAs: 'buffer' }, readBody);
  const route = {
    bodyLimit: limits().pushBodyBytes,
    exposeHeadRoute: false,
    // Before the body is read, so that a client without a token gets no other answer.
    onRequest: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
      const { channel, token } = request.params as PushParams;
      const compare = () => target.authorizes(channel, token ?? bearerToken(request.headers.authorization));
      const client: PushClient = { address: rates.proxies.ofRequest(request.raw), verdict: undefined };
      clients.set(request, client);
      const onJudged = (judged: Judged) => {
        client.verdict = judged.verdict;
        done(refusalOf(judged, token === undefined) ?? refusalOfType(request) ?? undefined);
      };
      judgeRequest(rates, originOf(client.address), reply.raw, compare, onJudged);
    },
    onResponse: (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      const { channel } = request.params as PushParams;
      // Undefined if the address does not serve pushes: the router's hook has refused it before.
      const client = clients.get(request);
      const verdict = client?.verdict;
      const address = client?.address ?? rates.proxies.ofRequest(request.raw);
      const isAuthorized = verdict === 'right';
      const why = verdict === undefined || isAuthorized ? titleOf(reply.statusCode) : SECRET_REASONS[verdict];
      const connection = connectionId(request.raw.socket);
      target.onAnswered({ channel, isAuthorized, status: reply.statusCode, address, connection, why });
      done();
    },
  };
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { channel } = request.params as PushParams;
    takePush(rates, channel);
    let accepted: AcceptedPush;
    let ignored: readonly string[];
    try {
      // After the rate was checked, since parsing is the cost of a refused push.
      const read = readPush(request, limits());
      ignored = read.ignored;
      accepted = await target.push(channel, read.input, connectionId(request.raw.socket));
    } catch (error) {
      rates.pushes.giveBack(channel);
      if (error instanceof Refusal && error.status < 500) rates.refusedPushes.takeAvailable(channel);
      throw error;
    }
    if (accepted.isPublished) target.onPublished(reply.elapsedTime);
    if (ignored.length > 0) {
      target.onIgnored(channel, ignored);
      reply.header('Airsplice-Ignored', listOf(ignored));
    }
    return reply.headers(ANSWER_HEADERS).send(accepted.json);
  };

  for (const [url, isBearer] of Object.entries(PATHS)) {
    app.route({ ...route, url, config: described(docs.push(isBearer), ROLE), method: ['GET', 'POST'], handler });
    refuseOthers(app, url, PUSH_METHODS, 'Push with GET or POST.', ROLE);
  }
}

/** Takes one push from the rate of the channel. @throws Refusal too-many */
export function takePush(rates: Pick<PushRates, 'pushes' | 'refusedPushes'>, channel: string): void {
  const waitSeconds = rates.refusedPushes.waitSeconds(channel) || rates.pushes.take(channel);
  if (waitSeconds > 0) throw retryLater('too-many', 'Too many pushes to this channel.', waitSeconds);
}

/** Null: the token is right. An unknown channel and a wrong token get the same answer. */
function refusalOf({ verdict, retrySeconds }: Judged, isBearer: boolean): Refusal | null {
  if (verdict === 'right') return null;
  if (verdict === 'too-many') return tooManyGuesses('Too many wrong tokens from this address.', retrySeconds);
  const headers: Record<string, string> = isBearer ? { 'WWW-Authenticate': 'Bearer' } : {};
  return new Refusal('forbidden', 'Unknown channel key, or not a push token of the channel.', { headers });
}

/** Null: a GET, a body of a known type, or fields in the address and no body. */
function refusalOfType({ method, headers, url, raw }: FastifyRequest): Refusal | null {
  const type = headers['content-type'] ?? '';
  if (method !== 'POST' || JSON_BODY.test(type) || isForm(type)) return null;
  if (type === '' && queryOf(url) !== '' && !hasBody(raw)) return null;
  return new Refusal('unsupported-media-type', BODY_DETAIL);
}

const BODY_DETAIL =
  'The body must be a JSON object with Content-Type: application/json, or a form: application/x-www-form-urlencoded, or multipart/form-data with a boundary.';

/** @throws Refusal bad-request, too-large, unsupported-media-type, invalid */
export function readPush(request: FastifyRequest, limits: PushLimits): ReadPush {
  const query = queryOf(request.url);
  const type = request.headers['content-type'] ?? '';
  // Undefined if the request has no body.
  const body = request.body as Buffer | undefined;
  if (request.method === 'GET' || (query !== '' && (body?.length ?? 0) === 0)) {
    return parsePushQuery(query, limits);
  }
  if (isForm(type)) {
    // curl sends JSON as a form unless it is given a Content-Type.
    if (body?.[0] === CURLY && !MULTIPART.test(type)) throw new Refusal('unsupported-media-type', BODY_DETAIL);
    return parsePushFields(formFields(body ?? Buffer.alloc(0), type, query, limits.parameters), limits);
  }
  const { input, ignored } = parsePushBody(body ?? Buffer.alloc(0), limits);
  return { input, ignored: [...urlFields(query, limits.parameters).keys()].map(printableName).concat(ignored) };
}

/** The value of the header Airsplice-Ignored. */
function listOf(names: readonly string[]): string {
  return names.slice(0, MAX_NAMES).map(encodeURIComponent).join(', ');
}

function titleOf(status: number): string {
  return Object.values(REFUSALS).find((row) => row.status === status)?.title ?? '';
}
