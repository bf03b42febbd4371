/**
 * `/metapush/{channelkey}/{token}`: who may push, what was pushed, and the answer (specification, "Push metadata"; contract, "Push").
 * The answer comes after the commit and after this node's readers have been written to.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PushInput, PushLimits } from '../metadata/push-input.js';
import { parsePushBody, parsePushQuery } from '../metadata/push-input.js';
import { Refusal } from '../refusal.js';

/** What pushing needs of the rest of the house; wired in app.ts. */
export interface PushTarget {
  /** Whether this token may push to this channel; an unknown channel takes the same time and says the same. */
  authorized(channel: string, token: string): boolean;
  /** Commits and tells; resolves with the answer's JSON. Rejects with a Refusal. */
  push(channel: string, input: PushInput): Promise<string>;
  /** An accepted push has been written to this node's readers, so long after it came in. */
  told(tookMs: number): void;
  /** Every push by the status of its answer; channel `""` where it was not known. */
  counted(channel: string, status: number): void;
}

interface PushParams {
  readonly channel: string;
  readonly token: string;
}

const PATH = '/metapush/:channel/:token';
const ANSWER_HEADS = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' };

/** @param limits of the fields and, in bytes, of a POST's body */
export function registerPush(
  app: FastifyInstance,
  target: PushTarget,
  limits: PushLimits & { bodyBytes: number },
): void {
  /** What a stranger writes into a path must not become a label of the metrics. */
  const known = new WeakSet<FastifyRequest>();
  app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit: limits.bodyBytes }, (_, body, done) =>
    done(null, body),
  );
  const route = {
    url: PATH,
    exposeHeadRoute: false,
    // Before the body is read: a stranger learns nothing but that he is one.
    onRequest: async (request: FastifyRequest) => {
      const { channel, token } = request.params as PushParams;
      if (!target.authorized(channel, token)) throw forbidden();
      known.add(request);
    },
    onResponse: async (request: FastifyRequest, reply: FastifyReply) => {
      target.counted(known.has(request) ? (request.params as PushParams).channel : '', reply.statusCode);
    },
  };
  const answer = async (request: FastifyRequest, reply: FastifyReply, input: PushInput) => {
    const json = await target.push((request.params as PushParams).channel, input);
    target.told(reply.elapsedTime);
    return reply.headers(ANSWER_HEADS).send(json);
  };

  app.route({
    ...route,
    method: 'GET',
    handler: (request, reply) => {
      const mark = request.url.indexOf('?');
      return answer(request, reply, parsePushQuery(mark < 0 ? '' : request.url.slice(mark + 1), limits));
    },
  });
  app.route({
    ...route,
    method: 'POST',
    handler: (request, reply) => {
      if (!Buffer.isBuffer(request.body)) {
        throw new Refusal(
          'unsupported-media-type',
          'The body must be a JSON object with Content-Type: application/json.',
        );
      }
      return answer(request, reply, parsePushBody(request.body, limits));
    },
  });
  app.route({
    // HEAD is refused too: a link checker must not push.
    method: ['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'],
    url: PATH,
    handler: async () => {
      throw new Refusal('method-not-allowed', 'Push with GET or POST.', { headers: { Allow: 'GET, POST' } });
    },
  });
}

/** One and the same answer for an unknown channel and a wrong token. */
function forbidden(): Refusal {
  return new Refusal('forbidden', 'The channel key is unknown or the token is not its push token.');
}
