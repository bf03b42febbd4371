/** The OpenAPI document's admin interface (http/admin/README.md). Its routes describe themselves by these; the schemas are those that validate. */

import type * as z from 'zod';
import { type Json, TEXT, text } from './json.js';
import { inQuery, parametersIn, ref } from './parameters.js';
import {
  content,
  header,
  JSON_TYPE,
  NO_STORE,
  ok,
  operation,
  RETRY_AFTER,
  type RouteDocs,
  refused,
} from './responses.js';
import { jsonSchema, type Schemas } from './schemas.js';

const EVENTS_TYPE = 'text/event-stream';
const XML_TYPE = 'text/xml; charset=utf-8';
export const SECURITY = [{ adminPassword: [] }, { adminToken: [] }];
export const NOT_THERE = refused('not-found', 'There is no such object.');
const WRONG = refused('invalid', 'Parameters are invalid; all of them are named.');
const NO_SOURCE = refused('bad-request', 'A parameter is missing, or there is no such source.');
/** Of what needs a user. */
export const REFUSED: Json = {
  ...refused('unauthorized', 'Credentials are missing or wrong.', {
    'WWW-Authenticate': header('Basic and Bearer; only Bearer if X-Requested-With was sent.'),
  }),
  ...refused('not-allowed', 'The user lacks the right, or the request comes from a page of another origin.'),
  ...refused('too-many', 'Too many wrong secrets from this address; or the limit on such objects is reached.', {
    'Retry-After': { ...RETRY_AFTER, required: false },
  }),
  ...refused('unavailable', 'A part of the server is restarting, or has no room for this.'),
};

const json = (schema: Json) => content(JSON_TYPE, schema);

/** The texts of a route's operation. */
export interface OperationTexts {
  /** The name of its operation in generated clients. */
  readonly id: string;
  readonly summary: string;
}

/** What is seen with the right `read`. */
export interface ReadShape<Query extends z.ZodType = z.ZodType> {
  /** What its parameters must be. */
  readonly query?: Query;
  /** Its answer, in JSON. */
  readonly answer?: () => Json;
  /** Instead of an answer: the events that it sends. */
  readonly events?: string;
  /** Beside those that all have. */
  readonly refusals?: Json;
}

export interface ActShape<Body extends z.ZodType = z.ZodType> {
  /** Several are needed together; empty: every user may. */
  readonly right: string | readonly string[];
  /** What its body must be. */
  readonly body?: Body;
  /** Instead, the name of the body's schema in the document. */
  readonly bodyRef?: keyof Schemas;
  /** Its answer. */
  readonly answer?: () => Json;
  /** Instead, with 201. Without either, 204. */
  readonly created?: () => Json;
}

export function readDocs(
  { query, answer, events, refusals = {} }: ReadShape,
  { id, summary }: OperationTexts,
): RouteDocs {
  return () => {
    const body = answer === undefined ? content(EVENTS_TYPE, text(events!)) : json(answer());
    const responses = { ...REFUSED, ...refusals, ...(query && WRONG), ...ok(body) };
    const parameters = query === undefined ? [] : parametersIn(jsonSchema(query));
    return operation('Admin', id, summary, responses, { parameters, security: SECURITY });
  };
}

export function actDocs(
  { right, body, bodyRef, answer, created }: ActShape,
  { id, summary }: OperationTexts,
): RouteDocs {
  const rights = [right].flat();
  const by = rights.length === 0 ? 'any right' : `${rights.length > 1 ? 'rights' : 'right'} ${rights.join(' and ')}`;
  return () => {
    const done = { description: 'Done.', headers: NO_STORE };
    const answered = answer ?? created;
    const schema = body === undefined ? bodyRef && ref(bodyRef) : jsonSchema(body);
    const responses = {
      ...REFUSED,
      ...(schema && refused('bad-request', 'The body is not JSON.')),
      ...NOT_THERE,
      ...refused('conflict', 'Not possible in the present state.'),
      ...refused('too-large', 'The body is too large.'),
      ...refused('unsupported-media-type', 'The body must be JSON.'),
      ...refused('invalid', 'Fields are missing or wrong; all of them are named.'),
      ...(answered ? { [created ? 201 : 200]: { ...done, content: json(answered()) } } : { 204: done }),
    };
    return operation('Admin', id, `${summary} (${by})`, responses, {
      security: SECURITY,
      ...(schema && { requestBody: { required: true, content: content('application/json', schema) } }),
    });
  };
}

/** Of the forms of http/admin/icecast-answer.ts only those that answer a read differently are paths of the document. */
const ALSO = 'Also with .xml or .xsl after the path.';

/** One of Icecast's own reads: XML as 2.4.4 has it, or JSON. */
export function icecastReadDocs(name: string, isJson: boolean): RouteDocs {
  const [id, summary] = isJson
    ? [`icecast-${name}-json`, `Icecast's ${name} as JSON`]
    : [`icecast-${name}`, `Icecast's ${name}`];
  return () => {
    const parameter =
      name === 'listmounts'
        ? inQuery('with_listeners', 'If present, sources contain their listeners (Icecast-KH).')
        : inQuery('mount', 'A mount; listclients requires it.');
    const responses = { ...REFUSED, ...NO_SOURCE, ...ok(isJson ? json({ type: 'object' }) : content(XML_TYPE, TEXT)) };
    const about = isJson ? {} : { description: ALSO };
    return operation('Admin', id, summary, responses, { ...about, parameters: [parameter], security: SECURITY });
  };
}

/** @param parameters their names, all alike */
export function icecastActDocs(name: string, parameters: readonly string[]): RouteDocs {
  return (_, method) => {
    const responses = {
      ...REFUSED,
      ...NO_SOURCE,
      ...refused('too-large', 'The body is too large.'),
      ...refused('unsupported-media-type', 'The body must be a form.'),
      ...ok(content(XML_TYPE, TEXT), NO_STORE, '`return` is 1 if it was done.'),
    };
    const id = `icecast-${name}${method === 'post' ? '-post' : ''}`;
    return operation('Admin', id, `Icecast's ${name} (right operate)`, responses, {
      description: `${ALSO} With .json: JSON.`,
      security: SECURITY,
      parameters: parameters.map((each) => inQuery(each, 'As in Icecast.')),
    });
  };
}
