import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { englishTexts, readLanguage } from '../../../src/config/page-config.js';
import { Languages } from '../../../src/http/page/page-texts.js';
import { tempFolder } from '../../kit/temp-folder.js';

const FOLDER = new URL('../../../src/web/texts/', import.meta.url);

t.test('every language has every text, with the same places; the player knows the English ones', async (t) => {
  const english = englishTexts();
  const places = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const file of readdirSync(FOLDER)) {
    const texts = readLanguage(new URL(file, FOLDER));
    t.strictSame(Object.keys(texts), Object.keys(english), file);
    for (const [name, text] of Object.entries(texts)) {
      t.ok(text.length > 0, `${file} ${name}`);
      t.strictSame(places(text), places(english[name]!), `${file} ${name}`);
    }
  }
  const source = readFileSync(new URL('../../client/player/player-texts.ts', FOLDER), 'utf8');
  const own = [.../export const ENGLISH = \{\n([\s\S]*?)\n\};/.exec(source)![1]!.matchAll(/^ {2}(\w+): '(.*)',$/gm)];
  t.ok(own.length > 20);
  for (const [, name, text] of own) t.equal(text, english[name!], String(name));
});

t.test('which language a request gets', async (t) => {
  const languages = new Languages({});
  const table: readonly (readonly [url: string, accepted: string | undefined, language: string])[] = [
    ['/', undefined, 'en'],
    ['/', '', 'en'],
    ['/', '*', 'en'],
    ['/', 'de', 'de'],
    ['/', 'DE-ch', 'de'],
    ['/', 'it, fr;q=0.4, es;q=0.5', 'es'],
    ['/', 'de;q=0, pt', 'pt'],
    ['/', `${'xx,'.repeat(2000)}de`, 'en'],
    ['/?lang=fr', 'de', 'fr'],
    ['/?lang=fr-CA', 'de', 'fr'],
    ['/?lang=xx', 'de', 'de'],
    ['/?lang=__proto__', undefined, 'en'],
  ];
  for (const [url, accepted, language] of table)
    t.equal(languages.languageOf(url, accepted), language, `${url} ${accepted}`.slice(0, 80));
});

t.test('a language by a file: what it lacks is English, or what we have', async (t) => {
  const folder = tempFolder(t);
  const write = (name: string, value: string) => {
    writeFileSync(join(folder, name), value);
    return join(folder, name);
  };
  const nl = write('nl.json', '{"language":"Nederlands","play":"Afspelen"}');
  const de = write('de.json', '{"play":"Los"}');
  const languages = new Languages({ nl, de });
  t.match(languages.texts('nl'), { language: 'Nederlands', play: 'Afspelen', stop: 'Stop' });
  t.match(languages.texts('de'), { language: 'Deutsch', play: 'Los', stop: 'Anhalten' });
  t.strictSame(languages.names.at(-1), ['nl', 'Nederlands']);
  t.equal(languages.languageOf('/', 'nl-BE'), 'nl');
  const bad: readonly (readonly [string, RegExp])[] = [
    ['no JSON', /not JSON/],
    ['[]', /not a JSON object/],
    ['{"paly":"x"}', /"paly" is not a text; did you mean play\?/],
    ['{"play":1}', /play is not text/],
    ['{"dir":"up"}', /dir must be ltr or rtl/],
    [`{"play":"${'x'.repeat(501)}"}`, /at most 500/],
    [' '.repeat(65_537), /larger than 64 KiB/],
  ];
  for (const [value, message] of bad) t.throws(() => readLanguage(write('bad.json', value)), { message });
  t.doesNotThrow(() => readLanguage(write('good.json', `{"play":"${'x'.repeat(500)}"}`)));
});
