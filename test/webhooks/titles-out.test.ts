/** What is in force when a server starts, or when a webhook is added, was sent before: a chat does not get it again with a cover that comes late. */

import t, { type Test } from 'tap';
import { Receiver } from '../kit/receiver.js';
import { atOnce, DEMO_AUDIO, startServer } from '../kit/server.js';
import { tempFolder } from '../kit/temp-folder.js';
import { until } from '../kit/until.js';

t.jobs = atOnce(3);

const yaml = (...webhooks: string[]) => `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  house:
    channels:
      live:
        pushTokens: [demo-token]
        webhooks: [${webhooks.join(', ')}]
        sources: [{ type: file, path: ${DEMO_AUDIO} }]
`;
const chatAt = ({ url }: Receiver, more = '') => `{ url: '${url}', dampSeconds: 0, format: discord${more} }`;
const programAt = ({ url }: Receiver) => `{ url: '${url}', dampSeconds: 0 }`;

async function push(t: Test, base: string, members: Record<string, unknown>): Promise<void> {
  const body = JSON.stringify({ artist: '', duration: 0, ...members });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${base}/metapush/live/demo-token`, { method: 'POST', headers, body });
  t.equal(answer.status, 200, await answer.text());
}

const lines = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).content as string);
const covers = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).data.cover as string);
const came = (receiver: Receiver, count: number) => until(() => receiver.received.length >= count, 10_000);

t.test('a cover that comes behind a restart', async (t) => {
  const [chat, program] = [await Receiver.open(t), await Receiver.open(t)];
  const folder = tempFolder(t);
  const text = yaml(chatAt(chat), programAt(program));
  const first = await startServer(t, text, folder);
  await push(t, first.base, { song: 'one' });
  await came(chat, 1);
  await came(program, 1);
  await first.app.stop();
  const { base } = await startServer(t, text, folder);
  await push(t, base, { song: 'one', cover: 'https://x.example/1.jpg' });
  await push(t, base, { song: 'two' });
  await came(program, 3);
  await came(chat, 2);
  t.strictSame(lines(chat), ['one', 'two']);
  t.strictSame(covers(program), ['', 'https://x.example/1.jpg', '']);
});

t.test('a cover that comes behind a reload; a title that was not wanted as it was is sent', async (t) => {
  const [chat, other, music] = [await Receiver.open(t), await Receiver.open(t), await Receiver.open(t)];
  const server = await startServer(t, yaml(chatAt(chat)));
  const { base } = server;
  await push(t, base, { song: 'one' });
  await came(chat, 1);
  await server.reload(yaml(chatAt(other), chatAt(chat), chatAt(music, ', etypes: [1001]')));
  await push(t, base, { song: 'one', cover: 'https://x.example/1.jpg' });
  await push(t, base, { song: 'one', etype: 1001 });
  await came(music, 1);
  await push(t, base, { song: 'two' });
  await came(other, 1);
  await came(chat, 2);
  t.strictSame([lines(chat), lines(other), lines(music)], [['one', 'two'], ['two'], ['one']]);
});
