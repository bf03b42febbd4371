// @ts-check
/** A channel's sources, their state and history, with buttons to choose one, and to move or disconnect an encoder. */

import { ask } from './api.js';
import { confirm } from './dialog.js';
import { list, make, mark, part, say, section, table } from './dom.js';
import { ago, count, EVENTS, moment, REASONS, sourceName, standing } from './words.js';

/** @typedef {import('./channel.js').OneChannel} OneChannel */
/** @typedef {import('./words.js').SourceReport} SourceReport */
/** @typedef {import('../../channel/source-timeline.js').TimelineEntry} TimelineEntry */

export class SourcesPanel {
  element;
  #key;
  #live;
  #path;
  #may;
  #list = make('ul', { class: 'sources' });
  #release = make('button', { type: 'button' }, 'Back to automatic …');
  #timeline = table('Source history', ['Time', 'Source', 'Event']);

  /** @param {import('./page.js').Page} page @param {string} key */
  constructor({ live, may }, key) {
    this.#key = key;
    this.#live = live;
    this.#path = `admin/api/channels/${encodeURIComponent(key)}`;
    this.#may = may('operate');
    this.#release.onclick = () => {
      const text = 'The channel goes back to the highest source in the list that has audio.';
      confirm({ title: 'Choose the source automatically?', text, button: 'Back to automatic' }, async () => {
        await ask('DELETE', `${this.#path}/source`);
        return 'The source is chosen automatically again.';
      });
    };
    const heading = make('h3', {}, 'History');
    this.element = section(
      'Sources',
      this.#list,
      make('div', { class: 'buttons' }, this.#release),
      heading,
      this.#timeline.element,
    );
    this.element.classList.add('whole');
  }

  /** @param {OneChannel} channel */
  async show({ sources, pinned, timeline }) {
    this.#release.hidden = pinned === null || !this.#may;
    list(
      this.#list,
      sources,
      ({ place, kind }) => `${place} ${kind}`,
      (source) => this.#begin(source),
      (row, source) => {
        fill(row, source, pinned);
        part(row, 'move').hidden = part(row, 'end').hidden || this.#targets.length === 0;
      },
    );
    list(
      this.#timeline.body,
      [...timeline].reverse(),
      ({ atMs, what, place, isOver }) => `${atMs} ${what} ${place} ${isOver}`,
      (entry) =>
        make(
          'tr',
          {},
          make('td', {}, moment(entry.atMs)),
          make('td', {}, sourceName(entry)),
          make('td', { class: 'what' }),
        ),
      (row, entry) => say(part(row, 'what'), whatOf(entry)),
    );
  }

  /** Other channels that take an encoder. */
  get #targets() {
    const others = this.#live.channels.filter(({ channel }) => channel !== this.#key);
    return others.filter(({ sources }) => sources.some(({ kind }) => kind === 'encoder'));
  }

  #move() {
    const options = this.#targets.map(({ channel, name }) => /** @type {const} */ ([channel, name || channel]));
    const text =
      'The encoder feeds the other channel at once, without reconnecting, and the next source takes over here. The next time it connects, it feeds this channel again.';
    const field = { name: 'to', label: 'Channel', options };
    confirm(
      { title: 'Move the encoder to another channel?', text, button: 'Move encoder', fields: [field] },
      async ({ to }) => {
        await ask('POST', `${this.#path}/encoder/move`, { to });
        return `The encoder now feeds ${options.find(([channel]) => channel === to)?.[1] ?? to}.`;
      },
    );
  }

  /** @param {SourceReport} source */
  #begin({ place, kind }) {
    const name = sourceName({ kind, place });
    const choose = make(
      'button',
      { type: 'button', class: 'choose', 'aria-label': `Play this source: ${name}` },
      'Play this source …',
    );
    choose.onclick = () => {
      const text = 'It stays on air until it fails or you go back to automatic, even if a higher source gets audio.';
      confirm({ title: `Play source ${name}?`, text, button: 'Play' }, async () => {
        await ask('POST', `${this.#path}/source`, { place });
        return `Source ${name} is on air until you go back to automatic.`;
      });
    };
    const end = make(
      'button',
      { type: 'button', class: 'end danger', 'aria-label': `Disconnect: ${name}` },
      'Disconnect …',
    );
    end.onclick = () => {
      const text =
        'The next source takes over. The encoder can reconnect at once unless you block its address on the Access page.';
      confirm({ title: 'Disconnect the encoder?', text, button: 'Disconnect', isDanger: true }, async () => {
        await ask('DELETE', `${this.#path}/encoder`);
        return 'The encoder is disconnected.';
      });
    };
    const move = make(
      'button',
      { type: 'button', class: 'move', 'aria-label': `Move encoder: ${name}`, onclick: () => this.#move() },
      'Move encoder …',
    );
    const buttons = make('div', { class: 'buttons', hidden: !this.#may }, choose, move, end);
    return make(
      'li',
      {},
      make('p', { class: 'head' }, make('span', { class: 'status' }), make('strong', {}, name)),
      make('p', { class: 'facts', dir: 'auto' }),
      make('p', { class: 'events' }),
      buttons,
    );
  }
}

/** @param {HTMLElement} row @param {SourceReport} source @param {number | null} pinned */
function fill(row, source, pinned) {
  const { place, kind, state, isOnAir, address, agent, sinceMs, bitrateKbps, contentType, troubles, events, upstream } =
    source;
  const status = part(row, 'status');
  const word = isOnAir ? (pinned === place ? 'on air, chosen by hand' : 'on air') : standing(kind, state);
  say(status, troubles.length > 0 ? `${word}: ${troubles.map((each) => EVENTS[each] ?? each).join(', ')}` : word);
  mark(status, 'data-level', troubles.length > 0 ? 'waiting' : isOnAir ? 'good' : 'idle');
  const facts = [
    contentType?.replace(/^audio\//, ''),
    bitrateKbps > 0 ? `${bitrateKbps} kb/s` : undefined,
    address === '' ? undefined : `from ${address}`,
    agent === '' ? undefined : agent,
    upstream === null ? undefined : `URL ${upstream}`,
    sinceMs === null ? undefined : `for ${ago(sinceMs)}`,
  ];
  say(part(row, 'facts'), facts.filter((fact) => fact !== undefined).join(' · '));
  const found = Object.entries(events).filter(([, times]) => times > 0);
  say(part(row, 'events'), found.map(([event, times]) => `${EVENTS[event] ?? event}: ${count(times)}×`).join(' · '));
  const choose = /** @type {HTMLButtonElement} */ (part(row, 'choose'));
  choose.disabled = isOnAir || (kind === 'encoder' && state !== 'up');
  part(row, 'end').hidden = kind !== 'encoder' || state !== 'up';
}

/** @param {TimelineEntry} entry */
function whatOf({ what, place, reason, isOver, count: times }) {
  const again = times > 1 ? ` (${count(times)} times)` : '';
  if (what === 'on-air')
    return `${place === null ? 'off air' : 'on air'}${reason === '' ? '' : `: ${REASONS[reason] ?? reason}`}${again}`;
  return `${EVENTS[what] ?? what}${isOver ? ': ended' : reason === '' ? '' : `: ${reason}`}${again}`;
}
