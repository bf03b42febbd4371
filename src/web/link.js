// @ts-check
/**
 * A WebSocket that comes back by itself until it is closed, and the addresses of this server as the page needs them.
 * Each message is one record (src/http/README.md, "Watching"). `Link.onstate` gets the state of all links together.
 */

/** @typedef {{ type: string, rawdata: string, artist: string, song: string, id: string, position: string, cover: string }} Title */
/** @typedef {'connected' | 'connecting' | 'reconnecting'} State */

const MOST_WAIT_MS = 30_000;
/** A connection that has lasted this long was a good one: the next wait is short again. */
const GOOD_MS = 10_000;

/** Doubles from about one second, with jitter, so that a crowd does not come back all at once. @param {number} tries so far */
export function waitMs(tries) {
  return Math.min(MOST_WAIT_MS, 1000 * 2 ** tries) * (0.5 + Math.random());
}

/** @param {string} path from the page's own address: it may stand below a path of a proxy */
export function address(path) {
  return new URL(path.replace(/^\//, ''), document.baseURI);
}

/** @param {string} path */
export function socketAddress(path) {
  const url = address(path);
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

export class Link {
  static #all = /** @type {Set<Link>} */ (new Set());
  /** Called on every change. */
  static onstate = (/** @type {State} */ _state) => {};

  #path;
  #onTitle;
  #socket = /** @type {WebSocket | null} */ (null);
  #timer = 0;
  #tries = 0;

  /**
   * @param {string} path of the feed
   * @param {(title: Title, first: boolean) => void} onTitle first: what was in force when this connection opened, no news
   */
  constructor(path, onTitle) {
    this.#path = path;
    this.#onTitle = onTitle;
    Link.#all.add(this);
    this.#connect();
  }

  close() {
    Link.#all.delete(this);
    clearTimeout(this.#timer);
    this.#socket?.close();
    Link.#report();
  }

  /** The network is back: no link waits any longer. */
  static hurry() {
    for (const link of Link.#all) if (link.#socket === null) link.#connect();
  }

  #connect() {
    clearTimeout(this.#timer);
    const socket = new WebSocket(socketAddress(this.#path));
    this.#socket = socket;
    let openedMs = Number.POSITIVE_INFINITY;
    let first = true;
    socket.onopen = () => {
      openedMs = performance.now();
      Link.#report();
    };
    socket.onmessage = ({ data }) => {
      const title = /** @type {Title} */ (JSON.parse(data));
      if (Link.#all.has(this)) this.#onTitle(title, first);
      // The server sends the next before the now.
      if (title.type === 'now') first = false;
    };
    socket.onclose = () => {
      this.#socket = null;
      if (!Link.#all.has(this)) return;
      if (performance.now() - openedMs > GOOD_MS) this.#tries = 0;
      this.#timer = setTimeout(() => this.#connect(), waitMs(this.#tries++));
      Link.#report();
    };
  }

  static #report() {
    const links = [...Link.#all];
    if (links.every((link) => link.#socket?.readyState === WebSocket.OPEN)) Link.onstate('connected');
    else Link.onstate(links.some((link) => link.#tries > 0) ? 'reconnecting' : 'connecting');
  }
}
