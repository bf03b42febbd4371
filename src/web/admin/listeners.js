// @ts-check
/** A channel's listeners, a page at a time; buttons end or move one, or all that match. */

import { ask, Refused, read } from './api.js';
import { confirm } from './dialog.js';
import { list, make, menu, part, say, section, table } from './dom.js';
import { ago, bytesOf, count, counted, lagOf } from './words.js';

/** @typedef {import('./channel.js').OneChannel} OneChannel */
/** @typedef {import('../../admin/rows.js').ListenerReport} ListenerReport */

const PAGE = 50;

export class ListenersPanel {
  element;
  #key;
  #live;
  #may;
  #agent = make('input', { type: 'search', placeholder: 'Player', 'aria-label': 'Part of the player’s name' });
  #address = make('input', { type: 'search', placeholder: 'Address or network', 'aria-label': 'Address or network' });
  #none = make('p', { class: 'note', hidden: true });
  #sum = make('p', { class: 'sum', role: 'status' });
  #table = table('Listeners', ['Player', 'Address', 'Connected for', 'Hears', 'Behind live', 'Sent', '']);
  // Hidden until there is known to be more, so that no button leads nowhere while the page loads.
  #before = make('button', { type: 'button', hidden: true }, '← Previous');
  #after = make('button', { type: 'button', hidden: true }, 'Next →');
  #acts = make('div', { class: 'buttons', hidden: true });
  /** Hidden if there is no other channel, like those of the rows. */
  #moveAll = make('button', { type: 'button', hidden: true }, 'Move all matching …');
  #offset = 0;
  #total = 0;
  /** The latest request. */
  #asked = 0;

  /** @param {import('./page.js').Page} page @param {string} key */
  constructor({ live, may }, key) {
    this.#key = key;
    this.#live = live;
    this.#may = may('operate');
    for (const input of [this.#agent, this.#address]) input.oninput = () => this.#turn(0);
    this.#before.onclick = () => this.#turn(Math.max(0, this.#offset - PAGE));
    this.#after.onclick = () => this.#turn(this.#offset + PAGE);
    const end = make(
      'button',
      { type: 'button', class: 'danger', onclick: () => this.#end() },
      'Disconnect all matching …',
    );
    this.#moveAll.onclick = () => this.#move();
    this.#acts.append(this.#moveAll, end);
    this.element = section(
      'Listeners',
      make('div', { class: 'filter' }, this.#agent, this.#address, this.#sum),
      this.#none,
      this.#acts,
      this.#table.element,
      make('div', { class: 'buttons turns' }, this.#before, this.#after),
    );
    this.#table.element.classList.add('cards');
    this.element.classList.add('whole');
  }

  get #filter() {
    return { channel: this.#key, agent: this.#agent.value.trim(), address: this.#address.value.trim() };
  }

  /** The filter in a body for the API: without empty members. */
  get #given() {
    return Object.fromEntries(Object.entries(this.#filter).filter(([, value]) => value !== ''));
  }

  /** @param {OneChannel} [_channel] @returns {Promise<void>} */
  async show(_channel) {
    const asked = ++this.#asked;
    const query = { ...this.#filter, limit: PAGE, offset: this.#offset };
    const { total, listeners, why = '' } = await read('listeners', query).catch((error) => this.#refuse(error));
    // Another filter was requested meanwhile.
    if (asked !== this.#asked) return;
    this.#total = total;
    // All listeners of this page have left meanwhile.
    if (this.#offset > 0 && listeners.length === 0) {
      this.#offset = Math.floor(Math.max(0, total - 1) / PAGE) * PAGE;
      return this.show();
    }
    const last = this.#offset + listeners.length;
    const which = total <= PAGE ? '' : `${this.#offset + 1} to ${last} of `;
    say(this.#sum, why || `${which}${counted(total, 'listener')}`);
    this.#before.hidden = this.#offset === 0;
    this.#after.hidden = last >= total;
    this.#table.element.hidden = total === 0;
    this.#none.hidden = total > 0 || why !== '';
    const isFiltered = this.#agent.value.trim() !== '' || this.#address.value.trim() !== '';
    say(this.#none, isFiltered ? 'No listeners match.' : 'Nobody is listening at the moment.');
    this.#acts.hidden = total === 0 || !this.#may;
    const hasOthers = this.#others.length > 0;
    this.#moveAll.hidden = !hasOthers;
    list(
      this.#table.body,
      /** @type {ListenerReport[]} */ (listeners),
      ({ id }) => id,
      (listener) => this.#begin(listener),
      (row, listener) => {
        fill(row, listener);
        part(row, 'move').hidden = !hasOthers;
      },
    );
  }

  /** Shows a fault of the filter beside it: usually an address that is not complete yet. @param {unknown} error */
  #refuse(error) {
    if (!(error instanceof Refused) || error.status !== 422) throw error;
    return { total: 0, listeners: [], why: error.message };
  }

  /** @param {number} offset */
  #turn(offset) {
    this.#offset = offset;
    void this.show().catch(({ message }) => say(this.#sum, message));
  }

  /** @param {ListenerReport} listener */
  #begin({ id, agent, address, referer, icy, hls, metaid }) {
    const who = `${agent || 'Unknown player'} from ${address}`;
    const move = make('button', { type: 'button', class: 'move', 'aria-label': `Move ${who}` }, 'Move …');
    move.onclick = () => this.#moveOne(id, who);
    const end = make('button', { type: 'button', class: 'danger', 'aria-label': `Disconnect ${who}` }, 'Disconnect …');
    end.onclick = () =>
      confirm(
        {
          title: 'Disconnect this listener?',
          text: `${who}. Most players reconnect at once.`,
          button: 'Disconnect',
          isDanger: true,
        },
        async () => {
          await ask('DELETE', `admin/api/listeners/${encodeURIComponent(id)}`);
          return 'The listener is disconnected.';
        },
      );
    const kind = hls ? 'HLS' : icy ? 'reads titles from the stream' : 'does not read titles from the stream';
    const about = [kind, metaid === null ? '' : `metaid ${metaid}`, referer].filter((text) => text !== '');
    return make(
      'tr',
      {},
      make('th', { scope: 'row', class: 'agent', title: about.join(' · ') }, agent || '–'),
      make('td', { class: 'address' }, address),
      make('td', { class: 'since' }),
      make('td', { class: 'title', dir: 'auto' }),
      make('td', { class: 'behind' }),
      make('td', { class: 'bytes' }),
      make('td', { class: 'acts' }, menu(who, make('div', { class: 'buttons', hidden: !this.#may }, move, end))),
    );
  }

  get #crowd() {
    const { agent, address } = this.#filter;
    const which = [
      agent === '' ? '' : `with “${agent}” in the player’s name`,
      address === '' ? '' : `from ${address}`,
    ].filter((text) => text !== '');
    return `${counted(this.#total, 'listener')} of ${this.#key}${which.length === 0 ? '' : `, ${which.join(', ')}`}`;
  }

  #end() {
    const text = `${this.#crowd}: their streams end. Most players reconnect at once.`;
    confirm(
      {
        title: 'Disconnect these listeners?',
        text,
        button: `Disconnect ${counted(this.#total, 'listener')}`,
        isDanger: true,
      },
      async () => {
        const { ended } = await ask('POST', 'admin/api/listeners/end', this.#given);
        return `${counted(ended, 'listener')} disconnected.`;
      },
    );
  }

  /** @param {string} id @param {string} who */
  #moveOne(id, who) {
    const text = `${who} hears another channel without reconnecting, if that channel has the same audio format.`;
    const question = { title: 'Move this listener?', text, button: 'Move', fields: [this.#otherChannel()] };
    confirm(question, async ({ to = '' }) => {
      const { moved, refused } = await ask('POST', 'admin/api/listeners/move', { ids: [id], to });
      if (moved > 0) return `The listener is moved to ${this.#nameOf(to)}.`;
      const stayed = `The listener was not moved: ${this.#nameOf(to)} has no audio or a different format.`;
      return { trouble: refused > 0 ? stayed : 'The listener has already left.' };
    });
  }

  #move() {
    const text = `${this.#crowd}: they hear another channel without reconnecting. Those whose audio format does not match stay.`;
    const question = { title: 'Move these listeners?', text, button: 'Move', fields: [this.#otherChannel()] };
    confirm(question, async ({ to = '' }) => {
      const { moved, refused } = await ask('POST', 'admin/api/listeners/move', { ...this.#given, to });
      const done = `${counted(moved, 'listener')} moved to ${this.#nameOf(to)}.`;
      if (refused === 0) return done;
      return {
        trouble: `${done} ${count(refused)} were not moved: the channel has no audio or a different format.`,
      };
    });
  }

  get #others() {
    return this.#live.channels.filter(({ channel }) => channel !== this.#key);
  }

  #otherChannel() {
    const options = this.#others.map(({ channel }) => /** @type {const} */ ([channel, this.#nameOf(channel)]));
    return { name: 'to', label: 'Channel', options };
  }

  /** @param {string} key */
  #nameOf(key) {
    return this.#live.channels.find(({ channel }) => channel === key)?.name || key;
  }
}

/** @param {HTMLElement} row @param {ListenerReport} listener */
function fill(row, { sinceMs, hears, lagMs, bytes }) {
  say(part(row, 'since'), ago(sinceMs));
  say(part(row, 'title'), hears || '–');
  say(part(row, 'behind'), lagOf(lagMs));
  say(part(row, 'bytes'), bytesOf(bytes));
}
