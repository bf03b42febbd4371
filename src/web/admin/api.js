// @ts-check
/** Requests to the server: reads and acts of `/admin/api`. The browser adds the user's login, which the page never sees. */

import { noteDate } from './time.js';

/** @typedef {import('../../admin/channel-rows.js').ChannelReport} ChannelReport */

const READ_MS = 10_000;
/** When the server last answered, unix milliseconds by this device. */
let heard = 0;
/** The page may be below a proxy's path, and its own address may contain a password. */
const BASE = new URL('.', location.origin + location.pathname);

/** An answer with an error status. */
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
 * Reads a path below `/admin/api/`. Rejects with Refused, or if there is no connection.
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
 * Rejects as `read`.
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
  noteDate(answer.headers.get('date'));
  const text = await answer.text();
  if (answer.status < 500) noteHeard();
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

/** The server was heard. */
export function noteHeard() {
  heard = Date.now();
}

/** When the server was last heard, unix milliseconds by this device. */
export function heardMs() {
  return heard;
}
