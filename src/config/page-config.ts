/** Options of a station's page: its name, looks, links and languages, and the sites that may frame its player. */

import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import * as z from 'zod';
import { codeFile } from '../base/own-files.js';
import { meant } from '../base/spelling.js';
import { checked, flag, list, readableFile, section, text, webUrl } from './field.js';

/** Pictures that browsers display: extension of the file → content type. */
export const PICTURE_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  svg: 'image/svg+xml',
};
export const MAX_PICTURE_BYTES = 524_288;
const MAX_LANGUAGE_BYTES = 65_536;
/** The longest text of a language file. */
const MAX_TEXT_CHARACTERS = 500;

const DEFAULT_ACCENT = '#176b61';

const COLOUR = /^#[0-9a-f]{6}$/i;
/** As in `lang` of HTML: a language, and perhaps a region. */
export const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?$/;
/** An origin in `frame-ancestors` of Content-Security-Policy, with `*.` for all subdomains. */
const ANCESTOR = /^https?:\/\/(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::\d{1,5})?$/i;

/** A file of the right kind and size. */
export function picture(folder: string) {
  return readableFile(folder).superRefine((path, context) => {
    const isKnown = Object.hasOwn(PICTURE_TYPES, endOf(path));
    if (isKnown && bytesOf(path) <= MAX_PICTURE_BYTES) return;
    const message = `must be a picture (${Object.keys(PICTURE_TYPES).join(', ')}) of at most ${MAX_PICTURE_BYTES >> 10} KiB`;
    context.addIssue({ code: 'custom', message });
  });
}

export function endOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase();
}

export function pageSchema(folder: string) {
  const error = 'must be a map from language tags (nl, pt-BR) to files';
  const linkUrl = checked(
    'must be an http:// or https:// URL, or mailto: with an address',
    (value) => webUrl().safeParse(value).success || /^mailto:[^\s<>"]{3,320}$/.test(value),
  );
  return section({
    enabled: flag().default(true),
    name: text(0, 255).default(''),
    text: text(0, 1024).default(''),
    logo: picture(folder).optional(),
    accent: checked('must be a colour such as #176b61, in quotes', (value) => COLOUR.test(value)).default(
      DEFAULT_ACCENT,
    ),
    links: list(section({ text: text(1, 100), url: linkUrl }), 0, 20).default([]),
    languages: z.record(z.string().regex(LANGUAGE, { error }), languageFile(folder), { error }).default({}),
    frameAncestors: list(
      checked(
        'must be * or an origin such as https://station.example or https://*.station.example',
        (value) => value === '*' || (ANCESTOR.test(value) && value.length <= 300),
      ),
      0,
      32,
    ).default([]),
  });
}

/** A language file, like those in src/web/texts. */
function languageFile(folder: string) {
  return readableFile(folder).superRefine((path, context) => {
    const message = languageProblem(path);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}

function languageProblem(path: string): string | null {
  try {
    readLanguage(path);
    return null;
  } catch (error) {
    return `must be a file of texts: ${(error as Error).message}`;
  }
}

/** The texts of a language file, which may lack some. Throws an Error that says what is wrong. */
export function readLanguage(path: string | URL): Readonly<Record<string, string>> {
  if (statSync(path).size > MAX_LANGUAGE_BYTES) throw new Error(`it is larger than ${MAX_LANGUAGE_BYTES >> 10} KiB`);
  const bytes = readFileSync(path);
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
  const texts: unknown = parseJson(bytes.toString());
  if (typeof texts !== 'object' || texts === null || Array.isArray(texts)) throw new Error('it is not a JSON object');
  const known = Object.keys(englishTexts());
  for (const [name, value] of Object.entries(texts)) {
    if (!known.includes(name))
      throw new Error(`${JSON.stringify(name.slice(0, 40))} is not a text${meant(name, known)}`);
    if (typeof value !== 'string' || value.length > MAX_TEXT_CHARACTERS)
      throw new Error(`${name} is not text of at most ${MAX_TEXT_CHARACTERS} characters`);
    if (name === 'dir' && value !== 'ltr' && value !== 'rtl') throw new Error('dir must be ltr or rtl');
  }
  return texts as Record<string, string>;
}

let english: Readonly<Record<string, string>> | null = null;

/** Every text of the pages, in English. */
export function englishTexts(): Readonly<Record<string, string>> {
  english ??= JSON.parse(readFileSync(codeFile('web/texts/en.json'), 'utf8')) as Record<string, string>;
  return english;
}

/** Replaces the parser's error, whose message quotes the file. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
