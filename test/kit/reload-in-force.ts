/** Checks the configuration in force by clients' requests: channels, addresses, operators, history. */

import { readFileSync } from 'node:fs';
import { certificateAt, fingerprintOf, numberOf, request } from './reload-clients.js';
import { channelsOf, hashed } from './reload-config.js';
import { PATIENCE_MS, type PairsWorld, push, stationOf } from './reload-world.js';
import { until } from './until.js';

/** Checks a channel against its configuration, or its absence. */
export async function inForce(world: PairsWorld, key: string): Promise<void> {
  const channel = channelsOf(world.config).get(key);
  const path = (of: string) => `GET ${of} HTTP/1.1`;
  const expect = async (what: string, wanted: number, isWhole = true) => {
    const answer = await request(world.port, what, isWhole);
    if (answer.status !== wanted)
      throw new Error(`${what}: ${answer.status}, not ${wanted}: ${answer.body.slice(0, 200)}`);
    return answer;
  };
  const [tokens, passwords] = [world.state.tokens.get(key) ?? [], world.state.passwords.get(key) ?? []];
  const oldToken = tokens.find((each) => channel?.pushTokens.includes(hashed(each)) !== true);
  if (oldToken !== undefined) await expect(path(`/metapush/${key}/${oldToken}?song=never`), 403);
  if (channel === undefined) {
    await expect(path(`/${key}`), 404);
    await expect(path(`/metadata/channel/${key}.json`), 404);
    return;
  }
  await push(world, key, channel);
  const { body } = await expect(path(`/metadata/channel/${key}.json`), 200);
  const record = JSON.parse(body);
  const station = stationOf(world.config, key);
  const found = [record.channel, record.station, numberOf(record.song)];
  const wanted = [channel.name || key, station, world.lastTitle(key)];
  if (String(found) !== String(wanted)) throw new Error(`${key} shows ${found}, not ${wanted}`);
  if (channel.access === 'open' && world.air.get(key)!.onAir !== null && !world.air.get(key)!.isOpen) {
    for (const mount of [`/${key}`, ...channel.mounts]) {
      // A new source has not filled a segment yet, and one worker knows it a moment before the other.
      let answer = await request(world.port, `HEAD ${mount} HTTP/1.1`);
      await until(async () => {
        if (answer.status === 503) answer = await request(world.port, `HEAD ${mount} HTTP/1.1`);
        return answer.status !== 503;
      }, PATIENCE_MS);
      if (answer.status !== 200) throw new Error(`HEAD ${mount}: ${answer.status}`);
      const { headers } = answer;
      const [server, mark] = [world.config.top['streams']!['server'], world.config.top['streams']!['headers']];
      const heads = [headers.get('icy-name'), headers.get('icy-genre'), headers.get('server'), headers.get('x-mark')];
      const due = [
        channel.name || key,
        channel['genre'],
        server ?? 'airsplice',
        (mark as { 'X-Mark'?: string })?.['X-Mark'],
      ];
      if (String(heads) !== String(due)) throw new Error(`the head of ${mount}: ${heads}, not ${due}`);
    }
  }
  await expect(path(`/${key}/no-mount`), 404);
  const encoder = channel.sources.find(({ type }) => type === 'encoder');
  const oldPassword = passwords.find((each) => hashed(each) !== encoder?.['password']);
  if (oldPassword === undefined) return;
  const login = Buffer.from(`source:${oldPassword}`).toString('base64');
  const put = `PUT /${key} HTTP/1.1\r\nContent-Type: audio/mpeg\r\nAuthorization: Basic ${login}`;
  await expect(put, encoder === undefined ? 404 : 401, false);
}

/** Checks each address, and that removed ones are gone. */
export async function addresses(world: PairsWorld): Promise<void> {
  for (const address of world.config.addresses.slice(1)) {
    const port = address['port'] as number;
    const roles = address['roles'] as string[] | undefined;
    if ('tls' in address) {
      const { certFile } = address['tls'] as { certFile: string };
      const found = await certificateAt(port);
      if (found !== fingerprintOf(readFileSync(certFile))) throw new Error(`another certificate at ${port}`);
      continue;
    }
    const { status } = await request(port, 'GET /metadata/stations.json HTTP/1.1');
    const wanted = roles === undefined || roles.includes('poll') ? 200 : 404;
    if (status !== wanted) throw new Error(`an address with ${roles}: ${status}`);
  }
  for (const port of world.state.freePorts) {
    const status = await request(port, 'GET / HTTP/1.1').then(
      ({ status }) => status,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (status !== 'ECONNREFUSED') throw new Error(`somebody listens at ${port}: ${status}`);
  }
}

export async function operator(world: PairsWorld): Promise<void> {
  const [password, former] = world.state.adminPasswords;
  for (const [secret, wanted] of [
    [password, 200],
    [former, 401],
  ] as const) {
    if (secret === undefined) continue;
    const login = Buffer.from(`boss:${secret}`).toString('base64');
    const { status } = await request(world.port, `GET /admin/api/channels HTTP/1.1\r\nAuthorization: Basic ${login}`);
    if (status !== wanted) throw new Error(`an operator with ${secret}: ${status}`);
  }
}

/** Checks that the last accepted titles of each channel are in its history. */
export async function history(world: PairsWorld): Promise<void> {
  for (const key of channelsOf(world.config).keys()) {
    const numbers = world.accepted.get(key) ?? [];
    const { body } = await request(world.port, `GET /metadata/channel/${key}/history.json?limit=500 HTTP/1.1`);
    const kept = new Set((JSON.parse(body) as { song: string }[]).map(({ song }) => numberOf(song)));
    const lost = numbers.filter((number) => !kept.has(number));
    if (lost.length > 0) throw new Error(`${key} has lost the titles ${lost}`);
  }
}
