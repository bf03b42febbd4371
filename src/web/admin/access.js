// @ts-check
/** The Access view: blocks, push tokens, the last refusals, watchers, sessions. */

import { ask, read } from './api.js';
import { confirm, reveal, textOf } from './dialog.js';
import { list, make, part, say, section, table } from './dom.js';
import { ago, counted, moment } from './words.js';

/** @typedef {import('../../admin/rows.js').AdminBlock} AdminBlock */
/** @typedef {import('../../admin/channel-rows.js').TokenReport} TokenReport */
/** @typedef {import('../../admin/rows.js').RefusalReport} RefusalReport */
/** @typedef {import('../../admin/rows.js').WatcherReport} WatcherReport */
/** @typedef {import('../../admin/rows.js').SessionReport} SessionReport */

const EVERY_MS = 3000;
const SOME = 100;

const FOR = /** @type {const} */ ([
  ['3600', 'an hour'],
  ['86400', 'a day'],
  ['604800', 'a week'],
  ['31536000', 'a year'],
]);

export class Access {
  title = 'Access';
  element;
  #live;
  #may;
  /** To create tokens, which push titles, takes both rights. */
  #mayMake;
  #trouble = make('p', { class: 'trouble', role: 'alert' });
  #blocks = table(
    'Blocked addresses',
    ['Address or network', 'Until', 'Blocked by', 'Reason', ''],
    'No address is blocked.',
  );
  #tokens = table('Push tokens', ['Channel', 'Name', 'Created', 'Last used', ''], 'There are no push tokens.');
  #refusals = table('Recent refusals', ['Time', 'Address', 'Request', 'Reason', 'Status'], 'Nothing was refused.');
  #watchers = table('Title subscribers', ['Subscribed to', 'Address', 'Connected for'], 'No client is subscribed.');
  #sessions = table('Sessions', ['Metaid', 'Channel', 'Title sent', 'Title heard'], 'No session has a metaid.');
  /** The latest request. */
  #asked = 0;
  #isAsking = false;
  #timer;

  /** @param {import('./page.js').Page} page */
  constructor({ live, may }) {
    this.#live = live;
    this.#may = may('operate');
    this.#mayMake = this.#may && may('titles');
    const block = make('button', { type: 'button', onclick: () => this.#block() }, 'Block an address …');
    const token = make('button', { type: 'button', onclick: () => this.#token() }, 'Create a token …');
    const buttons = (/** @type {HTMLElement} */ button, /** @type {boolean} */ may) =>
      make('div', { class: 'buttons', hidden: !may }, button);
    const panels = [
      section('Blocked addresses', this.#blocks.element, buttons(block, this.#may)),
      section('Push tokens', this.#tokens.element, buttons(token, this.#mayMake)),
      section('Recent refusals', this.#refusals.element),
      section('Title subscribers (WebSocket, SSE)', this.#watchers.element),
      section('Listener sessions', this.#sessions.element),
    ];
    for (const panel of panels) panel.classList.add('whole');
    this.element = make(
      'div',
      {},
      make('div', { class: 'heading' }, make('h1', {}, 'Access')),
      this.#trouble,
      make('div', { class: 'panels' }, ...panels),
    );
    this.#timer = setInterval(() => document.hidden || this.#isAsking || void this.#look(), EVERY_MS);
    void this.#look();
  }

  show() {}

  close() {
    clearInterval(this.#timer);
  }

  /** Only the latest answer is shown: an act may have outdated the others. */
  async #look() {
    const asked = ++this.#asked;
    this.#isAsking = true;
    try {
      const [blocks, tokens, refusals, watchers, sessions] = await Promise.all([
        read('blocks'),
        read('tokens'),
        read('refusals'),
        read('watchers', { limit: SOME }),
        read('sessions', { limit: SOME }),
      ]);
      if (asked !== this.#asked) return;
      list(
        this.#blocks.body,
        /** @type {AdminBlock[]} */ (blocks),
        ({ network, untilMs }) => `${network} ${untilMs}`,
        (each) => this.#blockRow(each),
      );
      list(
        this.#tokens.body,
        /** @type {TokenReport[]} */ (tokens),
        ({ channel, id, untilMs }) => `${channel} ${id} ${untilMs}`,
        (each) => this.#tokenRow(each),
        showUse,
      );
      list(this.#refusals.body, /** @type {RefusalReport[]} */ (refusals.slice(0, SOME)), refusalKey, refusalRow);
      list(
        this.#watchers.body,
        /** @type {WatcherReport[]} */ (watchers),
        ({ scope, id, address, sinceMs }) => `${scope} ${id} ${address} ${sinceMs}`,
        watcherRow,
        (row, { sinceMs }) => say(part(row, 'since'), ago(sinceMs)),
      );
      list(
        this.#sessions.body,
        /** @type {SessionReport[]} */ (sessions).map((each, i) => ({ ...each, i })),
        ({ i }) => String(i),
        sessionRow,
        fillSession,
      );
      for (const { element, body } of [this.#blocks, this.#tokens, this.#refusals, this.#watchers, this.#sessions])
        showNone(element, body);
      say(this.#trouble, '');
    } catch (error) {
      if (asked === this.#asked) say(this.#trouble, textOf(error));
    } finally {
      if (asked === this.#asked) this.#isAsking = false;
    }
  }

  #block() {
    const fields = [
      { name: 'network', label: 'Address or network', hint: 'For example 192.0.2.7, 192.0.2.0/24 or 2001:db8::/48.' },
      { name: 'seconds', label: 'Block for', options: FOR },
      { name: 'reason', label: 'Reason', isOptional: true },
    ];
    const text = 'All connections from this address are refused, and its listeners are disconnected.';
    confirm(
      { title: 'Block an address', text, button: 'Block', isDanger: true, fields },
      async ({ network, seconds, reason }) => {
        const { ended } = await ask('POST', 'admin/api/blocks', { network, seconds: Number(seconds), reason });
        void this.#look();
        return `${network} is blocked; ${counted(ended, 'listener')} disconnected.`;
      },
    );
  }

  /** @param {AdminBlock} block */
  #blockRow({ network, untilMs, by, reason }) {
    const end = make('button', { type: 'button', hidden: !this.#may, 'aria-label': `Unblock ${network}` }, 'Unblock …');
    end.onclick = () =>
      confirm(
        { title: `Unblock ${network}?`, text: 'Connections from this address are accepted again.', button: 'Unblock' },
        async () => {
          await ask('DELETE', `admin/api/blocks/${encodeURIComponent(network)}`);
          void this.#look();
          return `${network} is no longer blocked.`;
        },
      );
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, network),
      make('td', {}, moment(untilMs)),
      make('td', {}, by),
      make('td', { dir: 'auto' }, reason),
      make('td', {}, make('div', { class: 'buttons' }, end)),
    );
  }

  #token() {
    const options = this.#live.channels.map(({ channel, name }) => /** @type {const} */ ([channel, name || channel]));
    const fields = [
      { name: 'channel', label: 'Channel', options },
      { name: 'name', label: 'Name', hint: 'What uses it, for example “automation in studio 2”.' },
    ];
    const text = 'A playout system can use it to push titles to this channel, and for nothing else.';
    confirm({ title: 'Create a push token', text, button: 'Create', fields }, async ({ channel = '', name }) => {
      const { token } = await ask('POST', `admin/api/channels/${encodeURIComponent(channel)}/tokens`, { name });
      void this.#look();
      setTimeout(() => reveal('The token', token));
      return `A token for ${channel} is created.`;
    });
  }

  /** @param {TokenReport} token */
  #tokenRow({ id, channel, name, isConfigured, sinceMs, by, untilMs }) {
    const path = `admin/api/tokens/${encodeURIComponent(id)}`;
    const rotate = make('button', { type: 'button', 'aria-label': `Replace ${name} of ${channel}` }, 'Replace …');
    rotate.onclick = () => {
      const field = {
        name: 'keepSeconds',
        label: 'Keep the old token valid for',
        options: /** @type {const} */ ([['0', 'no time (invalid at once)'], ...FOR.slice(0, 3)]),
      };
      confirm(
        {
          title: 'Replace this token?',
          text: 'A new token is created in its place.',
          button: 'Replace',
          fields: [field],
        },
        async ({ keepSeconds }) => {
          const { token } = await ask('POST', `${path}/rotate`, { keepSeconds: Number(keepSeconds) });
          void this.#look();
          setTimeout(() => reveal('The new token', token));
          return 'The token is replaced.';
        },
      );
    };
    const revoke = make(
      'button',
      { type: 'button', class: 'danger', 'aria-label': `Revoke ${name} of ${channel}` },
      'Revoke …',
    );
    revoke.onclick = () =>
      confirm(
        {
          title: 'Revoke this token?',
          text: 'Pushes with this token are refused from now on.',
          button: 'Revoke',
          isDanger: true,
        },
        async () => {
          await ask('DELETE', path);
          void this.#look();
          return 'The token is revoked.';
        },
      );
    const buttons = [this.#mayMake && untilMs === null && rotate, this.#may && revoke];
    const acts = isConfigured ? null : make('div', { class: 'buttons' }, ...buttons);
    const made = isConfigured
      ? 'in the configuration'
      : `${moment(sinceMs ?? 0)} by ${by}${untilMs === null ? '' : `, valid until ${moment(untilMs)}`}`;
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, channel),
      make('td', { dir: 'auto' }, name || id),
      make('td', {}, made),
      make('td', { class: 'used' }),
      make('td', {}, acts),
    );
  }
}

/** @param {HTMLElement} row @param {TokenReport} token */
function showUse(row, { lastUsedMs }) {
  say(part(row, 'used'), lastUsedMs === null ? 'never' : moment(lastUsedMs));
}

/** @param {RefusalReport} refusal */
function refusalKey({ atMs, address, what, why }) {
  return `${atMs} ${address} ${what} ${why}`;
}

/** @param {RefusalReport} refusal */
function refusalRow({ atMs, address, what, why, channel, mount, status }) {
  const where = [mount === null ? what : `${what} at ${mount}`, ...(channel === null ? [] : [channel])].join(', ');
  return make(
    'tr',
    {},
    make('td', {}, moment(atMs)),
    make('td', {}, address),
    make('td', {}, where),
    make('td', {}, why),
    make('td', {}, status === 0 ? '–' : status),
  );
}

/** @param {WatcherReport} watcher */
function watcherRow({ scope, id, address }) {
  return make(
    'tr',
    {},
    make('th', { scope: 'row' }, `${scope} ${id}`),
    make('td', {}, address),
    make('td', { class: 'since' }),
  );
}

function sessionRow() {
  const names = ['metaid', 'channel', 'written', 'heard'];
  return make('tr', {}, ...names.map((name) => make('td', { class: `of-${name}`, dir: 'auto' })));
}

/** @param {HTMLElement} row @param {SessionReport} session */
function fillSession(row, { metaid, channel, written, heard }) {
  for (const [name, text] of Object.entries({ metaid, channel, written, heard })) say(part(row, `of-${name}`), text);
}

/** An empty table shows a text. @param {HTMLElement} element @param {HTMLElement} body */
function showNone(element, body) {
  element.classList.toggle('none', body.children.length === 0);
}
