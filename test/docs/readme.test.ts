/**
 * The examples of the README, config/apps.md and config/playout.md, run from their own text against a real server: only host and port are put in. Shell and Python run as they
 * are, JavaScript and HTML in Chromium in a page of another origin, the module in Node. Nothing here runs PowerShell: of that example the URL and the
 * body are read out by regular expressions and pushed. Every example of a section is run, or its test fails.
 */

import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { freePort, TYPESCRIPT } from '../kit/process.js';
import { demoYaml, startServer, type TestServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

// They wait more than they compute.
t.jobs = 4;

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const README = read('README.md');
const HERE = '127.0.0.1:8000';
const CHROMIUM = '/usr/bin/chromium';
const noChromium = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`;
const YAML = demoYaml('streams: { burstSeconds: 1 }');
const run = promisify(execFile);

interface Example {
  readonly language: string;
  readonly text: string;
}

/** The fenced examples of one section, in order. */
function examples(section: string, text = README): Example[] {
  const start = text.indexOf(`\n## ${section}\n`);
  const end = text.indexOf('\n## ', start + 1);
  if (start < 0) throw new Error(`there is no section ${section}`);
  const fences = text.slice(start, end).matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return Array.from(fences, ([, language, text]) => ({ language: language!, text: text! }));
}

/** The example's text at this server's port. */
function at(server: TestServer, text: string): string {
  if (!text.includes(HERE)) throw new Error(`no ${HERE} in: ${text}`);
  return text.replaceAll(HERE, `127.0.0.1:${server.port}`);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into what they expect
async function record(server: TestServer, type = 'now'): Promise<any> {
  const answer = await fetch(`${server.base}/metadata/channel/studio.json?type=${type}`);
  return answer.status === 200 ? answer.json() : null;
}

async function push(server: TestServer, song: string, channel = 'studio'): Promise<void> {
  const url = `${server.base}/metapush/${channel}/${channel}-token?artist=A&song=${encodeURIComponent(song)}`;
  const answer = await fetch(url);
  if (answer.status !== 200) throw new Error(`push: ${answer.status}`);
}

t.test('for playout systems', async (t) => {
  const server = await startServer(t, YAML);
  const all = [...examples('For playout systems'), ...examples('A script of your own', read('config/playout.md'))];
  const only = (language: string) => all.find((example) => example.language === language)!.text;
  t.strictSame(
    all.map(({ language }) => language),
    ['sh', 'sh', 'powershell', 'python'],
    'an example for each',
  );

  await t.test('curl', async (t) => {
    const commands = all.filter(({ language }) => language === 'sh').map(({ text }) => at(server, text));
    const { stdout } = await run('sh', ['-ec', commands.join('\n')]);
    t.equal(stdout.match(/"start_timestamp":\d+/g)?.length, 2, 'two records came back');
    t.match(await record(server), { artist: 'Nina Simone', song: 'Feeling Good', duration: 174, etype: 1001 });
    t.match(await record(server, 'next'), { artist: 'Sigur Rós', song: 'Hoppípolla', type: 'next' });
  });

  await t.test('PowerShell, by its text', async (t) => {
    const text = at(server, only('powershell'));
    const url = /-Uri '([^']+)'/.exec(text)![1]!;
    const members = [.../@\{ (.*) \}/.exec(text)![1]!.matchAll(/(\w+) = (?:'([^']*)'|(\d+))/g)];
    const body = Object.fromEntries(members.map(([, name, word, number]) => [name, word ?? Number(number)]));
    const type = /-ContentType '([^']+)'/.exec(text)![1]!;
    const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': type }, body: JSON.stringify(body) });
    t.equal(answer.status, 200);
    t.match(await record(server), { artist: 'Björk', song: 'Jóga', duration: 305 });
    t.match(text, /UTF8\.GetBytes/, 'PowerShell 5 would send ISO 8859-1');
  });

  const python = await run('python3', ['--version']).then(
    () => false,
    () => 'python3 is missing',
  );
  await t.test('Python', { skip: python }, async (t) => {
    const { stdout } = await run('python3', ['-c', at(server, only('python'))]);
    t.equal(stdout, 'item-4711\n');
    t.not((await record(server)).song, 'Pata Pata', 'it waits for its time');
    await run('python3', ['-c', at(server, only('python')).replace('seconds=60', 'seconds=0')]);
    t.match(
      await record(server),
      { artist: 'Miriam Makeba', song: 'Pata Pata' },
      'a push with the same id replaces it',
    );
  });
});

/** A page of another origin, and the titles that it shows. */
async function otherOrigin(t: Test, html = ''): Promise<{ page: Page; shown: () => Promise<string[]> }> {
  const site = http.createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8').end(`<!doctype html><title>Station</title>${html}`);
  });
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--mute-audio',
      '--autoplay-policy=no-user-gesture-required',
    ],
  });
  t.teardown(async () => {
    await browser.close();
    site.closeAllConnections();
    site.close();
  });
  const page = await browser.newPage();
  page.on('pageerror', (error) => t.fail(String(error)));
  await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
  await page.evaluate(
    "window.shown = []; window.show = (record) => window.shown.push(record.type + ' ' + record.song);",
  );
  return { page, shown: () => page.evaluate('window.shown') };
}

t.test('for apps', { skip: noChromium }, async (t) => {
  const fixed = demoYaml('streams: { burstSeconds: 1 }', await freePort());
  let server = await startServer(t, fixed);
  const all = examples('Programs', read('config/apps.md'));
  t.strictSame(
    all.map(({ language }) => language),
    ['js', 'js', 'js'],
    'the module in Node, SSE, polling',
  );
  const [module, events, poll] = all.map(({ text }) => text);
  await push(server, 'first');
  const has = async (shown: () => Promise<string[]> | string[], title: string, ms = 15_000) => {
    let last: string[] = [];
    const ready = async () => (last = await shown()).at(-1) === title;
    await until(ready, ms, () => `${title} is not shown last: ${last}`);
  };

  await t.test('the module in Node, over a restart of the server', async (t) => {
    const file = join(tempFolder(t), 'app.mjs');
    const source = new URL('../../src/client/client.ts', import.meta.url).href;
    t.match(module, "from 'airsplice-client'");
    writeFileSync(file, at(server, module!).replace('airsplice-client', source));
    const app = spawn(process.execPath, [...TYPESCRIPT, file], { env: { ...process.env, NODE_OPTIONS: '' } });
    t.teardown(() => app.kill('SIGKILL'));
    let out = '';
    app.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    const shown = () => out.trim().split('\n');
    await has(shown, 'now A - first');
    await server.app.stop();
    server = await startServer(t.parent as Test, fixed, server.folder);
    await push(server, 'by the module');
    await has(shown, 'now A - by the module', 30_000);
    await push(server, 'second');
    await has(shown, 'now A - second');
    t.strictSame(shown(), ['now A - first', 'now A - by the module', 'now A - second'], 'each title once');
    app.kill('SIGTERM');
    await until(
      () => app.exitCode === 0,
      10_000,
      () => `exit code ${app.exitCode}`,
    );
  });

  await t.test('SSE, over a restart of the server', async (t) => {
    const { page, shown } = await otherOrigin(t);
    await page.addScriptTag({ content: at(server, events!) });
    await has(shown, `now ${(await record(server)).song}`);
    await push(server, 'by SSE');
    await has(shown, 'now by SSE');
    await server.app.stop();
    server = await startServer(t.parent as Test, fixed, server.folder);
    await push(server, 'SSE again');
    await has(shown, 'now SSE again');
    t.pass('each title was shown');
  });

  await t.test('polling', async (t) => {
    const { page, shown } = await otherOrigin(t);
    const statuses: number[] = [];
    page.on('response', (response) => response.url().endsWith('.json') && statuses.push(response.status()));
    await page.addScriptTag({ content: at(server, poll!).replace('5000', '200') });
    t.match(poll, ', 5000)');
    await push(server, 'polled');
    await has(shown, 'now polled');
    await until(() => statuses.includes(304), 5000);
    t.equal((await shown()).filter((title) => title === 'now polled').length, 1, 'what is known is not shown again');
  });
});

t.test('for pages', { skip: noChromium }, async (t) => {
  const server = await startServer(t, YAML);
  const all = examples('For apps');
  t.strictSame(
    all.map(({ language }) => language),
    ['html'],
  );
  const hostile = '<b>bold</b>';
  await push(server, hostile);
  const { page } = await otherOrigin(t, at(server, all[0]!.text));
  const shows = async (id: string, text: string) => {
    let seen: string | null = null;
    const isThere = async () => (seen = await page.locator(id).textContent()) === text;
    await until(isThere, 15_000, () => `${id} shows ${seen}, not ${text}`);
  };
  await shows('#on-air', `A - ${hostile}`);
  t.equal(await page.locator('#heard').textContent(), '', 'nothing plays');
  await page.locator('audio').evaluate((audio: { play(): Promise<void> }) => audio.play());
  await shows('#heard', `A - ${hostile}`);
  await push(server, 'second');
  await shows('#on-air', 'A - second');
  await shows('#heard', 'A - second');
  t.pass('each title was shown');
});

t.test('each row of the comparison names a test that is there', async (t) => {
  const rows = read('config/COMPARED.md').matchAll(/^\|.*\| (`[^|]*`) \|$/gm);
  const names = [...rows].slice(1).flatMap(([, cell]) => cell!.match(/[\w/-]+/g) ?? []);
  t.ok(names.length >= 14);
  for (const name of names) t.ok(existsSync(new URL(`../${name}.test.ts`, import.meta.url)), name);
});

t.test('every test that SECURITY.md names is there', async (t) => {
  const rows = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8').matchAll(/^\|.*\| ([^|]*) \|$/gm);
  const names = [...rows]
    .slice(1)
    .flatMap(([, cell]) => cell!.match(/[\w/-]+/g) ?? [])
    .filter((name) => !/^-+$/.test(name));
  t.ok(names.length >= 14);
  for (const name of names) t.ok(existsSync(new URL(`../${name}.test.ts`, import.meta.url)), name);
});

t.test('the README is short', async (t) => {
  t.ok(Buffer.byteLength(README) <= 11 * 1024, `${Buffer.byteLength(README)} bytes`);
});
