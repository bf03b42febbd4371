/** What changes while a directory takes its time for an answer, or while a channel has no audio for a moment. */

import t from 'tap';
import { Feeder } from '../kit/feeder.js';
import { pause, quietFor } from '../kit/pause.js';
import { atOnce, DEMO_AUDIO, startServer } from '../kit/server.js';
import { until } from '../kit/until.js';
import { YpServer } from '../kit/yp-server.js';

t.jobs = atOnce(4);

const FILE = `sources: [{ type: file, path: ${DEMO_AUDIO} }]`;

function yaml({ url }: YpServer, channels: readonly string[], streams = ''): string {
  return `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { publicUrl: 'https://radio.example/'${streams} }
directories: [{ url: '${url}', touchSeconds: { min: 1, max: 1 }, retrySeconds: { min: 0.2, max: 1 }, timeoutSeconds: 20 }]
stations:
  house:
    channels:
      ${channels.join('\n      ')}
`;
}

/** The next call of this kind gets no answer before it is let go. */
async function held(yp: YpServer, action: string): Promise<{ readonly sid: string; letGo(): void }> {
  const before = yp.of(action).length;
  let letGo: (() => void) | null = null;
  yp.answer = (response, form) => {
    if (letGo !== null || form['action'] !== action) return false;
    letGo = () => void response.writeHead(200, { YPResponse: '1', SID: 'held', TouchFreq: '1' }).end();
    return true;
  };
  await until(() => letGo !== null, 20_000);
  return { sid: yp.of(action)[before]!['sid'] ?? '', letGo: () => letGo!() };
}

t.test('a reload takes a channel out while a call about another one is under way', async (t) => {
  const yp = await YpServer.open(t);
  const [one, two] = [`one: { public: true, ${FILE} }`, `two: { public: true, ${FILE} }`];
  const server = await startServer(t, yaml(yp, [one, two]));
  await yp.came('touch', 4);
  const { sid, letGo } = await held(yp, 'touch');
  const stays = yp.listed.get(sid)!['listenurl']!.endsWith('one') ? one : two;
  // The other one is to be touched, too.
  await pause(1500);
  await server.reload(yaml(yp, [stays]));
  letGo();
  t.not((await yp.came('remove', 1))['sid'], sid);
  const touches = yp.of('touch').length;
  t.equal((await yp.came('touch', touches + 1))['sid'], sid);
});

t.test('a channel that becomes private while it is being added is removed', async (t) => {
  const yp = await YpServer.open(t);
  const adding = held(yp, 'add');
  const server = await startServer(t, yaml(yp, [`one: { public: true, ${FILE} }`]));
  const { letGo } = await adding;
  await server.reload(yaml(yp, [`one: { public: false, ${FILE} }`]));
  // It has been looked at meanwhile.
  await pause(2100);
  letGo();
  t.equal((await yp.came('remove', 1))['sid'], 'held');
});

t.test('a channel that was refused is offered again as soon as it is called otherwise', async (t) => {
  const yp = await YpServer.open(t);
  yp.answer = (response, { action, sn }) => {
    const isRefused = action === 'add' && sn === 'Bad';
    if (isRefused) response.writeHead(200, { YPResponse: '0', YPMessage: 'not this name' }).end();
    return isRefused;
  };
  const text = (name: string) =>
    yaml(yp, [`one: { public: true, name: ${name}, ${FILE} }`]).replace(
      '{ min: 0.2, max: 1 }',
      '{ min: 600, max: 600 }',
    );
  const server = await startServer(t, text('Bad'));
  await yp.came('add', 1);
  await quietFor(1500);
  t.equal(yp.of('add').length, 1);
  await server.reload(text('Good'));
  t.equal((await yp.came('add', 2))['sn'], 'Good');
  await yp.came('touch', 1);
});

for (const [said, channel, headers] of [
  [
    'its name',
    'public: true',
    'ice-name: The show\r\nice-genre: talk\r\nice-description: d\r\nice-url: https://u.example/\r\n',
  ],
  ['that it is for all', 'name: Live', 'ice-public: 1\r\n'],
] as const) {
  t.test(`${said} stands while the encoder that has said so is away for a moment`, async (t) => {
    const yp = await YpServer.open(t);
    const channels = [`live: { ${channel}, sources: [{ type: encoder, password: demo-source }] }`];
    const { port } = await startServer(t, yaml(yp, channels, ', silenceSeconds: 30'));
    const feed = async () => {
      const feeder = new Feeder(t, port, '/live', { headers: `${headers}Content-Type: audio/mpeg\r\n` });
      t.equal(await feeder.answered(), 200);
      feeder.send(100);
      return feeder;
    };
    const first = await feed();
    await yp.came('add', 1);
    first.socket.destroy();
    await quietFor(3000);
    t.equal(yp.of('remove').length, 0, 'while it is away');
    await feed();
    await quietFor(2500);
    t.equal(yp.of('remove').length + yp.of('add').length, 1, 'when it is back');
  });
}
