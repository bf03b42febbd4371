/**
 * The shapes of `/metadata/stations.json` (http/stream/stations-list.ts) and `/readyz?channels` (http/readiness.ts), member by member in their order.
 */

import { count, flag, type Json, list, TEXT, text, titled } from './json.js';

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
  name: text('Its name; its key if it has none.'),
  timezone: text('An IANA name.'),
  channels: list({ $ref: '#/components/schemas/StationChannel' }, 'In configured order.'),
});

export const STATION_CHANNEL = shape('Channel of a station', {
  channelkey: text("The channel's key."),
  name: text('Its name; its key if it has none.'),
  genre: text('"": unknown.'),
  url: text('The station\'s page, or "".'),
  description: text('What it is about, or "".'),
  onair: flag('It has audio, or would start it for a listener.'),
  type: text('The content type of the stream.'),
  bitrate: count('kb/s; 0: unknown.'),
  samplerate: count('Hertz; 0: unknown.'),
  channels: count('Audio channels; 0: unknown.'),
  listenurls: { ...list(TEXT, 'The URLs of the stream, the main one first.'), minItems: 1 },
  hlsUrl: {
    type: ['string', 'null'],
    description: 'Its multivariant HLS playlist; null: it has no HLS.',
  },
  rewindUrl: {
    type: ['string', 'null'],
    description: 'The last hours as HLS: a media playlist in which players can seek; null: none.',
  },
  now: record('The current track; null: unknown.'),
  next: record('The following track; null: unknown.'),
});

const READINESS_CHANNEL = shape('Readiness of a channel', {
  ready: flag('It has audio, or none is expected, or it has been without audio for less than silentSeconds.'),
  channelkey: text("The channel's key."),
  stationkey: text("The station's key."),
  expected: flag('It should have audio. false: it has none, and is partTime or plays on demand without listeners.'),
  audio: flag('It has audio, even if silent.'),
  sound: flag('It has audio that is not digital silence.'),
  silentSeconds: count('Whole seconds for which expected audio has been missing.'),
  source: {
    type: ['string', 'null'],
    enum: ['encoder', 'pull', 'file', null],
    description: 'The source on air; null: none.',
  },
});

export const READINESS = shape('Readiness', {
  ready: flag('The server is ready, and so is every channel listed.'),
  serving: flag('The result of /readyz without a query.'),
  channels: list(READINESS_CHANNEL, 'In configured order, or as requested.'),
});
