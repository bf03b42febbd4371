/**
 * Reads a station as node-internet-radio 0.2.1 does in each of its modes. The package is abandoned and depends on `request`, so its requests and
 * its demands on answers are reproduced here.
 *
 *   SHOUTCAST_V1   GET {url}/7.html, as a Mozilla of 2008  the type is exactly text/html  split at the commas; the 7th may be more
 *   SHOUTCAST_V2   GET /statistics                         any type                       the only STREAM, else the one whose SERVERURL is {url}
 *   ICECAST        GET /status-json.xsl                    the type is exactly text/xml   JSON: of several sources, the one whose listenurl is {url}
 *   STREAM         GET {url} as HTTP/1.0, Icy-Metadata: 1  not text/html                  the first StreamTitle= up to a semicolon
 *
 * Its only other headers are Host and Connection. Without a mode it tries them in this order, and uses the first that finds a station.
 */

import net from 'node:net';
import { request } from 'undici';
import { until } from './until.js';

export type RadioMode = 'SHOUTCAST_V1' | 'SHOUTCAST_V2' | 'ICECAST' | 'STREAM';

export interface Station {
  readonly title: string;
  readonly fetchsource: RadioMode;
  readonly listeners?: string | number | undefined;
  readonly bitrate?: string | number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

const MOZILLA = 'Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US; rv:1.8.1.13) Gecko/20080311 Firefox/2.0.0.13';

const READERS: Readonly<Record<RadioMode, (url: string) => Promise<Station>>> = {
  SHOUTCAST_V1: async (url) => {
    const body = await get(`${url}/7.html`, 'text/html', { 'user-agent': MOZILLA });
    const [listeners, , , , , bitrate, ...title] = /<body>(.*)<\/body>/im.exec(body)![1]!.split(',');
    if (title.join(',') === '') throw new Error('Unable to determine current station information.');
    return { listeners, bitrate, title: title.join(','), fetchsource: 'SHOUTCAST_V1' };
  },
  SHOUTCAST_V2: async (url) => {
    const body = await get(new URL('/statistics', url).href);
    const streams = [...body.matchAll(/<STREAM id="\d+">(.*?)<\/STREAM>/g)].map(([, members]) => membersOf(members!));
    const stream = streams.length === 1 ? streams[0] : streams.findLast(({ SERVERURL }) => SERVERURL === url);
    if (stream === undefined) throw new Error('not found');
    const { CURRENTLISTENERS: listeners, BITRATE: bitrate, SONGTITLE: title } = stream;
    return { listeners, bitrate, title: title!, fetchsource: 'SHOUTCAST_V2' };
  },
  ICECAST: async (url) => {
    const { icestats } = JSON.parse(await get(new URL('/status-json.xsl', url).href, 'text/xml'));
    for (let i = 0; i < icestats.source.length; i++) {
      const { listenurl, listeners, bitrate, title } = icestats.source[i];
      if (listenurl === url) return { listeners, bitrate, title, fetchsource: 'ICECAST' };
    }
    throw new Error('Unable to determine current station information.');
  },
  STREAM: readStream,
};

/** Rejects if that mode finds no station. */
export async function stationInfo(url: string, mode?: RadioMode): Promise<Station> {
  if (mode !== undefined) return READERS[mode](url);
  for (const reader of Object.values(READERS)) {
    const station = await reader(url).catch(() => null);
    if (station !== null) return station;
  }
  throw new Error(`no station at ${url}`);
}

async function get(url: string, type?: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await request(url, { headers });
  const body = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error('HTTP error.');
  const got = answer.headers['content-type'];
  if (type !== undefined && got !== type) throw new Error(`Not valid metadata: ${got}`);
  return body;
}

/** Its XML parser returns texts without the references in them. */
function membersOf(xml: string): Record<string, string> {
  const read = (text: string) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  return Object.fromEntries([...xml.matchAll(/<(\w+)>([^<]*)<\/\1>/g)].map(([, name, text]) => [name!, read(text!)]));
}

async function readStream(url: string): Promise<Station> {
  const { hostname, port, pathname } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  let got = '';
  socket.setEncoding('utf8').on('data', (text) => {
    got += text;
  });
  socket.on('error', () => undefined);
  socket.write(
    `GET ${pathname} HTTP/1.0\r\nIcy-Metadata: 1\r\nUser-Agent: node-internet-radio v0.2.1\r\nhost: ${hostname}\r\n\r\n\r\n`,
  );
  try {
    await until(
      () => /StreamTitle=[^;]*;/.test(got),
      5000,
      () => 'timed out',
    );
    if (got.length > 100_000) throw new Error('Error fetching stream');
    const title = /StreamTitle=([^;]*);/.exec(got)![1]!.slice(1, -1);
    const lines = got
      .split('\n')
      .filter((line) => (line.includes('icy') && line.includes(':')) || /content-type/i.test(line));
    const pairs = lines.map((line) => line.trim().split(':')).filter((pair) => pair.length === 2);
    const headers = Object.fromEntries(pairs.map(([name, value]) => [name!.toLowerCase(), value!.trim()]));
    return { title, fetchsource: 'STREAM', headers };
  } finally {
    socket.destroy();
  }
}
