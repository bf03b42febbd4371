/** HLS as an operator sees it: in /metrics, and in the report of each channel, which the operator's page shows. Also with workers. */

import t from 'tap';
import { ADMIN_USERS, AdminClient } from '../../kit/admin-client.js';
import { readPlaylist } from '../../kit/hls-channel.js';
import { demoYaml, metricsOf, startServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { ask } from '../../kit/wire.js';

const HLS = 'streams: { hls: { enabled: true, segmentSeconds: 2 } }';

/** The value of a row in all machines; 0: it is not there. */
function valueIn(all: readonly string[], row: string): number {
  const lines = all.flatMap((text) => text.split('\n')).filter((line) => line.startsWith(`${row} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(row.length)), 0);
}

t.test('what is cut, what is asked for and what waits', async (t) => {
  const server = await startServer(t, demoYaml(HLS));
  const { base, port } = server;
  const value = async (row: string) => valueIn(await metricsOf(server), row);
  t.equal(await value('airsplice_hls_active{channel="demo",state="cut"}'), 0, 'nobody asks yet');
  let name = '';
  await until(async () => {
    const answer = await fetch(`${base}/demo/hls/live.m3u8`);
    if (answer.status !== 200) return false;
    const { segments } = readPlaylist(await answer.text());
    name = segments[0]!.name;
    return segments.length > 2;
  }, 30_000);
  const length = (await (await fetch(`${base}/demo/hls/${name}`)).arrayBuffer()).byteLength;
  await ask(t, port, 'GET /demo/hls/1-0123456789abcdef.mp3 HTTP/1.1');
  await ask(t, port, 'GET /demo/hls.m3u8 HTTP/1.1');
  await ask(t, port, 'GET /demo.m3u8 HTTP/1.1');
  await ask(t, port, 'HEAD /studio/hls/live.m3u8 HTTP/1.1');
  for (const row of [
    'segment",status="200"',
    'segment",status="404"',
    'variant",status="200"',
    'leading",status="302"',
  ])
    await until(async () => (await value(`airsplice_hls_requests_total{what="${row}}`)) === 1, 10_000);
  t.ok((await value('airsplice_hls_requests_total{what="media",status="200"}')) > 0);
  t.equal(await value('airsplice_hls_active{channel="demo",state="cut"}'), 1);
  const segments = await value('airsplice_hls_segments_total{channel="demo"}');
  const bytes = await value('airsplice_hls_bytes_total{channel="demo"}');
  t.ok(segments > 2 && bytes > segments * length * 0.4 && bytes < segments * length * 2.5, `${segments}, ${bytes}`);
  t.equal(await value('airsplice_hls_waiting'), 0);
  t.equal(await value('airsplice_hls_unwritten_total'), 0);
  t.equal(await value('airsplice_hls_rewind_seconds{channel="demo"}'), 0, 'there is none');
});

t.test('how much can be played again', async (t) => {
  const server = await startServer(t, demoYaml(HLS.replace('2 }', '2, rewindHours: 1 }')));
  const value = async (row: string) => valueIn(await metricsOf(server), row);
  await until(async () => (await value('airsplice_hls_rewind_seconds{channel="demo"}')) > 5, 30_000);
  t.equal(await value('airsplice_hls_active{channel="demo",state="cut"}'), 1, 'nobody asks');
  t.ok((await value('airsplice_hls_rewind_bytes{channel="demo"}')) > 5 * 15_000);
});

t.test('the report of each channel says where its HLS comes from', async (t) => {
  const yaml = `${demoYaml(`${ADMIN_USERS}\n${HLS}`).replace('name: Studio\n', 'name: Studio\n        hls: { enabled: false }\n')}`;
  const server = await startServer(t, yaml);
  const admin = new AdminClient(server);
  const hlsOf = async (channel: string) => (await admin.get(`channels/${channel}`)).body.hls;
  await until(async () => (await hlsOf('demo')) === 'resting', 10_000);
  await until(async () => (await fetch(`${server.base}/demo/hls/live.m3u8`)).status === 200, 30_000);
  t.match(await hlsOf('demo'), /^(cut|copied)$/);
  t.equal(await hlsOf('studio'), null);
});
