/**
 * The texts of the player. English is here; other languages come from the server (`/web/texts/{language}.json`): with the page (`provideTexts`), or
 * loaded by the player. An operator may have replaced any of them.
 */

import { addressOf } from '../browser.js';

export const ENGLISH = {
  dir: 'ltr',
  onAir: 'On air',
  playing: 'You are listening',
  offAir: 'Off air',
  offAirHint: 'Resumes when the sound returns.',
  connecting: 'Connecting …',
  waiting: 'Waiting for sound …',
  retrying: 'Connection lost. Reconnecting …',
  failed: 'Playback failed. Press play to try again.',
  full: 'Too many listeners. Trying again …',
  members: 'For members only',
  membersHint: 'Open the link that your station gave you.',
  codec: 'This browser cannot play this format. Try another player.',
  away: 'The station cannot be reached',
  awayHint: 'Trying again …',
  missing: 'There is no such channel',
  play: 'Play',
  stop: 'Stop',
  mute: 'Mute',
  unmute: 'Unmute',
  volume: 'Volume',
  toLive: 'Back to live',
  noTitle: 'No title',
  cover: 'Cover',
  next: 'Next',
  details: 'Details',
  liveSince: 'Live {seconds} s ago: {title}',
  live: 'Live: {title}',
  behind: 'You are {seconds} s behind live.',
};

export type PlayerTexts = { readonly [name in keyof typeof ENGLISH]: string };

const known = new Map<string, Promise<PlayerTexts>>();

/** For a page of that server, which was served with them. @param texts may hold others, and need not be complete */
export function provideTexts(root: URL, language: string, texts: Readonly<Record<string, string>>): void {
  known.set(`${root.href} ${language}`, Promise.resolve({ ...ENGLISH, ...texts }));
}

/** English if the server does not know the language, or does not answer. @param language as in `lang`; `de-AT` counts as `de` */
export function textsOf(root: URL, language: string): Promise<PlayerTexts> {
  const [short = 'en'] = language.toLowerCase().split('-');
  const name = `${root.href} ${known.has(`${root.href} ${language}`) ? language : short}`;
  let texts = known.get(name);
  if (texts === undefined) known.set(name, (texts = short === 'en' ? Promise.resolve(ENGLISH) : load(root, short)));
  return texts;
}

async function load(root: URL, language: string): Promise<PlayerTexts> {
  try {
    const answer = await fetch(addressOf(root, `web/texts/${encodeURIComponent(language)}.json`));
    if (!answer.ok) return ENGLISH;
    const texts: unknown = await answer.json();
    return { ...ENGLISH, ...(texts as object) };
  } catch {
    return ENGLISH;
  }
}

/** A text with values in place of its `{names}`. */
export function filled(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}
