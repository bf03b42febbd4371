/**
 * The shapes of `/metadata/stations.json` (http/stream/stations-list.ts), `/readyz?channels` (http/readiness.ts) and `/readyz?cluster`, member by
 * member in their order.
 */

import { count, flag, type Json, list, number, TEXT, text, titled } from './json.js';

const record = (description: string): Json => ({
  description,
  oneOf: [{ $ref: '#/components/schemas/ChannelRecord' }, { type: 'null' }],
});

/** All members are always there, and no others. */
const shape = (title: string, properties: Readonly<Record<string, Json>>) => ({
  ...titled(title, properties),
  additionalProperties: false,
});

export const STATION = shape('Station', {
  stationkey: text("The station's key."),
  name: text('Its name, or its key where it has none.'),
  timezone: text('IANA.'),
  channels: list({ $ref: '#/components/schemas/StationChannel' }, 'In configured order.'),
});

export const STATION_CHANNEL = shape('Channel of a station', {
  channelkey: text("The channel's key."),
  name: text('Its name, or its key where it has none.'),
  genre: text('"" where none is known.'),
  url: text('The station\'s page, or "".'),
  description: text('What it is about, or "".'),
  onair: flag('There is audio, or there would be for a listener.'),
  type: text('The content type of the stream.'),
  bitrate: count('kb/s; 0: not known.'),
  samplerate: count('Hertz; 0: not known.'),
  channels: count('Of the audio; 0: not known.'),
  listenurls: { ...list(TEXT, 'Where it is played, the best known first.'), minItems: 1 },
  hlsUrl: {
    type: ['string', 'null'],
    description: 'The same as HLS: its multivariant playlist; null: it is not served so.',
  },
  rewindUrl: {
    type: ['string', 'null'],
    description: 'The last hours as HLS: a media playlist in which players seek; null: there is no rewind.',
  },
  now: record('The current track; null: none is known.'),
  next: record('The following one; null: none is known.'),
});

const READINESS_CHANNEL = shape('Readiness of a channel', {
  ready: flag('It has audio, or none is expected, or it has been without for less than silentSeconds.'),
  channelkey: text("The channel's key."),
  stationkey: text("The station's key."),
  expected: flag('It should have audio: not one with partTime, nor where audio comes on demand and nobody listens.'),
  audio: flag('It has audio, be it silence.'),
  sound: flag('What it has is not digital silence.'),
  silentSeconds: count('For how long it has had no audio though it should; 0: it has.'),
  source: { type: ['string', 'null'], enum: ['encoder', 'pull', 'file', null], description: 'What is on air.' },
});

export const READINESS = shape('Readiness', {
  ready: flag('It serves, and every channel listed is ready.'),
  serving: flag('As /readyz alone says.'),
  channels: list(READINESS_CHANNEL, 'In configured order, or as asked for.'),
});

export const CLUSTER_READINESS = shape('What a machine knows of its cluster', {
  ready: flag('As /readyz alone says.'),
  node: text('Its name.'),
  log: shape('What all machines have in common, as this machine has it', {
    place: { type: 'string', enum: ['Redis', 'an origin', 'here'], description: 'Where it is.' },
    reached: flag('It is reached.'),
    behindSeconds: number(
      'Since what is known of the changes was known to be all of them; less than 2 while all is well.',
    ),
    clockSeconds: number('How far the clock of this machine is ahead of the clock there.'),
    waitingChanges: count('Changes that wait for it.'),
    position: count('The number of the last change that is known here.'),
  }),
  warnings: list(
    TEXT,
    'What to correct: a clock that is wrong, a channel with other settings at another machine. The server serves all the same.',
  ),
  nodes: list(
    shape('A machine that shares audio', {
      node: text('Its name.'),
      seenSeconds: number('Since it was here last.'),
    }),
    'As is known there; up to some seconds old.',
  ),
  channels: list(
    shape('Who feeds a channel', {
      channelkey: text("The channel's key."),
      owner: text('The machine; "": none.'),
      epoch: count('Rises with each other owner.'),
      phase: {
        type: 'string',
        enum: ['waiting', 'owning', 'taking', 'following'],
        description: 'What the channel is to this machine.',
      },
    }),
    'Empty: audio is not shared.',
  ),
});
