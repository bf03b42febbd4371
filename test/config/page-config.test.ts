import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ConfigError, checkConfig } from '../../src/config/load.js';
import { MAX_PICTURE_BYTES } from '../../src/config/page-config.js';
import { DEMO_AUDIO } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';

const FOLDER = tempFolder(t);

function write(name: string, content: string | Buffer): string {
  writeFileSync(join(FOLDER, name), content);
  return name;
}

/** What is wrong; null: nothing. @param page a map in JSON @param channel members of the channel `wave` */
function problem(page: unknown, channel: Readonly<Record<string, unknown>> = {}): string | null {
  const wave = { ...channel, sources: [{ type: 'file', path: DEMO_AUDIO }] };
  const config = { page, stations: { house: { channels: { wave } } } };
  try {
    checkConfig(join(FOLDER, 'config.yaml'), {}, JSON.stringify(config));
    return null;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw error;
  }
}

t.test('pictures: a known kind, at the bound and one byte past it', async (t) => {
  for (const end of ['png', 'jpg', 'JPEG', 'webp', 'svg'])
    t.equal(problem({ logo: write(`a.${end}`, 'x') }), null, end);
  t.equal(problem({ logo: write('most.png', Buffer.alloc(MAX_PICTURE_BYTES)) }), null);
  const wrong = /^page\.logo must be a picture \(png, jpg, jpeg, webp, svg\) of at most 512 KiB$/;
  t.match(problem({ logo: write('more.png', Buffer.alloc(MAX_PICTURE_BYTES + 1)) }), wrong);
  t.match(problem({ logo: write('a.html', 'x') }), wrong);
  t.match(problem({ logo: 'none.png' }), /^page\.logo must be a file that can be read/);
  t.equal(problem({}, { logo: 'most.png' }), null);
  t.match(problem({}, { logo: 'more.png' }), /channels\.wave\.logo must be a picture/);
});

t.test('colours, links, frames', async (t) => {
  for (const accent of ['#176b61', '#FFFFFF']) t.equal(problem({ accent }), null, accent);
  for (const accent of ['red', '#fff', '#176b61;}', '']) t.match(problem({ accent }), /must be a colour/, accent);
  const link = (url: string) => problem({ links: [{ text: 'a', url }] });
  for (const url of ['https://a.example/b', 'mailto:a@b.example']) t.equal(link(url), null, url);
  for (const url of [
    'javascript:alert(1)',
    'data:text/html,x',
    '/a',
    'mailto:',
    'mailto:a b@c',
    'https://u:p@a.example/',
  ])
    t.match(link(url), /must be an http:\/\/ or https:\/\/ URL/, url);
  const many = (count: number) => problem({ links: Array(count).fill({ text: 'a', url: 'https://a.example/' }) });
  t.equal(many(20), null);
  t.match(many(21), /must be a list of 0 to 20 items/);
  const frames = (...frameAncestors: string[]) => problem({ frameAncestors });
  t.equal(frames('*', 'https://a.example', 'http://*.a.example:8080', 'https://localhost'), null);
  for (const each of ['a.example', 'https://a.example/', "'none'", 'https://a.example; script-src *', 'https://*', ''])
    t.match(frames(each), /must be \* or an origin/, each);
  t.equal(frames(...Array(32).fill('*')), null);
  t.match(frames(...Array(33).fill('*')), /must be a list of 0 to 32 items/);
});

t.test('languages by files', async (t) => {
  const nl = write('nl.json', '{"language":"Nederlands"}');
  for (const language of ['nl', 'pt-BR', 'gsw']) t.equal(problem({ languages: { [language]: nl } }), null, language);
  for (const language of ['NL', 'x', 'nl_BE', '"><b>'])
    t.match(problem({ languages: { [language]: nl } }), /must be a map from language tags/, language);
  const bad = write('bad.json', '{"paly":"x"}');
  t.match(problem({ languages: { nl: bad } }), /^page\.languages\.nl must be a file of texts: "paly" is not a text/);
  const latin = write('latin.json', Buffer.from('{"play":"Écouter"}', 'latin1'));
  t.match(problem({ languages: { nl: latin } }), /must be a file of texts: it is not UTF-8/);
});

t.test('no mount hides the page of a channel; what lies deeper may be one', async (t) => {
  for (const mounts of [['/listen/wave/radio.mp3'], ['/listen'], ['/embed.mp3'], ['/listening/a']])
    t.equal(problem({}, { mounts }), null, mounts.join());
  for (const mounts of [['/listen/wave'], ['/embed/radio.mp3'], ['/listen/wave/']])
    t.match(problem({}, { mounts }), /is a path that this server uses itself \(the page of a channel\)/, mounts.join());
  t.match(problem({}, { mounts: ['/player.js'] }), /is a path that this server uses itself/);
});
