/** The client that @hey-api/openapi-ts makes. */

import { createClient } from './generated/hey-api/client';
import {
  adminChannel,
  adminClear,
  adminMakeToken,
  adminRevokeToken,
  adminSelf,
  pollChannelJson,
  pollChannelTxt,
  pollStation,
  pushPostBearer,
  type Source,
  stations,
} from './generated/hey-api/index';
import { type Credentials, type Story, there } from './story.js';

export async function story(base: string, { password, readerToken }: Credentials): Promise<Story> {
  const open = createClient({ baseUrl: base });
  // It asks for what each way of the document needs.
  const admin = createClient({ baseUrl: base, auth: ({ scheme }) => (scheme === 'basic' ? password : undefined) });
  const reader = createClient({ baseUrl: base, auth: ({ scheme }) => (scheme === 'bearer' ? readerToken : undefined) });
  const path = { channelkey: 'demo' };

  const user = there((await adminSelf({ client: admin })).data, 'user');
  const channel = there((await adminChannel({ client: admin, path })).data, 'channel');
  const sources: Source[] = channel.sources;
  const { data } = await adminMakeToken({ client: admin, path, body: { name: 'hey-api' } });
  const made = there(data, 'token');

  const push = () =>
    pushPostBearer({
      client: open,
      auth: () => made.token,
      path,
      body: { artist: 'Generated', song: 'hey-api', duration: 60 },
    });
  const pushed = there((await push()).data, 'answer to a push');
  const { data: now } = await pollChannelJson({ client: open, path });
  const { data: text } = await pollChannelTxt({ client: open, path });
  // Of 204 it is void.
  if (!now || !text) throw new Error('no record');
  const station = await pollStation({ client: open, path: { stationkey: 'demo' }, query: { type: 'all' } });
  const [first] = there((await stations({ client: open })).data, 'stations');

  const revoked = await adminRevokeToken({ client: admin, path: { id: made.id } });
  const again = await push();
  const notAllowed = await adminClear({ client: reader, path });
  const refusals = [again, notAllowed].map(({ response, error }) => {
    const { type, detail } = there(error, 'refusal');
    return { status: there(response, 'answer').status, type, detail };
  });

  // @ts-expect-error: there is no such parameter
  const wrongPath = () => pollChannelJson({ client: open, path: { planet: 'demo' } });
  // @ts-expect-error: a song is a text
  const wrongBody = () => pushPostBearer({ client: open, path, body: { song: 1 } });
  // @ts-expect-error: nor is a record's duration one
  const wrongAnswer: string = now.duration;
  void [wrongPath, wrongBody, wrongAnswer];

  return {
    user,
    sources: sources.map(({ kind }) => kind),
    pushed,
    now,
    text,
    station: there(station.data, 'station').map(({ channelkey }) => channelkey),
    channels: there(first, 'station').channels,
    revoked: there(revoked.response, 'answer').status,
    refused: refusals,
  };
}
