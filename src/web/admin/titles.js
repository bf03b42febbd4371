// @ts-check
/** A channel's titles: now, next, those that wait, and where each stands on the tape with who hears it; to push, correct and withdraw them. */

import { ask, read } from './api.js';
import { tape } from './charts.js';
import { confirm } from './dialog.js';
import { list, make, part, say, section, table } from './dom.js';
import { counted, lagOf, moment } from './words.js';

/** @typedef {import('./channel.js').OneChannel} OneChannel */
/** @typedef {{ id: string, artist: string, song: string, atMs: number, channel: string }} Held */

export class TitlesPanel {
  element;
  #path;
  #key;
  #may;
  #now = make('p', { class: 'now', dir: 'auto' });
  #next = make('p', { class: 'next', dir: 'auto' });
  #clear = make('button', { type: 'button' }, 'Clear …');
  #withdraw = make('button', { type: 'button' }, 'Withdraw next …');
  #held = make('ul', { class: 'held' });
  #tape = make('div', { class: 'drawn' });
  #places = table('Titles on the tape', ['Title', 'Behind the live edge', 'Heard by']);

  /** @param {import('./page.js').Page} page @param {string} key */
  constructor({ may }, key) {
    this.#key = key;
    this.#path = `admin/api/channels/${encodeURIComponent(key)}`;
    this.#may = may('titles');
    const push = make('button', { type: 'button', class: 'primary' }, 'Push a title …');
    push.onclick = () => this.#push();
    this.#clear.onclick = () =>
      this.#act(
        'Clear the title?',
        'Listeners see no title from here on, until the next one comes.',
        'Clear',
        'titles/now',
        'The title is cleared.',
      );
    this.#withdraw.onclick = () =>
      this.#act(
        'Withdraw what follows?',
        'Apps show no next title any more.',
        'Withdraw',
        'titles/next',
        'The next title is withdrawn.',
      );
    const buttons = make('div', { class: 'buttons', hidden: !this.#may }, push, this.#clear, this.#withdraw);
    this.element = section('Titles', this.#now, this.#next, buttons, this.#held, this.#tape, this.#places.element);
    this.element.classList.add('whole');
  }

  /** @param {OneChannel} channel */
  async show({ title, nextTitle, held, titles, tape: facts, bySecondsBehind }) {
    say(this.#now, title || 'No title');
    say(this.#next, nextTitle === '' ? '' : `Next: ${nextTitle}`);
    this.#clear.disabled = title === '';
    this.#withdraw.hidden = nextTitle === '';
    this.#tape.replaceChildren(
      ...(facts === null ? [] : [tape(facts.heldMs, titles, bySecondsBehind, this.#tape.clientWidth)]),
    );
    this.#places.element.hidden = titles.length === 0;
    const rows = titles.map((each, i) => ({
      ...each,
      heard: hearing(bySecondsBehind, i === 0 ? Number.POSITIVE_INFINITY : each.behindMs, titles[i + 1]?.behindMs ?? 0),
      isBefore: i === 0,
    }));
    list(
      this.#places.body,
      rows.reverse(),
      ({ id, title }) => `${id} ${title}`,
      (row) =>
        make(
          'tr',
          {},
          make('th', { scope: 'row', dir: 'auto' }, row.title || 'no title'),
          make('td', { class: 'behind' }),
          make('td', { class: 'heard' }),
        ),
      (row, { behindMs, heard, isBefore }) => {
        say(part(row, 'behind'), isBefore ? 'where the tape begins' : lagOf(behindMs));
        say(part(row, 'heard'), counted(heard, 'listener'));
      },
    );
    await this.#showHeld(held);
  }

  /** @param {number} count how many there are: none need not be asked for */
  async #showHeld(count) {
    const all = count === 0 ? [] : /** @type {Held[]} */ (await read('held'));
    list(
      this.#held,
      all.filter(({ channel }) => channel === this.#key),
      ({ id }) => id,
      ({ id, artist, song, atMs }) => {
        const title = [artist, song].filter((text) => text !== '').join(' - ');
        const button = make(
          'button',
          { type: 'button', hidden: !this.#may, 'aria-label': `Withdraw ${title}` },
          'Withdraw …',
        );
        button.onclick = () =>
          this.#act(
            'Withdraw this title?',
            `“${title}” will not come.`,
            'Withdraw',
            `held/${encodeURIComponent(id)}`,
            'It is withdrawn.',
          );
        return make('li', {}, make('span', { dir: 'auto' }, title), ` at ${moment(atMs)} `, button);
      },
    );
  }

  #push() {
    const fields = [
      { name: 'artist', label: 'Artist', isOptional: true },
      { name: 'song', label: 'Song' },
      {
        name: 'duration',
        label: 'Duration in seconds',
        type: 'number',
        hint: 'Afterwards the fallback title is shown. Empty: no known end.',
        isOptional: true,
      },
      {
        name: 'tracktype',
        label: 'When',
        options: /** @type {const} */ ([
          ['now', 'Now'],
          ['next', 'Next: apps show it as what follows'],
        ]),
      },
    ];
    const text = 'Each listener gets it with the sound that is on air now, apps with what they hear.';
    confirm(
      { title: `Push a title to ${this.#key}`, text, button: 'Push', fields },
      async ({ artist = '', duration, ...given }) => {
        await ask('POST', `${this.#path}/titles`, { ...given, artist, duration: Number(duration) });
        return 'The title is in force.';
      },
    );
  }

  /** @param {string} title @param {string} text @param {string} button @param {string} what @param {string} done */
  #act(title, text, button, what, done) {
    confirm({ title, text, button }, async () => {
      await ask('DELETE', `${this.#path}/${what}`);
      return done;
    });
  }
}

/** How many hear what lies between two places; seconds that both have count where they begin. @param {readonly number[]} bySecondsBehind @param {number} fromMs @param {number} toMs */
function hearing(bySecondsBehind, fromMs, toMs) {
  return bySecondsBehind.reduce((sum, listeners, second) => {
    const behindMs = second * 1000;
    return behindMs < fromMs && behindMs >= Math.floor(toMs / 1000) * 1000 ? sum + listeners : sum;
  }, 0);
}
