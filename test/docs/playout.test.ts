/** The templates of config/playout.md: each filled in as its program would, and Liquidsoap's by Liquidsoap. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { runLiquidsoap } from '../kit/liquidsoap.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { Wire } from '../kit/wire.js';

const PAGE = readFileSync(new URL('../../config/playout.md', import.meta.url), 'utf8');
const HERE = '127.0.0.1:8000';
/** What stands for the placeholders, by a word in their names; the order matters. */
const VALUES: readonly [RegExp, string][] = [
  [/start/i, '2025-01-02 03:04:05'],
  [/artist|^%a$/, 'Björk & Þór 100%'],
  [/title|^%[bt]$/, 'Jóga #1'],
  [/guid/, 'f-1'],
  [/len|dur|sec|^%[lS]$/i, '183,52'],
];
const PLACEHOLDER = /\$\{\w+\}|\{\{\w+\}\}|\$[\w.]+\$|%\w+/g;

function blocks(language: string): string[] {
  return Array.from(PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms')), ([, text]) => text!);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into what they expect
async function now({ base }: TestServer): Promise<any> {
  const answer = await fetch(`${base}/metadata/channel/studio.json`);
  return answer.status === 200 ? answer.json() : {};
}

t.test('templates', async (t) => {
  const server = await startServer(t, demoYaml(''));
  const sections = PAGE.split('\n## A script of your own\n')[0]!.split(/^## /m).slice(1);
  for (const section of sections) t.match(section, /\*(Tried|From )/, section.slice(0, 20));
  const templates = blocks('template');
  t.equal(templates.length + blocks('liquidsoap').length, sections.length - 1, 'all but one have a template');
  // Some encode nothing at all, or only what is no letter of ASCII.
  const writers = [encodeURIComponent, (text: string) => text.replace(/[&#]/g, encodeURIComponent)];
  for (const [i, template] of templates.entries()) {
    for (const write of writers) {
      const target = template.trim().slice(`http://${HERE}`.length);
      const filled = target.replace(PLACEHOLDER, (name) => {
        const value = VALUES.find(([word]) => word.test(name))?.[1];
        if (value === undefined) throw new Error(`${name} in ${template}`);
        return write(`${value}${name.includes('title') || /^%[bt]$/.test(name) ? ` ${i}` : ''}`);
      });
      const wire = new Wire(t, server.port).send(Buffer.from(`GET ${filled} HTTP/1.0\r\n\r\n`));
      const answer = (await wire.take(1))[0]!;
      t.equal(answer.status, 200, answer.body);
      t.equal(answer.headers.get('airsplice-ignored'), undefined, template);
      const duration = template.includes('duration=') ? 183 : 0;
      t.match(await now(server), { artist: 'Björk & Þór 100%', song: `Jóga #1 ${i}`, duration });
    }
  }
});

t.test('Liquidsoap', { skip: missing('liquidsoap') }, async (t) => {
  const server = await startServer(t, demoYaml(''));
  const [block] = blocks('liquidsoap');
  const title = { afterSeconds: 1, artist: 'Sigur Rós', title: 'Ahora & 100 % más + #1?' };
  const lines = [block!.replaceAll(HERE, `127.0.0.1:${server.port}`), 'output.dummy(s)'];
  const program = runLiquidsoap(t, [title], lines);
  await until(async () => (await now(server)).song === title.title, 30_000);
  t.match(await now(server), { artist: 'Sigur Rós', source: 'metapush' });
  await program.stop();
});
