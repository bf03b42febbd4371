// @ts-check
/**
 * Server-sent events with reconnection. A browser gives up after any answer but 200, such as a proxy's 502 while the server starts; and a phone that
 * was asleep may keep a connection that was lost without notice. The server sends an event at least every twenty seconds.
 */

import { Refused, read, urlOf } from './api.js';

/** @typedef {'connecting' | 'live' | 'reconnecting' | 'signed out'} LiveState */

const RETRY_MS = 5000;
const LOOK_MS = 2000;
const SILENT_MS = 45_000;

export class Events {
  #path;
  #handlers;
  #onState;
  #source = /** @type {EventSource | null} */ (null);
  #heardMs = 0;
  #isClosed = false;
  #looks = setInterval(() => document.hidden || this.#look(), LOOK_MS);

  /**
   * @param {string} path below the page's folder @param {Record<string, (data: any) => void>} handlers by name of the event
   * @param {(state: LiveState) => void} onState 'live' with each connection
   */
  constructor(path, handlers, onState) {
    this.#path = path;
    this.#handlers = handlers;
    this.#onState = onState;
    this.#connect();
  }

  close() {
    this.#isClosed = true;
    clearInterval(this.#looks);
    this.#source?.close();
  }

  /** Drops the connection, even if the browser considers it open, and reconnects later. */
  drop() {
    if (this.#source === null) return;
    this.#source.close();
    this.#source = null;
    this.#onState('reconnecting');
    setTimeout(() => void this.#again(), RETRY_MS);
  }

  #look() {
    if (this.#source === null || Date.now() - this.#heardMs < SILENT_MS) return;
    // A connection that never opens is replaced too.
    this.#source.close();
    this.#connect();
  }

  #connect() {
    const source = new EventSource(urlOf(this.#path));
    this.#source = source;
    const heard = () => {
      this.#heardMs = Date.now();
    };
    heard();
    source.onopen = () => {
      heard();
      this.#onState('live');
    };
    source.addEventListener('alive', heard);
    for (const [name, take] of Object.entries(this.#handlers))
      source.addEventListener(name, ({ data }) => {
        heard();
        take(JSON.parse(data));
      });
    source.onerror = () => {
      // The browser retries, except after an answer other than 200.
      if (source.readyState === EventSource.CLOSED) this.drop();
      else this.#onState('reconnecting');
    };
  }

  async #again() {
    const status = await read('self').then(
      () => 200,
      (error) => (error instanceof Refused ? error.status : 0),
    );
    if (this.#isClosed) return;
    if (status === 401 || status === 403) this.#onState('signed out');
    else this.#connect();
  }
}
