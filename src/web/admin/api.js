// @ts-check
/**
 * What the page asks of the server: reads and acts of `/admin/api`, and what changes, by server-sent events. The browser sends the user's password
 * along; the page never sees it.
 */

/** @typedef {import('../../admin/admin-reports.js').ChannelReport} ChannelReport */
/** @typedef {'connecting' | 'live' | 'reconnecting' | 'signed out'} LiveState */

const RETRY_MS = 5000;
/** After this time without a word of the server it is asked whether it is there: a connection may be gone without an end. */
const QUIET_MS = 8000;
const READ_MS = 10_000;
const PROBE_MS = 4000;
/** When the server was heard last, unix milliseconds. */
let heardMs = 0;
/** The page may stand below a path of a proxy, and its own address may have a password in it. */
const BASE = new URL('.', location.origin + location.pathname);

/** An answer that is none of those that were hoped for. */
export class Refused extends Error {
  /** @param {number} status @param {string} text */
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** @param {string} path below the page's folder */
export function urlOf(path) {
  return new URL(path.replace(/^\//, ''), BASE).href;
}

/**
 * Reads below `/admin/api/`. Rejects with Refused, or where there is no connection.
 * @param {string} path @param {Record<string, string | number | undefined>} [query]
 * @returns {Promise<any>}
 */
export function read(path, query = {}) {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  const search = new URLSearchParams(given).toString();
  return ask('GET', `admin/api/${path}${search === '' ? '' : `?${search}`}`);
}

/**
 * Acts. Rejects as `read`.
 * @param {'GET' | 'POST' | 'DELETE'} method @param {string} path below the page's folder @param {unknown} [body]
 * @returns {Promise<any>} null: the answer has no body
 */
export async function ask(method, path, body) {
  const answer = await fetch(urlOf(path), {
    method,
    headers: { 'X-Requested-With': 'airsplice', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(method === 'GET' && { signal: AbortSignal.timeout(READ_MS) }),
  });
  const text = await answer.text();
  if (answer.status < 500) heardMs = Date.now();
  if (answer.ok) return text === '' ? null : JSON.parse(text);
  throw new Refused(answer.status, problemOf(text) || `The server answered with status ${answer.status}.`);
}

/** RFC 9457. @param {string} text */
function problemOf(text) {
  try {
    const { detail, title, errors = [] } = JSON.parse(text);
    const fields = errors.map((/** @type {{ field: string, message: string }} */ { field, message }) =>
      message.startsWith(field) ? message : `${field} ${message}`,
    );
    return fields.length > 0 ? fields.join('; ') : (detail ?? title ?? '');
  } catch {
    return '';
  }
}

/** The channels as they are now, in the server's order, and who wants to know. */
export class Live {
  channels = /** @type {ChannelReport[]} */ ([]);
  /** Of what it knows, unix milliseconds; 0: nothing yet. */
  asOfMs = 0;
  state = /** @type {LiveState} */ ('connecting');
  #events = /** @type {EventSource | null} */ (null);
  #onChange;
  #onState;

  /** @param {() => void} onChange @param {(state: LiveState) => void} onState */
  constructor(onChange, onState) {
    this.#onChange = onChange;
    this.#onState = onState;
    this.#connect();
    setInterval(() => document.hidden || void this.#probe(), 2000);
  }

  /** @param {LiveState} state */
  #set(state) {
    if (state === 'live') heardMs = Date.now();
    else if (this.state === 'live') this.asOfMs = heardMs;
    this.state = state;
    this.#onState(state);
  }

  /** Connects again where the server is silent, and does not answer either. */
  async #probe() {
    if (this.state !== 'live' || Date.now() - heardMs < QUIET_MS) return;
    const isThere = await fetch(urlOf('admin/api/self'), { signal: AbortSignal.timeout(PROBE_MS) }).then(
      ({ status }) => status < 500,
      () => false,
    );
    if (isThere) heardMs = Date.now();
    else if (this.state === 'live') {
      this.#events?.close();
      this.#set('reconnecting');
      setTimeout(() => void this.#again(), RETRY_MS);
    }
  }

  #connect() {
    const events = new EventSource(urlOf('admin/api/events'));
    this.#events = events;
    events.addEventListener('snapshot', ({ data }) => {
      this.channels = JSON.parse(data).channels;
      this.#set('live');
      this.#onChange();
    });
    events.addEventListener('change', ({ data }) => {
      heardMs = Date.now();
      const { channels, gone } = JSON.parse(data);
      const changed = new Map(channels.map((/** @type {ChannelReport} */ each) => [each.channel, each]));
      const known = this.channels.filter(({ channel }) => !gone.includes(channel));
      this.channels = known.map((each) => changed.get(each.channel) ?? each);
      const keys = new Set(known.map(({ channel }) => channel));
      for (const each of changed.values()) if (!keys.has(each.channel)) this.channels.push(each);
      this.#onChange();
    });
    events.onerror = () => {
      this.#set('reconnecting');
      // It tries by itself, but for an answer that is not 200: then it has given up.
      if (events.readyState === EventSource.CLOSED) setTimeout(() => void this.#again(), RETRY_MS);
    };
  }

  async #again() {
    const status = await read('self').then(
      () => 200,
      (error) => (error instanceof Refused ? error.status : 0),
    );
    if (status === 401 || status === 403) this.#set('signed out');
    else this.#connect();
  }
}
