/** The client that orval makes, for fetch. Its answers are told apart by their status. */

import {
  adminChannel,
  adminClear,
  adminMakeToken,
  adminRevokeToken,
  adminSelf,
  type Problem,
  pollChannelJson,
  pollChannelTxt,
  pollStation,
  pushPostBearer,
  type Source,
  stations,
} from './generated/orval.js';
import { server } from './orval-server.js';
import { type Credentials, type Story, there } from './story.js';

interface Answer {
  readonly status: number;
  readonly data: unknown;
}

/** What came with this status. @throws Error where it came with another */
function of<A extends Answer, S extends A['status']>(answer: A, status: S): Extract<A, { status: S }>['data'] {
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.data)}`);
  return answer.data as Extract<A, { status: S }>['data'];
}

export async function story(base: string, { password, readerToken }: Credentials): Promise<Story> {
  server.origin = base;
  const admin = { headers: { Authorization: `Basic ${btoa(password)}` } };
  const reader = { headers: { Authorization: `Bearer ${readerToken}` } };

  const user = of(await adminSelf(admin), 200);
  const channel = of(await adminChannel('demo', admin), 200);
  const sources: Source[] = channel.sources;
  const made = of(await adminMakeToken('demo', { name: 'orval' }, admin), 201);

  // It names no content type where there are several.
  const headers = { Authorization: `Bearer ${made.token}`, 'Content-Type': 'application/json' };
  const push = () => pushPostBearer('demo', { artist: 'Generated', song: 'orval', duration: 60 }, { headers });
  const pushed = of(await push(), 200);
  const now = of(await pollChannelJson('demo'), 200);
  const text = of(await pollChannelTxt('demo'), 200);
  const station = of(await pollStation('demo', { type: 'all' }), 200);
  const [first] = of(await stations(), 200);

  const revoked = await adminRevokeToken(made.id, admin);
  const again = await push();
  const notAllowed = await adminClear('demo', reader);
  const refusals: [number, Problem][] = [
    [again.status, of(again, 403)],
    [notAllowed.status, of(notAllowed, 403)],
  ];

  // @ts-expect-error: there is no such value
  const wrongQuery = () => pollStation('demo', { type: 'soon' });
  // @ts-expect-error: a song is a text
  const wrongBody = () => pushPostBearer('demo', { song: 1 });
  // @ts-expect-error: nor is a record's duration one
  const wrongAnswer: string = now.duration;
  void [wrongQuery, wrongBody, wrongAnswer];

  return {
    user,
    sources: sources.map(({ kind }) => kind),
    pushed,
    now,
    text,
    station: station.map(({ channelkey }) => channelkey),
    channels: there(first, 'station').channels,
    revoked: revoked.status,
    refused: refusals.map(([status, { type, detail }]) => ({ status, type, detail })),
  };
}
