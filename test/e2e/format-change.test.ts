/** Browsers where a stream goes on in another sample rate: their audio element ends, without an error, and `attach` plays on by itself. */

import { chromium } from 'playwright-core';
import t, { type Test } from 'tap';
import type { Tab } from '../kit/browser.js';
import { Feeder } from '../kit/feeder.js';
import { FIREFOX, Firefox } from '../kit/firefox.js';
import { missing } from '../kit/program.js';
import { startServer, type TestServer } from '../kit/server.js';
import { until } from '../kit/until.js';

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations: { s: { channels: { live: { sources: [{ type: encoder, password: demo-source }] } } } }
`;
/** Silent frames of MPEG 1 layer III, 128 kb/s, stereo. */
const [HERTZ_44100, HERTZ_48000] = (
  [
    [0x90, 417],
    [0x94, 384],
  ] as const
).map(([third, bytes]) => [Buffer.concat([Buffer.from([0xff, 0xfb, third, 0x00]), Buffer.alloc(bytes - 4)])]) as [
  Buffer[],
  Buffer[],
];

for (const [program, open] of [
  ['chromium', openChromium],
  [FIREFOX, (t: Test) => Firefox.start(t)],
] as const) {
  t.test(program, { skip: missing(program), timeout: 170_000 }, async (t) => {
    const server = await startServer(t, YAML);
    const feeder = new Feeder(t, server.port, '/live', { frames: HERTZ_44100 }).stream(t, 4);
    t.equal(await feeder.answered(), 200);
    feeder.send(200);
    const tab = await open(t);
    await tab.goto(`${server.base}/healthz`);
    await play(tab, server);
    await until(async () => (await look(tab)).every(({ seconds }) => seconds > 1), 30_000);
    feeder.frames = HERTZ_48000;
    await until(
      async () => (await look(tab))[0]!.hasEnded,
      30_000,
      () => 'it has not ended',
    );
    const [element, attached] = await look(tab);
    t.equal(element!.error, null);
    feeder.send(200);
    await until(async () => (await look(tab))[1]!.states.join(' ').endsWith('retrying connecting playing'), 60_000);
    t.notOk(attached!.states.includes('failed'));
  });
}

async function openChromium(t: Test): Promise<Tab> {
  const args = ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'];
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  t.teardown(() => browser.close());
  return browser.newPage();
}

// biome-ignore-start lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know

/** An element by itself, and one by `attach`. */
function play(tab: Tab, { base }: TestServer): Promise<void> {
  return tab.evaluate(async (base) => {
    const page = globalThis as any;
    const { attach } = await import(`${base}/client.js`);
    page.states = [];
    page.players = [new page.Audio(`${base}/live`), new page.Audio()];
    for (const player of page.players) player.muted = true;
    const attached = attach(page.players[1], `${base}/live`, { onState: (state: string) => page.states.push(state) });
    await Promise.all([page.players[0].play(), attached.play()]);
  }, base);
}

function look(tab: Tab) {
  return tab.evaluate(() => {
    const { players, states } = globalThis as any;
    return (players as any[]).map(({ currentTime, ended, error }) => ({
      seconds: currentTime as number,
      hasEnded: ended as boolean,
      states: states as string[],
      error: (error?.message ?? null) as string | null,
    }));
  }, null);
}

// biome-ignore-end lint/suspicious/noExplicitAny: the browser's own, which Node's types do not know
