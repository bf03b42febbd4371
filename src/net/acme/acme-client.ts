/**
 * Orders a certificate of an authority that speaks ACME (RFC 8555), by the package `acme-client`: account, order, proof by HTTP-01, certificate. The
 * proof is answered by acme-answers.ts. Loaded with the first order, as the package has fifty dependencies.
 *
 * The package's requests go through our own client (outbound/), with our limits and without its retries, which are up to acme-certificate.ts. It
 * has a single adapter for that in a process, so one order is made at a time.
 */

import { X509Certificate } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import acme, { type Authorization, type Order } from 'acme-client';
import { pairProblem } from '../../config/addresses/tls.js';
import { boundedAnswer } from '../outbound/bounded-answer.js';
import type { OutboundRequest } from '../outbound/outbound.js';
import { Target } from '../outbound/target.js';
import { newKey } from './acme-key.js';
import { OrderRefused, retryAfterMs } from './order-refused.js';

export interface OrderRequest {
  readonly directoryUrl: string;
  readonly domains: readonly string[];
  readonly email: string | undefined;
  /** PEM of the authorities of the directory's own certificate; undefined: Node's. */
  readonly ca: Buffer | undefined;
  readonly eab: { readonly kid: string; readonly hmacKey: string } | undefined;
  /** PEM. */
  readonly accountKey: string;
  readonly signal: AbortSignal;
  /** Limit of each request. */
  readonly requestMs?: number;
}

const REQUEST_MS = 30_000;
const HEAD_BYTES = 16 * 1024;
/** A chain has some 4 KiB, an order with a hundred names as many. */
const BODY_BYTES = 256 * 1024;
/** Pauses between two looks at an order that the authority works on. */
const POLL_MS = [500, 1000, 2000, 3000, 5000];
/** Time for the authority to check the proofs, and to sign. */
const SETTLE_MS = 120_000;

/** Limit for one order, which has at most a hundred domains. */
const MAX_PROOFS = 200;

type AxiosAdapter = (config: {
  readonly url?: string;
  readonly method?: string;
  readonly data?: string;
  readonly headers: { toJSON(): Record<string, unknown> };
}) => Promise<unknown>;

/** Resolves with the chain and its key, PEM. Rejects with OrderRefused. */
export async function orderCertificate(request: OrderRequest): Promise<string> {
  const trouble = { afterMs: 0 };
  acme.axios.defaults.adapter = adapterOf(request, trouble) as never;
  try {
    return await order(request);
  } catch (error) {
    throw new OrderRefused((error as Error).message, trouble.afterMs);
  }
}

async function order({ directoryUrl, domains, email, eab, accountKey, signal }: OrderRequest): Promise<string> {
  const client = new acme.Client({ directoryUrl, accountKey, ...(eab && { externalAccountBinding: eab }) });
  const contact = email === undefined ? {} : { contact: [`mailto:${email}`] };
  await client.createAccount({ termsOfServiceAgreed: true, ...contact });
  const begun = await client.createOrder({ identifiers: domains.map((value) => ({ type: 'dns', value })) });
  for (const authorization of await authorizationsOf(client, begun)) {
    if (authorization.status === 'valid') continue;
    const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
    if (challenge === undefined) {
      throw new Error(`the authority offers no HTTP-01 for ${authorization.identifier.value}`);
    }
    await client.completeChallenge(challenge);
  }
  const key = newKey();
  const proven = await settled(client, begun, 'pending', signal);
  const [, csr] = await acme.crypto.createCsr({ altNames: [...domains] }, key);
  const asked = proven.status === 'ready' ? await client.finalizeOrder(proven, csr) : proven;
  const made = await settled(client, asked, 'processing', signal);
  if (made.status !== 'valid') throw new Error(`the order is ${made.status}`);
  return checked(String(await client.getCertificate(made)), key, domains);
}

/** Resolves with the order once it has left this state. Rejects with the authority's reasons if it is invalid. */
async function settled(
  client: InstanceType<typeof acme.Client>,
  begun: Order,
  state: string,
  signal: AbortSignal,
): Promise<Order> {
  const endMs = performance.now() + SETTLE_MS;
  let order = begun;
  for (let i = 0; order.status === state; i++) {
    if (performance.now() > endMs) throw new Error(`the order stays ${state} for too long`);
    await pause(POLL_MS[i] ?? POLL_MS.at(-1), undefined, { signal });
    order = await client.getOrder(order);
  }
  if (order.status !== 'invalid') return order;
  const reasons = (await authorizationsOf(client, order)).flatMap(reasonsOf);
  throw new Error(reasons.join('; ') || 'the order is invalid');
}

/** One after the other: the package would request all at once, each on a connection of its own. */
async function authorizationsOf(client: InstanceType<typeof acme.Client>, order: Order): Promise<Authorization[]> {
  const urls = order.authorizations ?? [];
  if (urls.length > MAX_PROOFS) throw new Error(`the authority asks for ${urls.length} proofs`);
  const all: Authorization[] = [];
  for (const url of urls) all.push(...(await client.getAuthorizations({ ...order, authorizations: [url] })));
  return all;
}

function reasonsOf({ identifier, challenges }: Authorization): string[] {
  return challenges.flatMap((challenge) => {
    const { error } = challenge as { readonly error?: { readonly detail?: unknown } };
    return error === undefined ? [] : [`${identifier.value}: ${String(error.detail ?? 'refused')}`];
  });
}

/** Chain and key as one text. Throws if the pair is unusable, or not for all domains. */
function checked(chain: string, key: string, domains: readonly string[]): string {
  const problem = pairProblem(Buffer.from(chain), Buffer.from(key));
  if (problem !== undefined) throw new Error(`the certificate from the authority cannot be used: ${problem}`);
  const certificate = new X509Certificate(chain);
  const missing = domains.find((domain) => certificate.checkHost(domain) === undefined);
  if (missing !== undefined) throw new Error(`the certificate from the authority is not for ${missing}`);
  return `${chain.trim()}\n${key}`;
}

/** Makes the requests of `axios`. Resolves whatever the status: after a rejection the package retries, as late as an authority says. */
function adapterOf({ ca, signal, requestMs = REQUEST_MS }: OrderRequest, trouble: { afterMs: number }): AxiosAdapter {
  return async (config) => {
    const { url = '', method = 'get', data, headers } = config;
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new Error('the authority names no URL');
    const all = Object.entries({ ...headers.toJSON(), 'User-Agent': 'airsplice' });
    const request: OutboundRequest = {
      target: Target.named(url, undefined, true),
      method: method.toUpperCase() as OutboundRequest['method'],
      headers: Object.fromEntries(all.map(([name, value]) => [name, String(value)])),
      ...(data !== undefined && { body: data }),
    };
    const limits = { ca, timeoutMs: requestMs, headBytes: HEAD_BYTES, bodyBytes: BODY_BYTES, signal };
    const answer = await boundedAnswer(request, limits);
    if (answer.status === 429 || answer.status === 503) {
      trouble.afterMs = Math.max(trouble.afterMs, retryAfterMs(answer.headers.get('retry-after'), Date.now()));
    }
    return {
      data: answer.body.toString(),
      status: answer.status,
      statusText: '',
      headers: Object.fromEntries(answer.headers),
      config,
      request: null,
    };
  };
}
