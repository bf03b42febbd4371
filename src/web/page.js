// @ts-check
/**
 * The page's start: asks for the list of channels and makes a card for each, grouped by station where there are several.
 * Shows how the connections are doing.
 */

import { address, Card, say, stamp } from './card.js';

/** @typedef {import('./card.js').Channel} Channel */

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** By channel key. @type {Map<string, import('./card.js').FollowState>} */
const states = new Map();

/** The state of all connections together. */
function showStates() {
  const all = new Set(states.values());
  const isBroken = all.has('reconnecting') || all.has('missing');
  showState(isBroken ? 'reconnecting' : all.has('connecting') ? 'connecting' : 'connected');
}

/** @param {string} state */
function showState(state) {
  element('state').dataset['state'] = state;
  say(element('state-text'), state);
}

/** Asks until there is an answer: the server may just be starting. @returns {Promise<Channel[]>} */
async function listChannels() {
  for (;;) {
    try {
      const answer = await fetch(address('web/channels.json'));
      if (answer.ok) return await answer.json();
    } catch {
      // Not reachable: the same as any other answer than a good one.
    }
    showState('reconnecting');
    await new Promise((done) => setTimeout(done, 1000 + 4000 * Math.random()));
  }
}

/** @param {Channel} channel */
function cardOf(channel) {
  states.set(channel.key, 'connecting');
  return new Card(channel, (state) => {
    states.set(channel.key, state);
    showStates();
  });
}

/** @param {Channel[]} channels */
function show(channels) {
  const names = [...new Set(channels.map(({ station }) => station))];
  for (const name of names) {
    const members = channels.filter(({ station }) => station === name);
    const section = stamp('station');
    const heading = /** @type {HTMLElement} */ (section.querySelector('h2'));
    say(heading, name);
    heading.hidden = names.length === 1;
    section.querySelector('.channels')?.append(...members.map((channel) => cardOf(channel).element));
    element('stations').append(section);
  }
  if (names.length === 1) say(element('heading'), names.join());
  document.title = element('heading').textContent ?? '';
}

show(await listChannels());
