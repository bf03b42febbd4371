/** The client that openapi-typescript makes, with openapi-fetch. */

import createClient from 'openapi-fetch';
import type { components, paths } from './generated/openapi-typescript.js';
import { type Credentials, type Story, there } from './story.js';

type Source = components['schemas']['Source'];

export async function story(base: string, { password, readerToken }: Credentials): Promise<Story> {
  const open = createClient<paths>({ baseUrl: base });
  const admin = createClient<paths>({ baseUrl: base, headers: { Authorization: `Basic ${btoa(password)}` } });
  const reader = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${readerToken}` } });
  const path = { channelkey: 'demo' };

  const user = there((await admin.GET('/admin/api/self')).data, 'user');
  const channel = there((await admin.GET('/admin/api/channels/{channelkey}', { params: { path } })).data, 'channel');
  const sources: Source[] = channel.sources;
  const { data } = await admin.POST('/admin/api/channels/{channelkey}/tokens', {
    params: { path },
    body: { name: 'openapi-typescript' },
  });
  const made = there(data, 'token');

  const push = () =>
    open.POST('/metapush/{channelkey}', {
      params: { path },
      headers: { Authorization: `Bearer ${made.token}` },
      body: { artist: 'Generated', song: 'openapi-typescript', duration: 60 },
    });
  const pushed = there((await push()).data, 'answer to a push');
  const now = there((await open.GET('/metadata/channel/{channelkey}.json', { params: { path } })).data, 'record');
  const text = await open.GET('/metadata/channel/{channelkey}.txt', { params: { path }, parseAs: 'text' });
  const station = await open.GET('/metadata/station/{stationkey}.json', {
    params: { path: { stationkey: 'demo' }, query: { type: 'all' } },
  });
  const [first] = there((await open.GET('/metadata/stations.json')).data, 'stations');

  const revoked = await admin.DELETE('/admin/api/tokens/{id}', { params: { path: { id: made.id } } });
  const again = await push();
  const notAllowed = await reader.DELETE('/admin/api/channels/{channelkey}/titles/now', { params: { path } });
  const refusals = [again, notAllowed].map(({ response, error }) => {
    const { type, detail } = there(error, 'refusal');
    return { status: response.status, type, detail };
  });

  // @ts-expect-error: there is no such path
  const wrongPath = () => open.GET('/metadata/planet/{channelkey}.json', { params: { path } });
  // @ts-expect-error: a song is a text
  const wrongBody = () => open.POST('/metapush/{channelkey}', { params: { path }, body: { song: 1 } });
  // @ts-expect-error: nor is a record's duration one
  const wrongAnswer: string = now.duration;
  void [wrongPath, wrongBody, wrongAnswer];

  return {
    user,
    sources: sources.map(({ kind }) => kind),
    pushed,
    now,
    text: there(text.data, 'text'),
    station: there(station.data, 'station').map(({ channelkey }) => channelkey),
    channels: there(first, 'station').channels,
    revoked: revoked.response.status,
    refused: refusals,
  };
}
