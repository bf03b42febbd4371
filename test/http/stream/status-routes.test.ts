/** Statistics for tools: in the shape of Debian's Icecast, which runs beside us, and of SHOUTcast; hostile titles and hosts. */

import t, { type Test } from 'tap';
import { feed, ICECAST_PASSWORD, noIcecast, startIcecast } from '../../kit/icecast.js';
import { Player } from '../../kit/player.js';
import { demoYaml, startServer } from '../../kit/server.js';
import { until, untilPromised } from '../../kit/until.js';
import { ask, ENDS_MS, Wire } from '../../kit/wire.js';

// They wait more than they compute.
t.jobs = 4;

const ENCODER = '[{ type: encoder, password: demo-source }]';
const TWO = `
addresses: [{ host: 127.0.0.1, port: 0 }]
stations:
  s:
    channels:
      first: { name: 'Näme "1" <&>', genre: Pop, url: 'http://x.example/', description: One, mounts: [/one.mp3, /uno], bitrateKbps: 128, sources: ${ENCODER} }
      two: { name: Two, sources: ${ENCODER} }
`;
/** Of the demo's audio. */
const INFO = 'bitrate=128;samplerate=44100;channels=2';
const HEADS =
  'Ice-Name: Name\r\nIce-Genre: Pop\r\nIce-Url: http://x.example/\r\nIce-Description: One\r\nIce-Bitrate: 128\r\n';

/** What each member is; an Icecast value is compared by its type. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into what they expect
async function status(t: Test, port: number, query = '', host = 'x'): Promise<any> {
  const wire = new Wire(t, port).send(
    `GET /status-json.xsl${query} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  );
  await untilPromised(() => wire.ended, ENDS_MS);
  return JSON.parse(Buffer.from(wire.got.slice(wire.got.indexOf('\r\n\r\n') + 4), 'latin1').toString()).icestats;
}

t.test('status-json.xsl for none, one and two, as Icecast gives it', { skip: noIcecast }, async (t) => {
  const [icecast, { port }] = await Promise.all([startIcecast(t), startServer(t, TWO)]);
  const title = async () => {
    for (const [at, login] of [
      [icecast, `admin:${ICECAST_PASSWORD}`],
      [port, `source:${ICECAST_PASSWORD}`],
    ] as const) {
      const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
      const query = `mode=updinfo&mount=/one.mp3&charset=UTF-8&song=${encodeURIComponent('Ärtist - "Song" <b> \\ 7')}`;
      const answer = await fetch(`http://127.0.0.1:${at}/admin/metadata?${query}`, { headers: { authorization } });
      t.equal(answer.status, 200);
    }
  };
  const compare = async (what: string, query = '') => {
    const [theirs, ours] = [await status(t, icecast, query), await status(t, port, query, `127.0.0.1:${icecast}`)];
    // Ours, and what neither encoder nor we were given.
    const bare = (source: Record<string, unknown>) => {
      const ours = ['connections', 'typical_lag', 'audio_info', 'bitrate', 'ice-bitrate', 'channels', 'samplerate'];
      return Object.fromEntries(Object.entries(source).filter(([name]) => !ours.includes(name)));
    };
    const both = [theirs, ours].map((icestats) => {
      const { source } = icestats;
      return { ...icestats, ...(source && { source: Array.isArray(source) ? source.map(bare) : bare(source) }) };
    });
    t.strictSame(shapeOf(both[1]), shapeOf(both[0]), what);
    t.strictSame(Object.keys(both[1]), Object.keys(both[0]), `${what}: in the same order`);
    const [theirSources, ourSources] = both.map(({ source }) => [source ?? []].flat());
    for (const [i, source] of ourSources!.entries()) {
      t.strictSame(Object.keys(source), Object.keys(theirSources![i]), `${what}: members in the same order`);
      for (const name of ['listenurl', 'listeners', 'server_type', 'title', 'dummy']) {
        t.same(source[name], theirSources![i][name], `${what}: ${name}`);
      }
    }
    const form = (time: string) => time.replace(/[A-Z][a-z]{2}\b/g, 'Xxx').replace(/\d/g, '9');
    for (const name of ['server_start', 'server_start_iso8601']) t.equal(form(ours[name]), form(theirs[name]), name);
  };
  await compare('none');
  for (const at of [icecast, port]) await feed(t, at, '/one.mp3', HEADS);
  await until(async () => (await status(t, port)).source !== undefined, 5000);
  await title();
  await until(async () => 'dummy' in ((await status(t, icecast)).source ?? {}), 5000);
  for (const at of [icecast, port]) await until(async () => (await status(t, at)).source.title !== undefined, 5000);
  await compare('one');
  const players = [icecast, port].map((at) => new Player(at, '/one.mp3'));
  for (const player of players) await player.until((p) => p.audioBytes > 0);
  for (const at of [icecast, port]) await until(async () => (await status(t, at)).source.listeners === 1, 5000);
  await compare('one with a listener');
  const rich = 'Ice-Name: Two\r\nIce-Genre: various\r\nIce-Description: d\r\n';
  for (const at of [icecast, port]) await feed(t, at, '/two', rich);
  // Icecast lists a source member by member, as it comes to know them; `dummy` stands for its counters, the last ones.
  const areTwo = ({ source }: { source: { stream_start_iso8601?: string; server_type?: string; dummy?: null }[] }) =>
    source.length === 2 &&
    source.every((one) => one.stream_start_iso8601 !== undefined && one.server_type !== undefined && 'dummy' in one);
  for (const at of [icecast, port]) await until(async () => areTwo(await status(t, at)), 15_000);
  await compare('two');
  await compare('two, one asked for', '?mount=/two');
  await compare('two, one asked for that is not there', '?mount=/none');
  for (const player of players) player.close();
});

t.test('status-json.xsl: figures, mounts, hosts, headers', async (t) => {
  const { port } = await startServer(t, demoYaml(`      quiet: { sources: ${ENCODER} }\n`));
  const headers = ['metaid=a', 'metaid=a', 'metaid=b'].map((query) => new Player(port, `/demo.mp3?${query}`));
  for (const player of headers) await player.until((p) => p.audioBytes > 0);
  const answer = await ask(t, port, 'GET /status-json.xsl HTTP/1.1\nAccept: */*');
  t.equal(answer.headers.get('content-type'), 'application/json');
  for (const [more, type] of [
    ['\nUser-Agent: x', 'application/json'],
    ['', 'text/xml'],
  ] as const) {
    const other = await ask(t, port, `GET /status-json.xsl HTTP/1.1${more}`);
    t.equal(other.headers.get('content-type'), type, more);
    t.equal(other.body, answer.body);
  }
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
  const { source } = answer.json().icestats;
  t.same(
    source.map(({ listenurl }: { listenurl: string }) => listenurl),
    ['http://x/demo.mp3', 'http://x/studio.mp3'],
    'by the configured mount; what is off air is not there',
  );
  t.match(source[0], { listeners: 2, listener_peak: 2, connections: 3, bitrate: 128, audio_info: INFO });
  t.equal('title' in source[0], false);
  t.equal(
    new Date(source[0].stream_start).getTime(),
    new Date(source[0].stream_start_iso8601.replace('+0000', 'Z')).getTime(),
  );
  for (const player of headers) player.close();
  await until(async () => (await status(t, port)).source[0].connections === 0, 5000);
  t.match((await status(t, port)).source[0], { listeners: 0, listener_peak: 2 });
  t.match(
    (await status(t, port, '?mount=/demo')).source,
    { listenurl: 'http://x/demo', server_name: 'Demo Channel' },
    'by any mount',
  );
  t.equal((await status(t, port, '?mount=/quiet')).source, undefined);
  const head = await ask(t, port, 'HEAD /status-json.xsl HTTP/1.1');
  t.equal(head.status, 200);
  t.equal(head.body, '');
});

t.test('7.html as SHOUTcast v1 gives it', async (t) => {
  const yaml = demoYaml(`      quiet: { maxListeners: 7, sources: ${ENCODER} }\n`);
  const { port, base } = await startServer(t, yaml);
  const players = [1, 2].map(() => new Player(port, '/demo.mp3'));
  for (const player of players) await player.until((p) => p.audioBytes > 0);
  await fetch(`${base}/metapush/demo/demo-token?artist=A%2C+B&song=${encodeURIComponent(`Don't <b>"x"</body> & y`)}`);
  const page = async (query: string) => {
    const answer = await ask(t, port, `GET /7.html${query} HTTP/1.0\nUser-Agent: Mozilla`);
    t.equal(answer.headers.get('content-type'), 'text/html');
    return answer.body;
  };
  const wrapped = (text: string) =>
    `<HTML><meta http-equiv="Pragma" content="no-cache"></head><body>${text}</body></html>`;
  const song = `A, B - Don't &lt;b&gt;"x"&lt;/body&gt; &amp; y`;
  const demo = wrapped(`2,1,2,20000,1,128,${song}`);
  for (const query of [
    '',
    '?sid=1',
    '?mount=/demo.mp3',
    '?mount=//de%256do.mp3',
    '?mount=http://elsewhere/demo',
    '?mount=demo',
    '?sid=',
  ])
    t.equal(await page(query), demo, query);
  t.equal(await page('?sid=2'), wrapped('0,1,0,20000,0,128,'));
  t.equal(await page('?sid=3'), wrapped('0,0,0,7,0,0,'), 'off air');
  // As BUTT and every script reads it.
  const [listeners, isUp, peak, most, unique, kbps, ...titles] = /<body>(.*)<\/body>/i
    .exec(await page(''))![1]!
    .split(',');
  t.same([listeners, isUp, peak, most, unique, kbps], ['2', '1', '2', '20000', '1', '128']);
  t.equal(titles.join(','), song);
  for (const query of ['?sid=4', '?sid=0', '?sid=-1', '?sid=x', '?sid=1.5', '?mount=/none', '?mount=']) {
    t.equal((await ask(t, port, `GET /7.html${query} HTTP/1.1`)).status, 404, query);
  }
  for (const player of players) player.close();
});

/** Names and texts of the elements that hold nothing but text, in order. */
function leaves(xml: string): [name: string, text: string][] {
  return [...xml.matchAll(/<(\w+)[^<>]*>([^<>]*)<\/\1>/g)].map(([, name, text]) => [name!, text!]);
}

t.test('SHOUTcast v2: one stream, all streams, the following title, as XML and as JSON', async (t) => {
  const { port, base } = await startServer(t, demoYaml(`      quiet: { genre: 'A & B', sources: ${ENCODER} }\n`));
  const player = new Player(port, '/demo.mp3');
  await player.until((p) => p.audioBytes > 0);
  const song = `Don't <b>"x"</STREAMSTATS> & y`;
  await fetch(`${base}/metapush/demo/demo-token?song=${encodeURIComponent(song)}`);
  await fetch(`${base}/metapush/demo/demo-token?tracktype=next&artist=C&song=%3Cnext%3E`);
  const get = async (path: string, type: string) => {
    const answer = await ask(t, port, `GET ${path} HTTP/1.1`);
    t.same([answer.status, answer.headers.get('content-type')], [200, type], path);
    return answer;
  };
  const json = (await get('/stats?sid=1&json=1', 'application/json')).json();
  t.match(json, {
    currentlisteners: 1,
    peaklisteners: 1,
    maxlisteners: 20_000,
    uniquelisteners: 1,
    servertitle: 'Demo Channel',
    serverurl: 'http://x/demo.mp3',
    songtitle: song,
    nexttitle: 'C - <next>',
    streamstatus: 1,
    streampath: '/demo.mp3',
    bitrate: '128',
    samplerate: '44100',
    content: 'audio/mpeg',
  });
  t.same((await get('/stats?json=1', 'application/json')).json().songtitle, song, 'the first without sid');
  t.equal((await get('/stats?sid=2&json=1', 'application/json')).json().servertitle, 'Studio');
  t.match((await get('/stats?mount=/quiet&json=1', 'application/json')).json(), { streamstatus: 0, streamuptime: 0 });

  const xml = (await get('/stats?sid=1', 'text/xml')).body;
  t.ok(xml.startsWith('<?xml version="1.0" encoding="UTF-8" standalone="yes" ?><SHOUTCASTSERVER><CURRENTLISTENERS>1<'));
  const texts = leaves(xml);
  t.same(
    texts.map(([name]) => name.toLowerCase()),
    Object.keys(json),
    'the same members in the same order',
  );
  const escaped = `Don't &lt;b&gt;"x"&lt;/STREAMSTATS&gt; &amp; y`;
  t.equal(new Map(texts).get('SONGTITLE'), escaped);
  t.notOk(xml.includes('<STREAMSTATS>'));
  const both = (await get('/stats', 'text/xml')).body;
  t.match(
    both,
    /^[^>]*><SHOUTCASTSERVER><CURRENTLISTENERS>1<.*<STREAMSTATS><TOTALSTREAMS>3<.*<\/STREAMSTATS><\/SHOUTCASTSERVER>$/,
  );

  const all = (await get('/statistics', 'text/xml')).body;
  t.same(
    [...all.matchAll(/<STREAM id="(\d+)">/g)].map(([, id]) => id),
    ['1', '2', '3'],
  );
  t.ok(all.includes('<SERVERGENRE>A &amp; B</SERVERGENRE>'));
  const allJson = (await get('/statistics?json=1', 'application/json')).json();
  t.match(allJson, {
    totalstreams: 3,
    activestreams: 2,
    currentlisteners: 1,
    streams: [{ id: 1, songtitle: song }, { id: 2 }, { id: 3 }],
  });

  const next = (await get('/nextsongs', 'text/xml')).body;
  t.ok(next.endsWith('<NEXTSONGS><TITLE seq="1">C - &lt;next&gt;</TITLE></NEXTSONGS></SHOUTCASTSERVER>'));
  t.ok((await get('/nextsongs?sid=2', 'text/xml')).body.includes('<NEXTSONGS></NEXTSONGS>'));
  for (const path of ['/stats', '/nextsongs']) {
    for (const query of ['?sid=4', '?sid=0', '?sid=x', '?mount=/none']) {
      t.equal((await ask(t, port, `GET ${path}${query} HTTP/1.1`)).status, 404, `${path}${query}`);
    }
  }
  player.close();
});

t.test('publicstats: what status-json.xsl says, as XML', async (t) => {
  const { port, base } = await startServer(t, TWO);
  const sources = async (query = '') => (await ask(t, port, `GET /admin/publicstats${query} HTTP/1.1`)).body;
  t.match(await sources(), /^<\?xml [^>]+\?>\n<icestats><admin><\/admin><host>x<\/host>/);
  t.notOk((await sources()).includes('<source'), 'nothing is on air');
  await feed(t, port, '/one.mp3', HEADS);
  await feed(t, port, '/two');
  await until(async () => (await sources()).match(/<source mount=/g)?.length === 2, 5000);
  const [xml, icestats] = [await sources(), await status(t, port)];
  for (const [i, [, mount, members]] of [...xml.matchAll(/<source mount="([^"]*)">(.*?)<\/source>/g)].entries()) {
    const { dummy: _, ...source } = icestats.source[i];
    t.equal(`http://x${mount}`, source.listenurl);
    t.same(
      leaves(members!).map(([name]) => name),
      Object.keys(source),
      'the same members in the same order',
    );
  }
  t.ok(xml.includes('<server_name>Näme "1" &lt;&amp;&gt;</server_name>'));
  t.ok((await sources('?mount=/uno')).includes('<source mount="/uno">'), 'by any mount');
  t.ok((await sources('?mount=//%2575no')).includes('<source mount="/uno">'), 'written in another way');
  t.notOk((await sources('?mount=/none')).includes('<source'));
  const json = await (await fetch(`${base}/admin/publicstats.json?mount=/uno`)).json();
  t.same(json, await (await fetch(`${base}/status-json.xsl?mount=/uno`)).json());
  for (const form of ['.xml', '.xsl'])
    t.match(await (await fetch(`${base}/admin/publicstats${form}`)).text(), /^<\?xml .*\?>\n<icestats>/, form);
  const answer = await fetch(`${base}/admin/publicstats`);
  t.equal(answer.headers.get('content-type'), 'text/xml');
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
});

t.test('each client gets the URL by which it came, from one rendering', async (t) => {
  const { port } = await startServer(t, demoYaml());
  await until(async () => (await status(t, port)).source?.length === 2, 5000);
  for (const path of ['/status-json.xsl', '/admin/publicstats', '/statistics', '/statistics?json=1']) {
    for (const host of ['one.example', 'two.example:8000', '[::1]:9']) {
      const wire = new Wire(t, port).send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      await untilPromised(() => wire.ended, ENDS_MS);
      t.ok(wire.got.includes(`http://${host}/demo.mp3`), `${path} at ${host}`);
      t.notMatch(Buffer.from(wire.got, 'latin1').toString(), /[\ufdd0\ufdd1]/);
    }
  }
});

t.test('hostile titles stay texts', async (t) => {
  const { port, base } = await startServer(t, demoYaml());
  const hostile = [
    '"},"x":{"',
    '</body><script>alert(1)</script>',
    ']]>&lt;',
    '\u2028\u202e\ufffe\ud800',
    "'); DROP",
    '7',
    '💿',
  ];
  for (const song of hostile) {
    const push = await fetch(`${base}/metapush/demo/demo-token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ song, artist: '', duration: 1 }),
    });
    t.equal(push.status, 200, `title ${hostile.indexOf(song)}`);
    const { rawdata } = (await ask(t, port, 'GET /metadata/channel/demo.json HTTP/1.1')).json();
    t.equal((await status(t, port, '?mount=/demo')).source.title, rawdata || undefined, 'always a string');
    const body = (await (await fetch(`${base}/7.html`)).text()).replace(/^<HTML>.*?<body>/, '');
    t.match(body, /^\d+,1,[\d,]+,[^<>]*<\/body><\/html>$/);
  }
});

t.test('an on-demand channel is there before a client listens', async (t) => {
  const yaml = demoYaml().replace(
    /sources: \[\{ type: file, path: \S+ \}\]/,
    `sources: [{ type: pull, url: 'http://127.0.0.1:9/x', onDemand: true }]`,
  );
  const { port } = await startServer(t, yaml);
  t.match((await status(t, port, '?mount=/demo')).source, { listeners: 0, listenurl: 'http://x/demo' });
  t.equal('stream_start' in (await status(t, port, '?mount=/demo')).source, false);
});
