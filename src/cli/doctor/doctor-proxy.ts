/**
 * Checks what is in front of the server, from outside: whether streams, events and WebSockets get through without delay, and whether the server
 * knows its clients' addresses.
 */

import { KEY } from '../../base/key.js';
import type { LoadedConfig } from '../../config/load.js';
import { answerOf, ask, opensWebSocket, readJson, type WholeAnswer } from '../server.js';
import { type DoctorFinding, Findings } from './finding.js';

/** How long a stream is read: the server writes to a new listener each second. */
const LISTEN_MS = 5000;
/** The limits of the time from the request to the first audio, and of gaps. */
const FIRST_MS = 1000;
const GAP_MS = 3000;
const OPEN_MS = 3000;

const UNBUFFERED = 'proxy_buffering off (nginx), flush_interval -1 (Caddy)';
const UPGRADES =
  'proxy_http_version 1.1 with the headers Upgrade and Connection (nginx); HAProxy and Caddy forward them by default';

/** @param url that listeners use @param config null: unknown */
export async function proxyFindings(
  url: string,
  config: LoadedConfig | null,
  signal: AbortSignal,
): Promise<DoctorFinding[]> {
  const findings = new Findings('outside');
  let stations: WholeAnswer;
  try {
    stations = await answerOf(`${url}/metadata/stations.json`, signal);
  } catch (error) {
    findings.bad((error as Error).message, 'check the name, the firewall and the proxy; is the server running?');
    return findings.all;
  }
  const channels = channelsOf(stations);
  if (channels === null) {
    findings.bad(
      `${url} answers ${stations.status} for /metadata/stations.json, without a list of stations`,
      'the proxy must forward all paths unchanged',
    );
    return findings.all;
  }
  if (config !== null) await checkTrust(url, stations, config, findings, signal);
  const channel = channels.find((each) => each?.onair === true)?.channelkey;
  if (typeof channel !== 'string' || !KEY.test(channel)) {
    findings.note('no channel is on air: streams were not checked', 'start a source and repeat the check');
    return findings.all;
  }
  await Promise.all([
    checkStream(`${url}/${channel}`, findings, signal),
    checkEvents(`${url}/metadata/sse/channel/${channel}`, findings, signal),
    checkWebSocket(`${url}/metadata/channel/${channel}`, findings, signal),
  ]);
  return findings.all;
}

interface ListedChannel {
  readonly channelkey?: unknown;
  readonly onair?: unknown;
}

/** The channels that a server lists; null: the answer is not a list of stations. */
function channelsOf({ status, text }: WholeAnswer): readonly (ListedChannel | null)[] | null {
  const stations = status === 200 ? readJson(text) : null;
  return Array.isArray(stations) ? stations.flatMap((station) => station?.channels ?? []) : null;
}

async function checkStream(url: string, findings: Findings, stop: AbortSignal): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([stop, done.signal, AbortSignal.timeout(LISTEN_MS)]);
  const beganMs = performance.now();
  let [firstMs, lastMs, gapMs, status] = [0, beganMs, 0, 0];
  try {
    const { statusCode, body } = await ask(url, { signal, headers: { 'icy-metadata': '1' } });
    status = statusCode;
    if (status !== 200)
      return void findings.bad(`${url} answers ${status}`, 'listeners must receive the stream at this URL');
    for await (const _ of body) {
      const nowMs = performance.now();
      if (firstMs === 0) firstMs = nowMs - beganMs;
      else gapMs = Math.max(gapMs, nowMs - lastMs);
      lastMs = nowMs;
    }
    findings.bad(
      `${url} ends after ${seconds(lastMs - beganMs)}`,
      'the proxy must not limit the duration of a response',
    );
  } catch {
    // LISTEN_MS have passed, or the proxy has ended the stream.
    if (stop.aborted) return;
    if (firstMs === 0) {
      findings.bad(`${url} sends no audio within ${seconds(LISTEN_MS)}: something on the way buffers it`, UNBUFFERED);
      return;
    }
    const text = `a stream begins after ${seconds(firstMs)}, and never pauses for more than ${seconds(Math.max(gapMs, performance.now() - lastMs))}`;
    if (gapMs > GAP_MS || firstMs > FIRST_MS || performance.now() - lastMs > GAP_MS) {
      findings.bad(`${text}: something on the way buffers it`, UNBUFFERED);
    } else findings.good(text);
  } finally {
    done.abort();
  }
}

async function checkEvents(url: string, findings: Findings, stop: AbortSignal): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([stop, done.signal, AbortSignal.timeout(OPEN_MS)]);
  try {
    const { statusCode, headers, body } = await ask(url, { signal });
    if (statusCode !== 200 || !String(headers['content-type']).startsWith('text/event-stream'))
      return void findings.bad(
        `the URL for events (SSE) answers ${statusCode}`,
        'the proxy must forward /metadata/ unchanged',
      );
    // The first bytes come at once.
    for await (const _ of body) return void findings.good('events (SSE) get through at once');
    findings.bad('events (SSE) end at once', UNBUFFERED);
  } catch {
    if (!stop.aborted) findings.bad(`events (SSE) are delayed: none within ${seconds(OPEN_MS)}`, UNBUFFERED);
  } finally {
    done.abort();
  }
}

async function checkWebSocket(url: string, findings: Findings, stop: AbortSignal): Promise<void> {
  const opens = await opensWebSocket(url.replace(/^http/, 'ws'), AbortSignal.any([stop, AbortSignal.timeout(OPEN_MS)]));
  if (opens) findings.good('WebSockets get through');
  else findings.bad('WebSockets do not get through', UPGRADES);
}

/** Whether a proxy is in front, and if so, whether the server knows its clients' addresses. */
async function checkTrust(
  url: string,
  { headers }: WholeAnswer,
  { addresses, proxies, streams }: LoadedConfig,
  findings: Findings,
  signal: AbortSignal,
): Promise<void> {
  const { port, protocol } = new URL(url);
  const publicPort = Number(port || (protocol === 'https:' ? 443 : 80));
  // Not all our responses have the header.
  const isOther = (headers['server'] ?? streams.server) !== streams.server || headers['via'] !== undefined;
  if (!isOther && addresses.some((address) => address.port === publicPort)) {
    findings.good('no proxy is in front of the server');
    return;
  }
  // An address without roles answers this to its own machine only, and a proxy on that machine looks like it.
  const metrics = await answerOf(`${url}/metrics`, signal).catch(() => null);
  if (metrics?.status === 200)
    findings.bad(
      `${url}/metrics is open to everyone`,
      'let the proxy set X-Forwarded-For, and list the roles of the address behind it, without ops',
    );
  if (addresses.some(({ proxyProtocol }) => proxyProtocol === true))
    findings.good('a proxy is in front, and passes client addresses by the PROXY protocol');
  else if (proxies.trusted.length === 0)
    findings.bad(
      'a proxy is in front, but is not trusted: all listeners appear to share one address, and its limits',
      'add its address to proxies.trusted, and let it set X-Forwarded-For (proxy_set_header X-Forwarded-For $remote_addr)',
    );
  else if (metrics?.status !== 200) findings.good('a proxy is in front, and proxies.trusted has an entry');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
