// @ts-check
/** A channel's titles: now, next, held, and on the tape, with their listeners; and buttons to push, correct and withdraw them. */

import { ask, read } from './api.js';
import { tape } from './charts.js';
import { confirm } from './dialog.js';
import { list, make, part, say, section, table } from './dom.js';
import { ago, counted, lagOf, lasting, moment, ORIGINS } from './words.js';

/** @typedef {import('./channel.js').OneChannel} OneChannel */
/** @typedef {import('../../admin/channel-rows.js').TitleReport} TitleReport */
/** @typedef {{ id: string, artist: string, song: string, atMs: number, channel: string }} Held */

export class TitlesPanel {
  element;
  #path;
  #key;
  #may;
  #now = make('p', { class: 'now', dir: 'auto' });
  #facts = make('p', { class: 'facts' });
  #next = make('p', { class: 'next', dir: 'auto' });
  /** The title in force if it can be corrected, else null. */
  #record = /** @type {TitleReport | null} */ (null);
  #correct = make('button', { type: 'button', hidden: true }, 'Edit …');
  #clear = make('button', { type: 'button' }, 'Clear …');
  #withdraw = make('button', { type: 'button', hidden: true }, 'Remove next …');
  #held = make('ul', { class: 'held' });
  #tape = make('div', { class: 'drawn' });
  #places = table('Titles in the buffer', ['Title', 'Behind live', 'Heard by']);

  /** @param {import('./page.js').Page} page @param {string} key */
  constructor({ may }, key) {
    this.#key = key;
    this.#path = `admin/api/channels/${encodeURIComponent(key)}`;
    this.#may = may('titles');
    const push = make('button', { type: 'button', class: 'primary' }, 'Push a title …');
    push.onclick = () => this.#push();
    this.#correct.onclick = () => this.#record !== null && this.#askCorrection(this.#record);
    this.#clear.onclick = () =>
      this.#act(
        'Clear the title?',
        'Players show no title until the next one arrives.',
        'Clear',
        'titles/now',
        'The title is cleared.',
      );
    this.#withdraw.onclick = () =>
      this.#act(
        'Remove the next title?',
        'Apps stop showing what comes next.',
        'Remove',
        'titles/next',
        'The next title is removed.',
      );
    const buttons = make(
      'div',
      { class: 'buttons', hidden: !this.#may },
      push,
      this.#correct,
      this.#clear,
      this.#withdraw,
    );
    this.element = section(
      'Titles',
      make('div', {}, this.#now, this.#facts, this.#next),
      buttons,
      this.#held,
      this.#tape,
      this.#places.element,
    );
    this.element.classList.add('whole');
  }

  /** @param {OneChannel} channel */
  async show({ now, nextTitle, held, titles, tape: facts, bySecondsBehind }) {
    const title = now?.title ?? '';
    this.#record = title !== '' && now?.isCorrectable ? now : null;
    this.#correct.hidden = this.#record === null;
    say(this.#now, title || 'No title');
    say(this.#facts, now === null || title === '' ? '' : factsOf(now));
    say(this.#next, nextTitle === '' ? '' : `Next: ${nextTitle}`);
    this.#clear.disabled = title === '';
    this.#withdraw.hidden = nextTitle === '';
    this.#tape.replaceChildren(
      ...(facts === null ? [] : [tape(facts.heldMs, titles, bySecondsBehind, this.#tape.clientWidth)]),
    );
    this.#places.element.hidden = titles.length === 0;
    // A title that is on the tape twice in a row, after a change of the source, has one row.
    const places = titles.filter(({ id, title }, i) => id !== titles[i - 1]?.id || title !== titles[i - 1]?.title);
    const rows = places.map((each, i) => {
      // It is older than the audio on the tape.
      const isBefore = each.behindMs >= (facts?.heldMs ?? 0);
      const fromMs = isBefore ? Number.POSITIVE_INFINITY : each.behindMs;
      return { ...each, isBefore, heard: hearing(bySecondsBehind, fromMs, places[i + 1]?.behindMs ?? 0) };
    });
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
        say(part(row, 'behind'), isBefore ? 'older than the buffer' : lagOf(behindMs));
        say(part(row, 'heard'), counted(heard, 'listener'));
      },
    );
    await this.#showHeld(held);
  }

  /** @param {number} count the number of held titles; 0: no request is needed */
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
          { type: 'button', hidden: !this.#may, 'aria-label': `Remove ${title}` },
          'Remove …',
        );
        button.onclick = () =>
          this.#act(
            'Remove this scheduled title?',
            `“${title}” will not be shown.`,
            'Remove',
            `held/${encodeURIComponent(id)}`,
            'The scheduled title is removed.',
          );
        return make(
          'li',
          {},
          make('span', { class: 'status', 'data-level': 'waiting' }, `scheduled for ${moment(atMs)}`),
          make('span', { dir: 'auto' }, title),
          button,
        );
      },
    );
  }

  #push() {
    const when = {
      name: 'tracktype',
      label: 'When',
      options: /** @type {const} */ ([
        ['now', 'Now'],
        ['next', 'Next (apps show it as coming up)'],
      ]),
    };
    const fields = [...fieldsOf(), when];
    const text = 'Each listener sees it when they hear the audio that is on air now.';
    confirm({ title: `Push a title to ${this.#key}`, text, button: 'Push', fields }, async (given) => {
      const { id } = await ask('POST', `${this.#path}/titles`, given);
      if (given['tracktype'] === 'next') return 'The next title is set.';
      const { now } = await this.#read();
      return now?.id === id ? 'The title is on air.' : 'The title was accepted, but another one is on air.';
    });
  }

  /** @returns {Promise<OneChannel>} its present state, not the one last shown */
  #read() {
    return read(`channels/${encodeURIComponent(this.#key)}`);
  }

  /** @param {TitleReport} record */
  #askCorrection({ id, artist, song, album, cover, durationSeconds }) {
    const fields = [
      ...fieldsOf({ artist, song, durationSeconds }),
      { name: 'album', label: 'Album', value: album, isOptional: true },
      { name: 'cover', label: 'Cover', value: cover, hint: 'URL of an image.', isOptional: true },
    ];
    const text = 'This corrects the title that is on air; its start time and all other fields stay as they are.';
    confirm({ title: 'Edit the current title', text, button: 'Save', fields }, async (given) => {
      // A late correction would put this title in force again.
      const { now } = await this.#read();
      if (now?.id !== id || !now.isCorrectable)
        throw new Error('This title is no longer on air, so nothing was changed.');
      await ask('POST', `${this.#path}/titles`, { ...given, id });
      return 'The title is changed.';
    });
  }

  /** @param {string} title @param {string} text @param {string} button @param {string} what @param {string} done */
  #act(title, text, button, what, done) {
    confirm({ title, text, button }, async () => {
      await ask('DELETE', `${this.#path}/${what}`);
      return done;
    });
  }
}

/** The fields of a push. @param {Pick<TitleReport, 'artist' | 'song' | 'durationSeconds'>} [known] */
function fieldsOf({ artist, song, durationSeconds } = { artist: '', song: '', durationSeconds: 0 }) {
  const hint =
    'For example 3:25, or a number of seconds. The fallback title follows, if there is one. Leave empty if unknown.';
  const value = durationSeconds === 0 ? '' : String(durationSeconds);
  return [
    { name: 'artist', label: 'Artist', value: artist, isOptional: true },
    // A title with only an artist may stay so.
    { name: 'song', label: 'Song', value: song, isOptional: artist !== '' && song === '' },
    { name: 'duration', label: 'Duration', value, hint, isOptional: true },
  ];
}

/** @param {TitleReport} record */
function factsOf({ source, sinceMs, durationSeconds }) {
  const length = durationSeconds === 0 ? '' : ` of ${lasting(durationSeconds * 1000)}`;
  return `${ORIGINS[source]} · for ${ago(sinceMs)}${length}`;
}

/**
 * The number of listeners between two places on the tape; a second that two titles share counts for the later one.
 * @param {readonly number[]} bySecondsBehind @param {number} fromMs @param {number} toMs
 */
export function hearing(bySecondsBehind, fromMs, toMs) {
  return bySecondsBehind.reduce((sum, listeners, second) => {
    const behindMs = second * 1000;
    return behindMs < fromMs && behindMs >= toMs ? sum + listeners : sum;
  }, 0);
}
