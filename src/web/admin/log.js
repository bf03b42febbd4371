// @ts-check
/** The last lines of the log, live, newest first. */

import { make, say } from './dom.js';
import { Events } from './events.js';
import { moment } from './words.js';

/** @typedef {import('../../admin/rows.js').LogLine} LogLine */

const MOST = 500;
const LEVELS = /** @type {Readonly<Record<string, string>>} */ ({ warn: 'warning' });
/** Shown elsewhere in the line, or not at all. */
const KNOWN = ['level', 'time', 'msg', 'pid', 'hostname'];

export class LogView {
  title = 'Log';
  element;
  #events;
  #lines = make('ol', { class: 'lines' });
  #filter = make('input', { type: 'search', placeholder: 'Search the log', 'aria-label': 'Search the log' });
  #hold = make('button', { type: 'button', 'aria-pressed': 'false' }, 'Pause');
  /** Lines that arrived while it is paused. */
  #waiting = /** @type {LogLine[]} */ ([]);
  /** Keys of the lines that were received: each connection begins with the last lines. */
  #known = /** @type {Set<string>} */ (new Set());
  #state = make('p', { class: 'sum', role: 'status' });

  constructor() {
    this.#filter.oninput = () => this.#find();
    this.#hold.onclick = () => {
      const holds = !this.#isHeld;
      this.#hold.setAttribute('aria-pressed', String(holds));
      if (!holds) for (const line of this.#waiting.splice(0)) this.#add(line);
    };
    this.element = make(
      'div',
      {},
      make('div', { class: 'heading' }, make('h1', {}, 'Log'), this.#filter, this.#hold, this.#state),
      this.#lines,
    );
    this.#events = new Events('admin/api/log?lines=200', { line: (line) => this.#take(line) }, (state) =>
      say(this.#state, state === 'reconnecting' ? 'connection lost, reconnecting' : ''),
    );
  }

  get #isHeld() {
    return this.#hold.getAttribute('aria-pressed') === 'true';
  }

  show() {}

  close() {
    this.#events.close();
  }

  /** @param {LogLine} line */
  #take(line) {
    const key = `${line.process} ${line.atMs}`;
    if (this.#known.has(key)) return;
    const [oldest = ''] = this.#known.add(key);
    if (this.#known.size > 2 * MOST) this.#known.delete(oldest);
    if (!this.#isHeld) this.#add(line);
    else if (this.#waiting.push(line) > MOST) this.#waiting.shift();
  }

  /** @param {LogLine} line */
  #add({ atMs, line }) {
    const fields = JSON.parse(line);
    const level = LEVELS[fields.level] ?? fields.level;
    const rest = Object.entries(fields)
      .filter(([name]) => !KNOWN.includes(name))
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
    const row = make(
      'li',
      { 'data-level': level },
      make('time', {}, moment(atMs)),
      make('span', { class: 'level' }, level),
      make('span', { class: 'message' }, fields.msg ?? ''),
      make('span', { class: 'fields', dir: 'auto' }, rest.join(' ')),
    );
    row.hidden = !this.#fits(row);
    this.#lines.prepend(row);
    while (this.#lines.children.length > MOST) this.#lines.lastElementChild?.remove();
  }

  #find() {
    for (const row of /** @type {Iterable<HTMLElement>} */ (this.#lines.children)) row.hidden = !this.#fits(row);
  }

  /** @param {HTMLElement} row */
  #fits(row) {
    return (row.textContent ?? '').toLowerCase().includes(this.#filter.value.trim().toLowerCase());
  }
}
