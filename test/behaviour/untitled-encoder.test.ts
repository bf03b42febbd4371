/**
 * `firstTitle`: what stands when an encoder connects without a title, five seconds after it has come. One with a title was there before; real encoders,
 * the title as players and readers get it.
 */

import t, { type Test } from 'tap';
import { Feeder } from '../kit/feeder.js';
import { quietFor } from '../kit/pause.js';
import { Player } from '../kit/player.js';
import { atOnce, NODES, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';

t.jobs = atOnce(3);

const LONG_MS = 20_000;
/** More than the five seconds that a source may take. */
const TAKEN_MS = 7000;

/** Channels of each kind: key → its options. */
const CHANNELS: Readonly<Record<string, string>> = {
  plain: '',
  own: 'fallback: { song: Fallback },',
  channel: 'name: Radio Wave, firstTitle: channel,',
  unnamed: 'firstTitle: channel,',
  last: 'fallback: { song: Fallback }, firstTitle: last,',
  nothing: 'fallback: { song: Fallback }, firstTitle: nothing,',
  words: 'firstTitle: { artist: Radio, song: Wave },',
};

const yaml = (channels = CHANNELS) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
${Object.entries(channels)
  .map(
    ([key, options]) =>
      `      ${key}: { ${options} pushTokens: [demo-token], sources: [{ type: encoder, password: demo-source }] }`,
  )
  .join('\n')}
`;

const encoder = (t: Test, port: number, key: string, agent: string) =>
  new Feeder(t, port, `/${key}`, { headers: `Content-Type: audio/mpeg\r\nUser-Agent: ${agent}\r\n` }).stream(t);

async function say(t: Test, base: string, key: string, song: string): Promise<void> {
  const headers = { Authorization: `Basic ${Buffer.from('source:demo-source').toString('base64')}` };
  const answer = await fetch(`${base}/admin/metadata?mode=updinfo&mount=/${key}&song=${song}`, { headers });
  t.equal(answer.status, 200, `${key}: ${await answer.text()}`);
}

/** The line that readers get; undefined: no title yet. */
async function lineOf(base: string, key: string): Promise<string | undefined> {
  const answer = await fetch(`${base}/metadata/channel/${key}.txt`);
  return answer.status === 204 ? undefined : (await answer.text()).trimEnd();
}

const isTitled = (base: string, key: string, line: string) =>
  until(
    async () => (await lineOf(base, key)) === line,
    LONG_MS,
    () => `${key} has not got ${line}`,
  );

/** Until it is taken: its encoder may not be on air yet. */
const says = (t: Test, base: string, key: string, song: string) =>
  until(async () => {
    await say(t, base, key, song);
    return (await lineOf(base, key)) === song;
  }, LONG_MS);

/** A title that comes to another machine than its encoder counts as one of another program, which stays. */
const apart = NODES > 0 ? 'encoders and their titles come to any machine' : false;

t.test('each kind, after an encoder with a title', { skip: apart }, async (t) => {
  const { base, port } = await startServer(t, yaml());
  const keys = Object.keys(CHANNELS);
  const before = keys.map((key) => encoder(t, port, key, 'first/1'));
  for (const one of before) t.equal(await one.answered(), 200);
  for (const key of keys) await says(t, base, key, 'Show');
  for (const one of before) {
    one.socket.destroy();
    await one.over();
  }
  const after = keys.map((key) => encoder(t, port, key, 'second/1'));
  for (const one of after) t.equal(await one.answered(), 200);
  const player = new Player(port, '/words');
  t.teardown(() => player.close());
  for (const key of keys) t.equal(await lineOf(base, key), 'Show', `${key}: it has some time for its own title`);
  await isTitled(base, 'words', 'Radio - Wave');
  await isTitled(base, 'channel', 'Radio Wave');
  await isTitled(base, 'unnamed', 'unnamed');
  await isTitled(base, 'nothing', '');
  await isTitled(base, 'own', 'Fallback');
  await isTitled(base, 'plain', '');
  t.equal(await lineOf(base, 'last'), 'Show');
  await player.until(({ titles }) => titles.some(({ title }) => title.includes('Radio - Wave')));
  t.match(await (await fetch(`${base}/metadata/channel/words.json`)).json(), { source: 'fallback', etype: 0 });
  for (const key of keys) {
    await says(t, base, key, 'Mine');
  }
});

t.test('a first encoder of all, a push, and other words by a reload', async (t) => {
  const { channel, words } = CHANNELS as Record<'channel' | 'words', string>;
  const server = await startServer(t, yaml({ channel, words }));
  const { base, port } = server;
  t.equal((await fetch(`${base}/metapush/words/demo-token?song=Pushed`)).status, 200);
  for (const key of ['channel', 'words']) t.equal(await encoder(t, port, key, 'first/1').answered(), 200);
  await isTitled(base, 'channel', 'Radio Wave');
  await quietFor(TAKEN_MS - 5000);
  t.equal(await lineOf(base, 'words'), 'Pushed');
  await server.reload(yaml({ channel: channel.replace('Radio Wave', 'Radio Waves'), words }));
  await isTitled(base, 'channel', 'Radio Waves');
  const song = (characters: number) => yaml({ channel, words: `firstTitle: { song: ${'x'.repeat(characters)} },` });
  await t.rejects(server.reload(song(256)), /firstTitle.song/);
  await t.rejects(server.reload(yaml({ channel, words: 'firstTitle: other,' })), /channel, last, nothing/);
  await server.reload(song(255));
});
