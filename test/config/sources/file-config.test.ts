/** Titles of a file in the configuration: bounds, their order, and that a reload with others plays the file anew. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ConfigError, type LoadedConfig, loadConfig } from '../../../src/config/load.js';
import { planReload } from '../../../src/config/plan.js';
import { DEMO_AUDIO } from '../../kit/server.js';

function load(t: Test, titles: string): LoadedConfig {
  const text = `stations: { s: { channels: { c: { sources: [{ type: file, path: ${DEMO_AUDIO}, titles: ${titles} }] } } } }`;
  return loadConfig(join(t.testdir({ 'a.yaml': text }), 'a.yaml'), {});
}

function problems(t: Test, titles: string): string[] {
  try {
    load(t, titles);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path.replace(/^.*sources\[0\]\./, '')}: ${message}`);
  }
}

const many = (count: number) => `[${Array.from({ length: count }, (_, i) => `{ at: ${i}, song: a }`).join(', ')}]`;

t.test('what a title may be', async (t) => {
  t.strictSame(problems(t, '[]'), []);
  t.strictSame(problems(t, '[{ song: a }, { at: 0.5, artist: b, duration: 86400, id: x-1, album: c }]'), []);
  t.strictSame(problems(t, many(1000)), []);
  t.strictSame(problems(t, many(1001)), ['titles: must be a list of 0 to 1000 items']);
  t.strictSame(problems(t, '[{ at: 3, id: x }]'), ['titles[0]: must have an artist or a song']);
  t.strictSame(problems(t, '[{ at: 86401, song: a }]'), ['titles[0].at: must be a number of seconds from 0 to 86400']);
  t.strictSame(problems(t, `[{ song: ${'x'.repeat(255)} }]`), []);
  t.match(problems(t, `[{ song: ${'x'.repeat(256)} }]`), [/^titles\[0\]\.song: must be text of 0 to 255/]);
  t.match(problems(t, `[{ song: a, id: ${'x'.repeat(129)} }]`), [/^titles\[0\]\.id: must be text of 0 to 128/]);
});

t.test('they stand in the order of their places', async (t) => {
  const message = 'titles: must be in ascending order of at, without duplicates';
  t.strictSame(problems(t, '[{ at: 3, song: a }, { at: 2, song: b }]'), [message]);
  t.strictSame(problems(t, '[{ song: a }, { song: b }]'), [message]);
  t.strictSame(problems(t, '[{ at: x, song: a }, { at: 2, song: b }]'), [
    'titles[0].at: must be a number of seconds from 0 to 86400',
  ]);
});

t.test('a reload with other titles is a change of that source', async (t) => {
  const lines = (one: string, other: string) => planReload(load(t, one), load(t, other)).changes.length;
  t.equal(lines('[{ song: a }]', '[{ song: a }]'), 0);
  t.ok(lines('[{ song: a }]', '[{ song: b }]') > 0);
});
