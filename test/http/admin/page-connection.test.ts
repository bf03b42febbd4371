/** The operator page over a bad connection, and on a device whose clock is wrong: what it shows is of now, and says so where it is not. */

import net from 'node:net';
import t, { type Test } from 'tap';
import { AdminClient } from '../../kit/admin-client.js';
import { openPage, PAGE_YAML, pushTitle, SKIP, sees, studioEncoder } from '../../kit/operator-page.js';
import { startServer, type TestServer } from '../../kit/server.js';
import { patient, until } from '../../kit/until.js';

// They wait more than they compute.
t.jobs = 3;
const limits = () => ({ skip: SKIP, timeout: patient(90_000) });
const HOUR_MS = 3_600_000;

/** A way to the server on which live streams can be lost: the browser is told nothing, or that they have ended. */
async function openWay(t: Test, { port }: TestServer) {
  const streams = new Set<{ readonly client: net.Socket; readonly server: net.Socket }>();
  const way = net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1');
    const pair = { client, server };
    client.on('data', (bytes) => {
      if (/^GET \/admin\/api\/(?:events|log)/.test(bytes.toString('latin1'))) streams.add(pair);
      server.write(bytes);
    });
    server.on('data', (bytes) => client.write(bytes));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  await new Promise<void>((done) => way.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    for (const { client } of streams) client.destroy();
    way.close();
  });
  return {
    base: `http://127.0.0.1:${(way.address() as net.AddressInfo).port}`,
    silence: () => {
      for (const { server } of streams) server.removeAllListeners('data').pause();
    },
    cut: () => {
      for (const { client } of streams) client.destroy();
      streams.clear();
    },
  };
}

t.test('events that are lost without an end, as on a phone that slept, are asked for anew', limits(), async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const way = await openWay(t, server);
  const { page } = await openPage(t, `${way.base}/admin`);
  await page.clock.install();
  await page.goto(`${way.base}/admin`);
  await page.reload();
  await sees(page, '#state-text', 'live');
  await pushTitle(server, 'Before');
  await sees(page, '.playing', 'Before');
  way.silence();
  await pushTitle(server, 'After');
  await page.clock.fastForward(60_000);
  await sees(page, '.playing', 'After');
  await sees(page, '#state-text', 'live');
});

t.test('the log goes on behind a 502, and what is held is neither lost nor shown twice', limits(), async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const admin = new AdminClient(server);
  const way = await openWay(t, server);
  const { page } = await openPage(t, `${way.base}/admin#/log`);
  const lines = (text: string) => page.locator('.lines li', { hasText: `song=${text}` });
  const push = async (song: string) =>
    t.equal((await admin.post('channels/demo/titles', { artist: 'A', song, duration: 600 })).status, 200);
  await push('Shown before');
  await lines('Shown before').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await push('Came meanwhile');
  await page.route('**/admin/api/log*', (route) => route.fulfill({ status: 502, body: 'no server' }));
  const refused = page.waitForResponse((answer) => answer.status() === 502);
  way.cut();
  await sees(page, '[role=status]', 'connection lost');
  await refused;
  await page.unroute('**/admin/api/log*');
  await page.locator('.sum', { hasText: 'connection lost' }).waitFor({ state: 'hidden' });
  t.equal(await lines('Shown before').count(), 1, 'it stays to be read');
  t.equal(await lines('Came meanwhile').count(), 0);
  await page.getByRole('button', { name: 'Pause' }).click();
  await push('Came last');
  await lines('Came last').waitFor();
  for (const text of ['Shown before', 'Came meanwhile']) t.equal(await lines(text).count(), 1, text);
});

t.test(
  'a day that could not be asked for is not a day without listeners, and stays behind a search',
  limits(),
  async (t) => {
    const more = Array.from(
      { length: 8 },
      (_, i) => `      more${i}: { sources: [{ type: encoder, password: demo-source }] }\n`,
    );
    const server = await startServer(t, PAGE_YAML.replace('      other:', `${more.join('')}      other:`));
    const { page } = await openPage(t, `${server.base}/admin`);
    let isFull = true;
    await page.route('**/admin/api/statistics?*', (route) =>
      isFull
        ? route.fulfill({ status: 503, body: '{}' })
        : route.fulfill({
            json: { series: [{ at: new Date().toISOString().replace(/:.*/, ':00:00Z'), peak: 7, listeners: 7 }] },
          }),
    );
    await page.reload();
    const drawn = page.locator('.channel', { hasText: 'Demo Channel' }).locator('.spark');
    await sees(page, '.channel', 'Demo Channel');
    const asked = page.waitForResponse(/api\/statistics\?/);
    await asked;
    t.equal(await drawn.count(), 0);
    isFull = false;
    await drawn.waitFor();
    await page.getByRole('searchbox').fill('studio');
    await drawn.waitFor({ state: 'detached' });
    await page.getByRole('searchbox').fill('');
    await page.locator('.channel', { hasText: 'Demo Channel' }).waitFor();
    t.equal(await drawn.count(), 1, 'it is known');
  },
);

t.test('a server that answers slowly is asked once at a time', limits(), async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const { page } = await openPage(t, `${server.base}/admin`);
  let asked = 0;
  await page.clock.install();
  await page.goto(`${server.base}/admin#/access`);
  // Never answered.
  await page.route('**/admin/api/refusals', () => void asked++);
  await page.reload();
  await until(() => asked === 1, patient(20_000));
  for (let i = 0; i < 3; i++) await page.clock.runFor(3000);
  t.equal(asked, 1);
});

t.test('a device whose clock is wrong: the server says how old things are', limits(), async (t) => {
  const server = await startServer(t, PAGE_YAML);
  studioEncoder(t, server.port);
  for (const wrongMs of [-3 * HOUR_MS, 3 * HOUR_MS]) {
    const { page } = await openPage(t, `${server.base}/admin`);
    await page.clock.install({ time: Date.now() + wrongMs });
    await page.reload();
    await sees(page, '.channel', 'Demo Channel');
    await sees(page, '.channel .source', /encoder.* · for (?!0 s|3 h)/);
    await page.goto(`${server.base}/admin#/statistics`);
    const link = page.getByRole('link', { name: 'Listeners over time (CSV)' });
    const from = new URL((await link.getAttribute('href'))!).searchParams.get('from')!;
    const hours = (Date.now() - Date.parse(from)) / HOUR_MS;
    t.ok(hours > 22.9 && hours < 24.1, `the last 24 hours begin ${hours} hours ago`);
  }
});

t.test('what is shown anew keeps the focus', limits(), async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const { page } = await openPage(t, `${server.base}/admin`);
  await page.clock.install();
  const row = { at: new Date().toISOString().replace(/:.*/, ':00:00Z'), peak: 7, listeners: 7, listeningHours: 1 };
  const totals = { ...row, connections: 7, averageSeconds: null };
  await page.route('**/admin/api/statistics?*', (route) =>
    route.fulfill({ json: { series: [row], totals: route.request().url().includes('of=') ? [] : totals } }),
  );
  await page.goto(`${server.base}/admin#/statistics`);
  const drawn = page.waitForResponse(/api\/statistics\/titles/);
  await page.reload();
  await drawn;
  const focused = () => page.evaluate('document.activeElement.textContent') as Promise<string>;
  for (const [element, text] of [
    [page.locator('summary'), 'Show as a table'],
    [page.getByRole('link', { name: 'Countries (CSV)' }), 'Countries (CSV)'],
  ] as const) {
    await element.focus();
    const again = page.waitForResponse(/api\/statistics\/titles/);
    await page.clock.runFor(31_000);
    await again;
    t.equal(await focused(), text);
  }
});
