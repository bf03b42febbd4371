/**
 * The shapes of `/metadata/stations.json` (http/stream/stations.ts), `/readyz?channels` (http/readiness.ts) and `/readyz?cluster`, member by member
 * in their order.
 */

const text = (description: string) => ({ type: 'string', description });
const whole = (description: string) => ({ type: 'integer', minimum: 0, description });
const record = (description: string) => ({
  description,
  oneOf: [{ $ref: '#/components/schemas/ChannelRecord' }, { type: 'null' }],
});

/** All members are always there. */
function shape(title: string, properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
  return { title, type: 'object', additionalProperties: false, required: Object.keys(properties), properties };
}

export const STATION = shape('Station', {
  stationkey: text("The station's key."),
  name: text('Its name, or its key where it has none.'),
  timezone: text('IANA.'),
  channels: {
    type: 'array',
    items: { $ref: '#/components/schemas/StationChannel' },
    description: 'In configured order.',
  },
});

export const STATION_CHANNEL = shape('Channel of a station', {
  channelkey: text("The channel's key."),
  name: text('Its name, or its key where it has none.'),
  genre: text('"" where none is known.'),
  url: text('The station\'s page, or "".'),
  description: text('What it is about, or "".'),
  onair: { type: 'boolean', description: 'There is audio, or there would be for a listener.' },
  type: text('The content type of the stream.'),
  bitrate: whole('kb/s; 0: not known.'),
  samplerate: whole('Hertz; 0: not known.'),
  channels: whole('Of the audio; 0: not known.'),
  listenurls: {
    type: 'array',
    minItems: 1,
    items: { type: 'string' },
    description: 'Where it is played, the best known first.',
  },
  now: record('The current track; null: none is known.'),
  next: record('The following one; null: none is known.'),
});

const is = (description: string) => ({ type: 'boolean', description });

const READINESS_CHANNEL = shape('Readiness of a channel', {
  ready: is('It has audio, or none is expected, or it has been without for less than silentSeconds.'),
  channelkey: text("The channel's key."),
  stationkey: text("The station's key."),
  expected: is('It should have audio: not one with partTime, nor where audio comes on demand and nobody listens.'),
  audio: is('It has audio, be it silence.'),
  sound: is('What it has is not digital silence.'),
  silentSeconds: whole('For how long it has had no audio though it should; 0: it has.'),
  source: { type: ['string', 'null'], enum: ['encoder', 'pull', 'file', null], description: 'What is on air.' },
});

export const READINESS = shape('Readiness', {
  ready: is('It serves, and every channel listed is ready.'),
  serving: is('As /readyz alone says.'),
  channels: { type: 'array', items: READINESS_CHANNEL, description: 'In configured order, or as asked for.' },
});

const number = (description: string) => ({ type: 'number', description });

export const CLUSTER_READINESS = shape('What a machine knows of its cluster', {
  ready: is('As /readyz alone says.'),
  node: text('Its name.'),
  log: shape('What all machines have in common, as this machine has it', {
    place: { type: 'string', enum: ['Redis', 'an origin', 'here'], description: 'Where it is.' },
    reached: is('It is reached.'),
    behindSeconds: number(
      'Since what is known of the changes was known to be all of them; less than 2 while all is well.',
    ),
    clockSeconds: number('How far the clock of this machine is ahead of the clock there.'),
    waitingChanges: whole('Changes that wait for it.'),
    position: whole('The number of the last change that is known here.'),
  }),
  warnings: {
    type: 'array',
    items: { type: 'string' },
    description:
      'What to correct: a clock that is wrong, a channel with other settings at another machine. The server serves all the same.',
  },
  nodes: {
    type: 'array',
    items: shape('A machine that shares audio', {
      node: text('Its name.'),
      seenSeconds: number('Since it was here last.'),
    }),
    description: 'As is known there; up to some seconds old.',
  },
  channels: {
    type: 'array',
    items: shape('Who feeds a channel', {
      channelkey: text("The channel's key."),
      owner: text('The machine; "": none.'),
      epoch: whole('Rises with each other owner.'),
      phase: {
        type: 'string',
        enum: ['waiting', 'owning', 'taking', 'following'],
        description: 'What the channel is to this machine.',
      },
    }),
    description: 'Empty: audio is not shared.',
  },
});
