/**
 * Checks answers and messages against the API documents that the server serves. `ask` and `Watching` (wire.ts) check all that they receive, so
 * the whole suite keeps the documents true.
 *
 * An answer must have a status that the operation documents, the required headers, one of its content types, and a body that matches the schema,
 * with members in the documented order. A method that a path does not list must be answered with 405.
 */

import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fastify from 'fastify';
import { documents } from '../../src/docs/documents.js';
import type { Json } from '../../src/docs/json.js';
import { paths as described } from '../../src/docs/openapi.js';
import { ANYWHERE, ANYWHERE_BY_STATUS, header, refused } from '../../src/docs/responses.js';
import { describedRoutes } from '../../src/http/document-routes.js';
import { PUSH_LIMITS } from './limits.js';
import { registerAll } from './routes.js';

/** The checked parts of an answer. Names of headers in lower case. */
interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly responses: Answers;
}

type Answers = Readonly<Record<string, Response>>;

interface Response {
  readonly headers?: Readonly<Record<string, { readonly required: boolean; readonly schema: Json }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

const DESCRIBED_LIMITS = { ...PUSH_LIMITS, historyEntries: 1000, historyPageBytes: 2_097_152 };
const app = fastify({ exposeHeadRoutes: false });
const routes = describedRoutes(app);
registerAll(app);
/** As a server makes them. */
export const DOCUMENTS = await documents(DESCRIBED_LIMITS, routes);
const { openApi, asyncApi } = DOCUMENTS;
/** The same paths, written out. */
export const WRITTEN_PATHS = described(DESCRIBED_LIMITS, routes);
type Path = Readonly<Record<string, Operation>>;
const ENCODERS_METHODS = { const: 'GET, POST, OPTIONS' };
const PREFLIGHT = {
  204: {
    headers: {
      Allow: header('The methods.'),
      'Access-Control-Allow-Origin': header('Pages of any origin.', { const: '*' }),
      'Access-Control-Allow-Methods': header('The methods.'),
      'Access-Control-Allow-Headers': header('The headers that a page may set.'),
      'Access-Control-Max-Age': header('Seconds for which this may be remembered.'),
    },
  },
};

/** The documented paths, with HEAD and OPTIONS added, which the document describes in words only. */
const paths: Readonly<Record<string, Path>> = Object.fromEntries(
  Object.entries(WRITTEN_PATHS as Readonly<Record<string, Path>>).map(([template, path]) => [
    template,
    { ...path, ...implied(template, path) },
  ]),
);
const METHODS = ['get', 'head', 'post', 'put', 'delete', 'options'];

/** The answers to HEAD and OPTIONS at a path. @param path as in the document */
function implied(template: string, path: Path): Path {
  const { get, post } = path;
  const one = (get ?? post ?? path['put'] ?? path['delete'])!;
  const [tag] = one.tags as [string];
  const answering = (responses: object): Operation => ({ ...one, responses: responses as Answers });
  if (tag === 'Push')
    return { head: answering(withoutBodies({ ...ANYWHERE, ...refused('method-not-allowed', '') } as Answers)) };
  if (tag === 'Encode') return { options: answering({ 204: { headers: { Allow: header('', ENCODERS_METHODS) } } }) };
  const options = ['Poll', 'Watch', 'History', 'Hear'].includes(tag) ? { options: answering(PREFLIGHT) } : {};
  // Icecast's admin actions.
  if (get === undefined || get.summary.includes('(right')) return options;
  // HEAD never opens a WebSocket or an event stream, so limits do not refuse it.
  const never = tag !== 'Watch' ? [] : template.startsWith('/metadata/sse/') ? ['503'] : ['101', '422', '503'];
  return { ...options, head: answering(withoutBodies(get.responses, never)) };
}

function withoutBodies(responses: Answers, never: readonly string[] = []): object {
  const all = Object.entries(responses).filter(([status]) => !never.includes(status));
  return Object.fromEntries(all.map(([status, { content: _, ...kept }]) => [status, kept]));
}

/** Pages for people, which are not part of the described interface. */
const OTHERS = /^\/($|web\/|docs(\/|$)|favicon\.ico$|\*)/;

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema(openApi as AnySchema, 'openapi');
ajv.addSchema(asyncApi as AnySchema, 'asyncapi');

const compiled = new WeakMap<Json, ValidateFunction>();

function problemsOf(schema: Json, document: string, value: unknown): string[] {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', `"$ref":"${document}#`)));
    compiled.set(schema, check);
  }
  check(value);
  return (check.errors ?? []).map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
}

/** Longest literal part first: `/metadata/channel/{channelkey}.json` before `/metadata/channel/{channelkey}`. */
const templates = Object.keys(paths)
  .map((template) => {
    const pattern = template
      .replace(/[.]/g, '\\.')
      .replace(/\{(\w+)\}/g, (_, name) => (name === 'mount' ? '.+' : '[^/]*'));
    return { template, pattern: new RegExp(`^${pattern}$`), literal: template.replace(/\{\w+\}/g, '').length };
  })
  .sort((a, b) => b.literal - a.literal);

function templateOf(path: string): string {
  return templates.find(({ pattern }) => pattern.test(path))!.template;
}

/** The documented answer for a status; else `default`, which covers the answers of any operation. */
function responseOf(operation: Operation | undefined, status: number): Response | undefined {
  const { [String(status)]: own, default: others } = operation?.responses ?? {};
  return own ?? (others === undefined ? undefined : (ANYWHERE_BY_STATUS as Answers)[String(status)]);
}

/** Every described operation as `METHOD template`, with its statuses. */
export function operations(): Map<string, readonly number[]> {
  const all = new Map<string, readonly number[]>();
  for (const [template, path] of Object.entries(paths)) {
    for (const method of METHODS) {
      const operation = path[method];
      if (operation === undefined) continue;
      const statuses = Object.keys(operation.responses).filter((status) => status !== 'default');
      all.set(`${method.toUpperCase()} ${template}`, statuses.map(Number));
    }
  }
  return all;
}

/** Every channel of the AsyncAPI document: address template. */
export function asyncAddresses(): string[] {
  return Object.values(asyncApi['channels'] as Record<string, { address: string }>).map(({ address }) => address);
}

/** `METHOD template` and status of an answer, as `operations` names it. */
export function seenAs(method: string, url: string, status: number): string {
  return `${method} ${templateOf(pathOf(url))} ${status}`;
}

function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '') || '/';
}

/**
 * The differences between an answer and the document; empty if the request was not HTTP, or its address is not described.
 * @param url as requested
 */
export function answerProblems(method: string, url: string, answer: Answer): string[] {
  const path = pathOf(url);
  const type = answer.headers.get('content-type') ?? '';
  const sane = /^[A-Z]+$/.test(method) && /^\/[\x21-\x7e]*$/.test(path);
  if (!sane || OTHERS.test(path) || method === 'PUT' || method === 'SOURCE') {
    return type.startsWith('application/problem+json') && answer.body !== '' ? bodyProblems(PROBLEM, type, answer) : [];
  }
  const template = templateOf(path);
  const operation = paths[template]![method.toLowerCase()];
  const response = operation === undefined ? refusalOf(answer.status) : responseOf(operation, answer.status);
  if (response === undefined) return [`${method} ${template} does not know the status ${answer.status}`];
  const problems: string[] = [];
  for (const [name, { required, schema }] of Object.entries(response.headers ?? {})) {
    const value = answer.headers.get(name.toLowerCase());
    if (value === undefined && required) problems.push(`the head ${name} is missing`);
    if (value !== undefined) {
      problems.push(...problemsOf(schema, 'openapi', value).map((problem) => `the head ${name}: ${problem}`));
    }
  }
  if (method !== 'HEAD') problems.push(...bodyProblems(response, type, answer));
  return problems.map((problem) => `${method} ${template} ${answer.status}: ${problem}`);
}

/** Headers of the connection or of any answer, which no operation lists. */
const ANYWAY = /^(date|connection|keep-alive|content-length|content-type|transfer-encoding)$/;

/** The headers of an answer that the document does not list for its operation. */
export function unknownHeaders(method: string, url: string, answer: Pick<Answer, 'status' | 'headers'>): string[] {
  const path = pathOf(url);
  const response = OTHERS.test(path)
    ? undefined
    : responseOf(paths[templateOf(path)]![method.toLowerCase()], answer.status);
  if (response === undefined) return [];
  const known = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  const unknown = [...answer.headers.keys()].filter((name) => !ANYWAY.test(name) && !known.has(name));
  return unknown.map(
    (name) => `${method} ${templateOf(path)} ${answer.status}: the head ${name} is not in the document`,
  );
}

const PROBLEM: Response = {
  content: { 'application/problem+json; charset=utf-8': { schema: { $ref: '#/components/schemas/Problem' } } },
};

/** The documented answer to an undescribed method: 405, or an answer to any request. */
function refusalOf(status: number): Response | undefined {
  // Encoders get plain text.
  const content = { ...PROBLEM.content, 'text/plain; charset=utf-8': { schema: { type: 'string' } } };
  if (status === 405) return { content, headers: { Allow: { required: true, schema: { type: 'string' } } } };
  // The token is checked before the method; at shutdown everything is refused.
  return [400, 403, 404, 408, 429, 431, 503].includes(status) ? PROBLEM : undefined;
}

function bodyProblems(response: Response, type: string, answer: Answer): string[] {
  const { content } = response;
  if (content === undefined) return answer.body === '' ? [] : ['there is a body'];
  // A media type without parameters covers all parameters.
  const media = content[type] ?? content[type.replace(/;.*/s, '')];
  if (media === undefined) return [`the content type ${JSON.stringify(type)} is not known`];
  if (answer.headers.has('content-encoding') || type.startsWith('audio/')) return [];
  const value = type.includes('json') ? JSON.parse(answer.body) : answer.body;
  return [...problemsOf(media.schema, 'openapi', value), ...orderProblems(media.schema, value)];
}

/** The contract gives an order of members; JSON Schema cannot, so it is the order in the document. */
function orderProblems(schema: Json, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => orderProblems(schema['items'] as Json, item));
  if (typeof value !== 'object' || value === null) return [];
  if (schema['$ref'] === undefined) return [];
  const name = String(schema['$ref']).split('/').at(-1)!;
  const known = (openApi['components'] as { schemas: Record<string, { properties: Json }> }).schemas[name]!;
  const order = Object.keys(known.properties).filter((member) => Object.hasOwn(value, member));
  return String(order) === String(Object.keys(value)) ? [] : [`members in another order: ${Object.keys(value)}`];
}

/** The differences between a message (a WebSocket's text frame, an event's data) and the document. @param url of the watcher */
export function messageProblems(url: string, message: unknown): string[] {
  const path = new URL(url).pathname;
  const known = asyncAddresses().some((address) => new RegExp(`^${address.replace(/\{\w+\}/, '[^/]+')}$`).test(path));
  // The old service's WebSocket has its own protocol.
  if (!known) return path === '/' ? [] : [`${path} is not in the document`];
  const { type } = message as { readonly type?: unknown };
  const { messages } = asyncApi['components'] as { messages: Record<string, { payload: Json }> };
  const payload = messages[String(type)]?.payload;
  if (payload === undefined) return [`there is no message of type ${type}`];
  const record = { $ref: '#/components/schemas/ChannelRecord' };
  return [...problemsOf(payload, 'asyncapi', message), ...orderProblems(record, message)];
}
