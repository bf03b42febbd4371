/** What is done on the operator page: each act behind a question, and what became of it. */

import t from 'tap';
import { AdminClient } from '../../kit/admin-client.js';
import { confirm, openPage, PAGE_YAML, PATIENCE_MS, SKIP, sees, studioEncoder } from '../../kit/operator-page.js';
import { Player } from '../../kit/player.js';
import { DEMO_AUDIO, startServer } from '../../kit/server.js';
import { patient, until } from '../../kit/until.js';

// They wait more than they compute.
t.jobs = 3;

t.test(
  'one channel in depth: sources, titles at their places, listeners, the day',
  { skip: SKIP, timeout: 120_000 },
  async (t) => {
    const server = await startServer(t, PAGE_YAML);
    const admin = new AdminClient(server);
    const { page, complaints } = await openPage(t, `${server.base}/admin#/channel/studio`);
    await sees(page, 'h1', 'Studio');
    await sees(page, '.sources li', /on air.*2 · file/);
    const feeder = studioEncoder(t, server.port);
    await sees(page, '.sources li', /on air.*1 · encoder/);
    await sees(page, '.sources li', 'Studio/1.0');
    await sees(page, 'tbody .what', 'on air: audio arrived');
    const listener = new Player(server.port, '/studio.mp3', { agent: '<b>Player</b>/1' });
    await sees(page, 'section[aria-labelledby=section-listeners] tbody th', '<b>Player</b>/1');

    // Asked back, and nothing happens where the answer is no.
    await page.getByRole('button', { name: 'Push a title' }).click();
    await page.getByLabel('Song').fill('Not this');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Push a title' }).click();
    await page.getByLabel('Artist').fill('Nina');
    await page.getByLabel('Song').fill('Sinnerman');
    await page.locator('dialog').getByRole('button', { name: 'Push' }).click();
    await sees(page, '#notice', 'The title is on air.');
    await sees(page, '.now', 'Nina - Sinnerman');
    await listener.until(({ titles }) => titles.at(-1)?.title === 'Nina - Sinnerman', PATIENCE_MS);
    t.equal(
      listener.titles.some(({ title }) => title.includes('Not this')),
      false,
    );
    await sees(page, 'section[aria-labelledby=section-titles] tbody th', 'Nina - Sinnerman');
    // The title that it hears, which comes later than the one that is on air.
    await page
      .locator('section[aria-labelledby=section-listeners] td.title', { hasText: 'Nina - Sinnerman' })
      .waitFor();
    await sees(page, 'section[aria-labelledby=section-titles] tbody tr', /Sinnerman.*1 listener/);
    await page.getByRole('button', { name: 'Push a title' }).click();
    await page.getByLabel('Song').fill('Waltz');
    await page.getByLabel('When').selectOption('next');
    await page.locator('dialog').getByRole('button', { name: 'Push' }).click();
    await sees(page, '.next', 'Next: Waltz');
    await confirm(page, 'Remove next', 'Remove');
    await page.getByText('Next: Waltz').waitFor({ state: 'hidden' });
    await confirm(page, 'Clear', 'Clear');
    await sees(page, '.now', 'No title');

    await confirm(page, 'Play this source: 2 · file', 'Play');
    await sees(page, '.sources li', /on air, chosen by hand.*2 · file/);
    t.equal((await admin.get('channels/studio')).body.pinned, 1);
    await confirm(page, 'Back to automatic', 'Back to automatic');
    await sees(page, '.sources li', /on air.*1 · encoder/);

    await confirm(page, 'Move all matching', 'Move');
    await sees(page, '#notice', /listener.* (moved|stayed)/);
    const other = new Player(server.port, '/studio.mp3', { agent: 'Second/2' });
    await sees(page, 'section[aria-labelledby=section-listeners] tbody th', 'Second/2');
    await confirm(page, 'Disconnect Second/2 from', 'Disconnect');
    await until(() => other.closed, PATIENCE_MS);
    await sees(page, '.endings li', /ended by an operator.*1/);

    await confirm(page, 'Disconnect: 1', 'Disconnect');
    await feeder.over();
    await sees(page, '.sources li', /on air.*2 · file/);
    // Until the first minute is over.
    await page.locator('.drawn .note, .drawn svg').first().waitFor();
    const drawn = await page.evaluate(`import('/admin/web/charts.js').then(({ day, hoursOf }) => {
      const { peak, listeners } = { peak: 1, listeners: 1 };
      const element = day(hoursOf([{ at: new Date(Math.floor(Date.now() / 3600000) * 3600000).toISOString(), peak, listeners }]), 600, true);
      return [element.querySelectorAll('tbody tr').length, element.querySelector('svg').getAttribute('aria-label').slice(0, 31)];
    })`);
    t.same(drawn, [24, 'Peak in the last 24 hours: 1 at']);
    listener.close();

    await page.goto(`${server.base}/admin#/channel/nothing`);
    await sees(page, '.trouble', 'There is no such channel');
    t.equal(complaints.filter((line) => !line.includes('404')).join(), '');
  },
);

t.test(
  'an encoder is moved to the one channel that could have it',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const second = `second: { name: Second studio, sources: [{ type: encoder, password: demo-source }, { type: file, path: ${DEMO_AUDIO} }] }`;
    const server = await startServer(t, PAGE_YAML.replace('      other:', `      ${second}\n$&`));
    const admin = new AdminClient(server);
    const feeder = studioEncoder(t, server.port);
    const { page, complaints } = await openPage(t, `${server.base}/admin#/channel/studio`);
    await sees(page, '.sources li', /on air.*1 · encoder/);
    await page.getByRole('button', { name: 'Move encoder: 1' }).click();
    t.same(await page.getByLabel('Channel').locator('option').allTextContents(), ['Second studio']);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await confirm(page, 'Move encoder: 1', 'Move encoder');
    await sees(page, '#notice', 'The encoder now feeds Second studio.');
    await sees(page, '.sources li', /on air.*2 · file/);
    await page.getByRole('button', { name: 'Move encoder: 1' }).waitFor({ state: 'hidden' });
    t.equal((await admin.get('channels/second')).body.sources[0].agent, 'Studio/1.0');
    t.equal((await admin.post('channels/second/encoder/move', { to: 'studio' })).status, 204);
    await sees(page, '.sources li', /on air.*1 · encoder/);
    t.notOk(feeder.closed);
    t.same(complaints, []);
  },
);

t.test('the title in force is corrected, and only that one', { skip: SKIP, timeout: patient(60_000) }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const admin = new AdminClient(server);
  const push = async (fields: object) => {
    const { status, body } = await admin.post('channels/studio/titles', { duration: 600, ...fields });
    t.equal(status, 200);
    return body.id;
  };
  const now = async () => (await admin.get('channels/studio')).body.now;
  const { page, complaints } = await openPage(t, `${server.base}/admin#/channel/studio`);
  const correct = page.getByRole('button', { name: 'Edit …' });
  const dialog = page.locator('dialog');
  // Nothing can be corrected before there is a title.
  await sees(page, '.sources li', 'on air');
  await page.getByRole('button', { name: 'Clear' }).waitFor();
  t.equal(await correct.count(), 0);
  const id = await push({ artist: 'Nina Simon', song: 'Sinnerman', album: 'Pastel Blues', isrc: 'USPR36505001' });
  await correct.click();
  const asked = ['Artist', 'Song', 'Duration', 'Album', 'Cover'];
  const values = await Promise.all(asked.map((label) => dialog.getByLabel(label, { exact: true }).inputValue()));
  t.same(values, ['Nina Simon', 'Sinnerman', '600', 'Pastel Blues', '']);
  await dialog.getByLabel('Artist').fill('Nina Simone');
  await dialog.getByLabel('Duration').fill('10:22');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await sees(page, '#notice', 'The title is changed.');
  await sees(page, '.now', 'Nina Simone - Sinnerman');
  const corrected = { id, artist: 'Nina Simone', song: 'Sinnerman', album: 'Pastel Blues', durationSeconds: 622 };
  t.match(await now(), corrected);
  const record = await fetch(`${server.base}/metadata/channel/studio.json`);
  t.match(await record.json(), { isrc: 'USPR36505001' }, 'what was not asked for stays');

  // Another title comes while the question is open: it stays in force.
  await correct.click();
  await dialog.getByLabel('Song').fill('Sinnerman (live)');
  const next = await push({ artist: 'Miriam Makeba', song: 'Pata Pata' });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await sees(page, 'dialog .trouble', 'nothing was changed');
  t.match(await now(), { id: next, song: 'Pata Pata' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // A title of the encoder is not corrected here.
  await confirm(page, 'Clear', 'Clear');
  await correct.waitFor({ state: 'hidden' });
  t.equal(complaints.join(), '');
});

t.test(
  'one listener is moved, or stays where its head does not hold',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const server = await startServer(t, PAGE_YAML);
    const { page, complaints } = await openPage(t, `${server.base}/admin#/channel/demo`);
    const players = ['One/1', 'Two/2'].map((agent) => new Player(server.port, '/demo.mp3', { agent }));
    const row = (agent: string) =>
      page.locator('section[aria-labelledby=section-listeners] tbody tr', { hasText: agent });
    const ask = async (agent: string, to: string) => {
      await row(agent)
        .getByRole('button', { name: `Move ${agent} from` })
        .click();
      const channels = await page.locator('dialog option').allTextContents();
      t.same(channels, ['Studio', 'other', 'slow'], 'the other ones');
      await page.locator('dialog').getByLabel('Channel').selectOption(to);
      await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
    };
    await ask('One/1', 'studio');
    await sees(page, '#notice', 'The listener is moved to Studio.');
    await row('One/1').waitFor({ state: 'detached' });
    // Another metaint than its head says.
    await ask('Two/2', 'slow');
    await sees(page, '#notice.trouble', 'The listener was not moved: slow');
    const { body } = await new AdminClient(server).get('listeners');
    const found = body.listeners.map(({ agent, channel }: Record<string, string>) => `${agent} ${channel}`);
    t.same(found.sort(), ['One/1 studio', 'Two/2 demo']);
    t.same(
      players.map(({ closed }) => closed),
      [false, false],
    );
    for (const player of players) player.close();
    t.equal(complaints.join(), '');
  },
);

t.test('blocks, tokens, refusals, watchers and the log', { skip: SKIP, timeout: 120_000 }, async (t) => {
  const server = await startServer(t, PAGE_YAML);
  const { page, complaints } = await openPage(t, `${server.base}/admin#/access`);
  const refused = await fetch(`${server.base}/metapush/demo/wrong-token?song=x`);
  t.equal(refused.status, 403);
  await refused.body?.cancel();
  await sees(page, 'section[aria-labelledby=section-recent-refusals] tbody tr', /push refused.*wrong secret.*403/);

  await page.getByRole('button', { name: 'Block an address' }).click();
  await page.getByLabel('Address or network').fill('not an address');
  await page.locator('dialog').getByRole('button', { name: 'Block' }).click();
  // What is wrong stands in the dialog, which stays.
  await sees(page, 'dialog .trouble', 'network');
  await page.getByLabel('Address or network').fill('203.0.113.0/24');
  await page.getByLabel('Reason').fill('scrapers');
  await page.locator('dialog').getByRole('button', { name: 'Block' }).click();
  await sees(page, 'section[aria-labelledby=section-blocked-addresses] tbody tr', /203\.0\.113\.0\/24.*scrapers/);
  await confirm(page, 'Unblock 203.0.113.0/24', 'Unblock');
  await page.locator('section[aria-labelledby=section-blocked-addresses] tbody tr').waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Create a token' }).click();
  await page.getByLabel('Channel').selectOption('demo');
  await page.getByLabel('Name').fill('studio 2');
  await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
  const made = page.getByRole('textbox', { name: 'The token' });
  const token = await made.inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  const pushed = async (with_: string) => {
    const { status, body } = await fetch(`${server.base}/metapush/demo/${with_}?song=x`);
    await body?.cancel();
    return status;
  };
  t.equal(await pushed(token), 200);
  await page.getByRole('button', { name: 'Replace studio 2 of demo' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Replace' }).click();
  const next = await page.getByRole('textbox', { name: 'The new token' }).inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  t.same([await pushed(token), await pushed(next)], [403, 200]);
  t.equal(await page.content().then((html) => html.includes(next)), false, 'it is nowhere on the page any more');
  await confirm(page, 'Revoke studio 2 of demo', 'Revoke');
  await until(async () => (await pushed(next)) === 403, PATIENCE_MS);

  await page.goto(`${server.base}/admin#/log`);
  await sees(page, '.lines li', /admin act.*act=revoke token/);
  await page.getByRole('button', { name: 'Pause' }).click();
  t.equal(await pushed('demo-token'), 200);
  await fetch(`${server.base}/metapush/demo/demo-token?song=While+held`).then(({ body }) => body?.cancel());
  await page.getByRole('button', { name: 'Pause' }).click();
  await sees(page, '.lines li', 'While held');
  await page.getByRole('searchbox').fill('revoke token');
  await page.locator('.lines li', { hasText: 'While held' }).waitFor({ state: 'hidden' });
  t.equal((await page.content()).includes(token), false, 'no secret is in the log');
  t.equal(complaints.filter((line) => !line.includes('422')).join(), '');
});

t.test(
  'statistics: empty in words, days without listeners, and a report to download',
  { skip: SKIP, timeout: patient(60_000) },
  async (t) => {
    const server = await startServer(t, PAGE_YAML);
    const { page, complaints } = await openPage(t, `${server.base}/admin#/statistics`);
    await sees(page, '.drawn .note', 'Nothing was counted in this period.');
    await page.locator('section[aria-labelledby=section-titles] .wide.none').waitFor();
    await page.getByLabel('Channel').selectOption('studio');
    await page.getByLabel('Period').selectOption('month');
    const link = page.getByRole('link', { name: 'Countries (CSV)' });
    const href = await link.getAttribute('href');
    t.match(href, /\/admin\/api\/statistics\.csv\?channel=studio&by=day&from=[^&]+&of=country&bom=1$/);
    const download = page.waitForEvent('download');
    await link.click();
    t.equal((await download).suggestedFilename(), 'studio-country.csv');
    // By the cookie alone.
    const report = await page.request.get(href!);
    t.match(await report.text(), /^\ufeffat,country,connections,listeners,/, 'a spreadsheet reads it as UTF-8');
    const days = await page.evaluate(`import('/admin/web/audience-view.js').then(({ daysOf }) => {
    const row = (at, peak) => ({ at, peak, listeners: peak });
    return daysOf([row('2999-02-26T19:00:00-05:00', 3), row('2999-03-01T01:00:00+01:00', 1)], 4).map(({ at, peak }) => at + ' ' + peak);
  })`);
    t.same(days, ['2999-02-26 0', '2999-02-27 3', '2999-02-28 0', '2999-03-01 1']);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to airsplice' }).waitFor();
    t.equal((await page.request.get(href!)).status(), 401);
    t.same(
      complaints.filter((line) => !line.includes('401')),
      [],
    );
  },
);
