// @ts-check
/** A channel's listeners, a page at a time; to end or move one, those that fit, or all. */

import { ask, read } from './api.js';
import { confirm } from './dialog.js';
import { list, make, part, say, section, table } from './dom.js';
import { ago, bytesOf, counted, lagOf } from './words.js';

/** @typedef {import('./channel.js').OneChannel} OneChannel */
/** @typedef {import('../../link/admin-reports.js').ListenerReport} ListenerReport */

const PAGE = 50;

export class ListenersPanel {
  element;
  #key;
  #live;
  #may;
  #agent = make('input', { type: 'search', placeholder: 'Player', 'aria-label': 'Part of the player’s name' });
  #address = make('input', { type: 'search', placeholder: 'Address or network', 'aria-label': 'Address or network' });
  #sum = make('p', { class: 'sum', role: 'status' });
  #table = table('Listeners', ['Player', 'From', 'For', 'Hears', 'Behind', 'Bytes', '']);
  // Hidden until it is known that there is more: a page that loads has no button that leads nowhere.
  #before = make('button', { type: 'button', hidden: true }, '← Before');
  #after = make('button', { type: 'button', hidden: true }, 'Further →');
  #offset = 0;
  #total = 0;

  /** @param {import('./page.js').Page} page @param {string} key */
  constructor({ live, may }, key) {
    this.#key = key;
    this.#live = live;
    this.#may = may('operate');
    for (const input of [this.#agent, this.#address]) input.oninput = () => this.#turn(0);
    this.#before.onclick = () => this.#turn(Math.max(0, this.#offset - PAGE));
    this.#after.onclick = () => this.#turn(this.#offset + PAGE);
    const end = make('button', { type: 'button', class: 'danger', onclick: () => this.#end() }, 'End these …');
    const move = make('button', { type: 'button', onclick: () => this.#move() }, 'Move these …');
    const acts = make('div', { class: 'buttons', hidden: !this.#may }, move, end);
    this.element = section(
      'Listeners',
      make('div', { class: 'filter' }, this.#agent, this.#address, this.#sum),
      acts,
      this.#table.element,
      make('div', { class: 'buttons turns' }, this.#before, this.#after),
    );
    this.element.classList.add('whole');
  }

  get #filter() {
    return { channel: this.#key, agent: this.#agent.value.trim(), address: this.#address.value.trim() };
  }

  /** As the API takes it in a body: what is empty is not there. */
  get #given() {
    return Object.fromEntries(Object.entries(this.#filter).filter(([, value]) => value !== ''));
  }

  /** @param {OneChannel} [_channel] */
  async show(_channel) {
    const { total, listeners } = await read('listeners', { ...this.#filter, limit: PAGE, offset: this.#offset });
    this.#total = total;
    const last = this.#offset + listeners.length;
    say(
      this.#sum,
      total <= PAGE ? counted(total, 'listener') : `${this.#offset + 1} to ${last} of ${counted(total, 'listener')}`,
    );
    this.#before.hidden = this.#offset === 0;
    this.#after.hidden = last >= total;
    this.#table.element.hidden = total === 0;
    list(
      this.#table.body,
      /** @type {ListenerReport[]} */ (listeners),
      ({ id }) => id,
      (listener) => this.#begin(listener),
      fill,
    );
  }

  /** @param {number} offset */
  #turn(offset) {
    this.#offset = offset;
    void this.show().catch(({ message }) => say(this.#sum, message));
  }

  /** @param {ListenerReport} listener */
  #begin({ id, agent, address, referer, icy, metaid }) {
    const end = make(
      'button',
      { type: 'button', class: 'danger', hidden: !this.#may, 'aria-label': `End ${agent} from ${address}` },
      'End …',
    );
    end.onclick = () =>
      confirm(
        {
          title: 'End this listener?',
          text: `${agent || 'A player'} from ${address}. Most players come again at once.`,
          button: 'End',
          isDanger: true,
        },
        async () => {
          await ask('DELETE', `admin/api/listeners/${encodeURIComponent(id)}`);
          return 'The listener is ended.';
        },
      );
    const about = [icy ? 'takes titles' : 'without titles', metaid === null ? '' : `metaid ${metaid}`, referer].filter(
      (text) => text !== '',
    );
    return make(
      'tr',
      {},
      make('th', { scope: 'row', title: about.join(' · ') }, agent || '–'),
      make('td', {}, address),
      make('td', { class: 'since' }),
      make('td', { class: 'title', dir: 'auto' }),
      make('td', { class: 'behind' }),
      make('td', { class: 'bytes' }),
      make('td', {}, end),
    );
  }

  get #crowd() {
    const { agent, address } = this.#filter;
    const which = [
      agent === '' ? '' : `whose player has “${agent}” in its name`,
      address === '' ? '' : `from ${address}`,
    ].filter((text) => text !== '');
    return `${counted(this.#total, 'listener')} of ${this.#key}${which.length === 0 ? '' : `, ${which.join(', ')}`}`;
  }

  #end() {
    const text = `${this.#crowd}: their streams end. Most players come again at once.`;
    confirm(
      { title: 'End these listeners?', text, button: `End ${counted(this.#total, 'listener')}`, isDanger: true },
      async () => {
        const { ended } = await ask('POST', 'admin/api/listeners/end', this.#given);
        return `${counted(ended, 'listener')} ended.`;
      },
    );
  }

  #move() {
    const others = this.#live.channels.filter(({ channel }) => channel !== this.#key);
    const options = others.map(({ channel, name }) => /** @type {const} */ ([channel, name || channel]));
    const text = `${this.#crowd}: they go on with another channel, on the same connection. Those whose player was promised another format stay.`;
    const field = { name: 'to', label: 'Channel', options };
    confirm({ title: 'Move these listeners?', text, button: 'Move', fields: [field] }, async ({ to }) => {
      const { moved, refused } = await ask('POST', 'admin/api/listeners/move', { ...this.#given, to });
      return `${counted(moved, 'listener')} moved${refused === 0 ? '' : `, ${refused} stayed`}.`;
    });
  }
}

/** @param {HTMLElement} row @param {ListenerReport} listener */
function fill(row, { sinceMs, hears, lagMs, bytes }) {
  say(part(row, 'since'), ago(sinceMs));
  say(part(row, 'title'), hears || '–');
  say(part(row, 'behind'), lagOf(lagMs));
  say(part(row, 'bytes'), bytesOf(bytes));
}
