/** The languages of the pages: built-in ones, and files of an operator that add or replace some. Chooses one for each request. */

import { readdirSync } from 'node:fs';
import { codeFile } from '../../base/own-files.js';
import { parameter } from '../../base/request-target.js';
import { englishTexts, readLanguage } from '../../config/page-config.js';
import { weighted } from '../reads.js';

/** Texts by name (src/web/texts). Complete: texts that a language lacks are English. */
export type PageTexts = Readonly<Record<string, string>>;

const FALLBACK = 'en';

export class Languages {
  readonly #texts = new Map<string, PageTexts>();

  /** @param own language → path of its file @throws Error for a file that is not a language */
  constructor(own: Readonly<Record<string, string>>) {
    const folder = codeFile('web/texts/');
    const ours = readdirSync(folder).filter((name) => name.endsWith('.json'));
    // English first, since other languages fall back to it.
    for (const name of ours.sort((a, b) => Number(b === 'en.json') - Number(a === 'en.json')))
      this.#add(name.slice(0, -'.json'.length), readLanguage(new URL(name, folder)));
    for (const [language, path] of Object.entries(own)) this.#add(language, readLanguage(path));
  }

  /** All languages, each with its own name for itself. */
  get names(): readonly (readonly [language: string, name: string])[] {
    return [...this.#texts].map(([language, texts]) => [language, texts['language'] || language]);
  }

  /** @returns undefined: there is no such language */
  texts(language: string): PageTexts | undefined {
    return this.#texts.get(language);
  }

  /** `?lang=`, else what Accept-Language prefers, else English. */
  languageOf(url: string, accepted: string | undefined): string {
    const asked = this.#known(parameter(url, 'lang') ?? '');
    if (asked !== undefined) return asked;
    for (const language of preferences(accepted ?? '')) {
      const known = this.#known(language);
      if (known !== undefined) return known;
    }
    return FALLBACK;
  }

  #add(language: string, texts: PageTexts): void {
    const base = this.#texts.get(language) ?? { ...englishTexts(), language };
    this.#texts.set(language, { ...base, ...texts });
  }

  /** The language, or for an unknown dialect (`de-AT`) its language (`de`). */
  #known(asked: string): string | undefined {
    const wanted = asked.toLowerCase();
    const names = [...this.#texts.keys()];
    const same = names.find((name) => name.toLowerCase() === wanted);
    return same ?? names.find((name) => name === wanted.split('-')[0]);
  }
}

/** The languages of Accept-Language, in order of preference (RFC 9110, 12.5.4). */
function preferences(accepted: string): string[] {
  return weighted(accepted)
    .filter(({ name, q }) => name !== '' && q > 0)
    .sort((a, b) => b.q - a.q)
    .map(({ name }) => name);
}
