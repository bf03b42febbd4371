/**
 * The error that refuses a client's request. Every refusal is a row of the table below; http/problem.ts turns it into RFC 9457
 * problem+json. Code that finds bad input throws a Refusal, before it has applied any of that input.
 */

/** Kind → HTTP status and title for people. The kind is also the metric label and the last part of the problem's type. */
export const REFUSALS = {
  'bad-request': { status: 400, title: 'Malformed request' },
  unauthorized: { status: 401, title: 'Authentication required' },
  forbidden: { status: 403, title: 'Unknown channel or wrong token' },
  'not-allowed': { status: 403, title: 'Not permitted' },
  'not-admitted': { status: 403, title: 'Listening not permitted' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict with the current state' },
  timeout: { status: 408, title: 'Request timeout' },
  'too-large': { status: 413, title: 'Too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported content type' },
  invalid: { status: 422, title: 'Missing or invalid fields' },
  'upgrade-required': { status: 426, title: 'WebSocket upgrade required' },
  'too-many': { status: 429, title: 'Too many requests' },
  'head-too-large': { status: 431, title: 'Request head too large' },
  internal: { status: 500, title: 'Internal error' },
  'not-implemented': { status: 501, title: 'Not supported' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const;

export type RefusalKind = keyof typeof REFUSALS;

/** An invalid field: its name as the sender wrote it, and a sentence for people. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/** Help for a person on an HTML page: a paragraph, and a command to type or a link to open. */
export interface RefusalHelp {
  readonly text: string;
  readonly code: string;
}

export class Refusal extends Error {
  readonly kind: RefusalKind;
  readonly errors: readonly FieldError[];
  /** Extra response headers, such as Allow or Retry-After. */
  readonly headers: Readonly<Record<string, string>>;
  readonly help: readonly RefusalHelp[];

  constructor(
    kind: RefusalKind,
    detail: string,
    options: { errors?: readonly FieldError[]; headers?: Record<string, string>; help?: readonly RefusalHelp[] } = {},
  ) {
    // A client's mistake needs no stack; collecting it took 6 % of the CPU under a flood of guesses.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(detail);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Refusal';
    this.kind = kind;
    this.errors = options.errors ?? [];
    this.headers = options.headers ?? {};
    this.help = options.help ?? [];
  }

  get status(): number {
    return REFUSALS[this.kind].status;
  }
}

/** Refuses a request for one of its fields. @param message what the field must be, for people */
export function invalidField(field: string, message: string): Refusal {
  return new Refusal('invalid', `${field} ${message}.`, { errors: [{ field, message }] });
}

/** Refuses a request that cannot be served at present. @param retrySeconds whole number, after which a retry makes sense */
export function retryLater(kind: 'unavailable' | 'too-many', detail: string, retrySeconds: number): Refusal {
  return new Refusal(kind, detail, { headers: { 'Retry-After': String(retrySeconds) } });
}

/** Headers of a 429 for too many wrong secrets: it closes the connection, so that each further guess needs a new one. */
export function guessHeaders(retrySeconds: number): Record<string, string> {
  return { 'Retry-After': String(retrySeconds), Connection: 'close' };
}

/** @param retrySeconds as retryLater */
export function tooManyGuesses(detail: string, retrySeconds: number): Refusal {
  return new Refusal('too-many', detail, { headers: guessHeaders(retrySeconds) });
}

/** For a client that has closed its connection: it is not sent. */
export function clientGone(): Refusal {
  return new Refusal('unavailable', 'The client has disconnected.');
}

/** Refuses requests while the server stops. @param retrySeconds as retryLater */
export function shuttingDown(retrySeconds: number): Refusal {
  return retryLater('unavailable', 'The server is shutting down.', retrySeconds);
}
