// @ts-check
/** Starts the page: the user, the channels, and the view that the address names. */

import { Access } from './access.js';
import { ask, read } from './api.js';
import { AudienceView } from './audience-view.js';
import { ChannelView } from './channel.js';
import { notice, textOf } from './dialog.js';
import { mark, say } from './dom.js';
import { Live } from './live.js';
import { LogView } from './log.js';
import { Overview } from './overview.js';
import { moment } from './words.js';

/** @typedef {import('./page.js').Page} Page */
/** @typedef {import('./page.js').View} View */

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const WORDS = {
  connecting: 'connecting',
  live: 'live',
  reconnecting: 'connection lost, reconnecting',
  'signed out': 'logged out',
};

/** Shows outdated data in grey, with its time. @param {import('./events.js').LiveState} state */
function showAge(state) {
  const isStale = state !== 'live' && live.asOfMs > 0;
  document.documentElement.toggleAttribute('data-stale', isStale);
  const why =
    state === 'signed out' ? 'You are logged out: reload the page to log in.' : 'No connection to the server.';
  say(element('stale'), isStale ? `${why} This is as of ${moment(live.asOfMs)}.` : '');
}

/** Retries until the server answers, since it may be starting. @returns {Promise<{ name: string, rights: string[], loginUntilMs?: number }>} */
async function whoAmI() {
  for (;;) {
    try {
      return await read('self');
    } catch (error) {
      notice(textOf(error), true);
    }
    await new Promise((done) => setTimeout(done, 1000 + 4000 * Math.random()));
  }
}

const { name, rights, loginUntilMs } = await whoAmI();
say(element('user'), name);
element('logout').hidden = loginUntilMs === undefined;
element('logout').onclick = async () => {
  try {
    await ask('POST', 'admin/logout');
    location.reload();
  } catch (error) {
    notice(textOf(error), true);
  }
};
let view = /** @type {View | null} */ (null);
const live = new Live(
  () => view?.show(),
  (state) => {
    mark(element('state'), 'data-state', state);
    say(element('state-text'), WORDS[state]);
    showAge(state);
  },
);
/** @type {Page} */
const page = { live, may: (right) => rights.includes(right) };

/** @param {string} text any text from the address */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @returns {View} */
function viewOf() {
  const [kind = '', key = ''] = location.hash.replace(/^#\/?/, '').split('/').map(decoded);
  if (kind === 'channel') return new ChannelView(page, key);
  if (kind === 'access') return new Access(page);
  if (kind === 'statistics') return new AudienceView(page);
  if (kind === 'log') return new LogView();
  return new Overview(page);
}

/** @param {boolean} isFirst at the start: the focus stays */
function open(isFirst) {
  view?.close();
  view = viewOf();
  element('main').replaceChildren(view.element);
  document.title = `${view.title} · airsplice`;
  const [kind = ''] = location.hash.replace(/^#\/?/, '').split('/');
  for (const link of document.querySelectorAll('nav a')) {
    const names = link.getAttribute('href') === (['statistics', 'access', 'log'].includes(kind) ? `#/${kind}` : '#/');
    mark(link, 'aria-current', names ? 'page' : null);
  }
  if (isFirst) return;
  element('main').focus({ preventScroll: true });
  scrollTo(0, 0);
}

addEventListener('hashchange', () => open(false));
open(true);
