/**
 * The test of `src/x/y.ts` is `test/x/y.test.ts`: a file of tests in a room of src has the name of a file there. What spans rooms is in
 * test/behaviour (this process), test/e2e (the whole server, real programs) or test/long. Part of `npm run check`.
 */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';

const ROOT = new URL('..', import.meta.url).pathname;
const SPANNING: readonly string[] = ['behaviour', 'e2e', 'long'];
/** Folders of test that are not rooms of src: what they hold is tested by its own name. */
const OTHER_ROOTS: Readonly<Record<string, string>> = { bench: 'bench', kit: 'test/kit' };

/** Tests of something that is no file of src, and what it is. */
const NO_SOURCE: Readonly<Record<string, string>> = {
  'config/example': 'config/*.yaml, which the package ships',
  'config/bounds': 'the bounds of every number in config/*.ts, taken from the schema',
  'config/encoder': 'the encoder entry of config/channel.ts, with its password',
  'docs/citations': 'what comments and documents cite',
  'docs/page': 'the page /docs, in a browser',
  'docs/readme': 'what README.md shows to be pasted',
  'docs/routes': 'the documents and the routes of the server, compared',
  'docs/words': 'the words of comments, names and documents',
  'http/push-refusals': 'http/push.ts: the requests that it refuses',
  'source/pull-stream': 'source/pull.ts: the audio and the titles that it brings',
  'source/switch-model': 'source/switch.ts: all of it, against a model',
  'source/switch-steady': 'source/switch.ts: losses and stalls, again and again',
  'source/switch-titles': 'source/switch.ts: titles, and the audio that waits for them',
  'kit/pretest': 'what package.json runs before the tests',
  'now-playing/story': 'the room as a whole, against a model',
};

const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.test.ts'.length));
const isFolder = (path: string) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.isDirectory() === true;
const isFile = (path: string) => ['.ts', '.mjs'].some((end) => existsSync(join(ROOT, `${path}${end}`)));

t.test('a test stands where its source does, and has its name', async (t) => {
  t.ok(tests.length > 100, 'tests were found');
  for (const test of tests) {
    const room = dirname(test);
    if (room === '.' || SPANNING.includes(room) || test in NO_SOURCE) continue;
    const root = OTHER_ROOTS[room];
    if (root !== undefined) t.ok(isFile(join(root, test.slice(room.length + 1))), test);
    else t.ok(isFolder(join('src', room)) && isFile(join('src', test)), test);
  }
});

t.test('every exception is still one', async (t) => {
  for (const test of Object.keys(NO_SOURCE)) t.ok(tests.includes(test) && !isFile(join('src', test)), test);
});

t.test('a test that sleeps says what for (kit/pause.ts); what it waits for, it waits for', async (t) => {
  for (const test of tests) {
    const text = readFileSync(join(ROOT, 'test', `${test}.test.ts`), 'utf8');
    t.notMatch(text, /(?<!\bt\.)\bsetTimeout\b/, test);
  }
});
