/**
 * The shapes that the documents describe, as JSON Schema 2020-12. What is pushed comes from the very schemas that validate it
 * (metadata/push-schema.ts), so that these documents cannot say anything else; what is answered is written here, member by member
 * in the order of the API, and every answer of the test suite is checked against it.
 */

import * as z from 'zod';
import { clusterReport } from '../admin/cluster-report.js';
import { REFUSALS } from '../base/refusal.js';
import { bodySchema, type PushLimits, querySchema } from '../metadata/push-schema.js';
import { ETYPES } from '../metadata/record.js';
import { MAX_COUNTED } from '../metadata/record-schema.js';
import type { Json } from './json.js';
import { READINESS, STATION, STATION_CHANNEL } from './station-docs.js';

/** The shape of an object, as much as is looked into. */
export interface ObjectSchema extends Json {
  readonly properties: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
}

const ETYPE = Array.from(ETYPES, ([id, name]) => `${id} ${name}`).join(', ');
const SECONDS = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$';
const MILLIS = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$';
const LOCAL = '^\\d\\d\\.\\d\\d\\.\\d{4} \\d\\d:\\d\\d:\\d\\d$';

const text = (description: string) => z.string().describe(description);
const utc = (description: string) => z.string().regex(new RegExp(SECONDS)).describe(description);
const etype = z.literal([...ETYPES.keys()]).describe(`What kind of content this is: ${ETYPE}.`);
const type = z.enum(['now', 'next']).describe('now: the current track; next: the following one.');
const start = z
  .string()
  .regex(new RegExp(LOCAL))
  .describe("The start in the station's time zone, DD.MM.YYYY HH:MM:SS.");
const startTimestamp = z.int().describe('The start in unix seconds.');
const duration = z.int().min(0).describe('Seconds; 0: no known end.');
const userplayout = z.literal(false).describe('true for a personalised stream; here always false.');
const untouched = z.looseObject({}).nullable();

const record = z.strictObject({
  rawdata: text('The title line as listeners see it: artist, separator, song; or the one part that is not empty.'),
  userplayout,
  channel: text("The channel's display name, or its key where it has none."),
  session: text('Listener scope: a UUID for each connection; else "".'),
  position: z
    .string()
    .regex(/^\d*$/)
    .describe(
      'Listener scope: milliseconds of audio, as text, from the first audio byte to the exact point where this title takes effect ("0": ' +
        'from the start); its ICY block is at the next block boundary. Else "".',
    ),
  marker: text('Always "".'),
  id: text('The reference id: as pushed, or a UUID.'),
  mount: text('Listener scope: the path that is played; else "".'),
  channelkey: text("The channel's key."),
  timestamp: utc('The start in UTC.'),
  artist: text('"": unknown.'),
  song: text('"": unknown.'),
  station: text("The station's key."),
  start,
  duration,
  start_timestamp: startTimestamp,
  type,
  etype,
  isrc: text('As pushed, or "".'),
  asin: text('Always "".'),
  cover: text('The URL of an image: as pushed, else that of the medium, large or small one of images, else "".'),
  album: text('As pushed, or as the source says; "": unknown.'),
  images: untouched.describe('As pushed: small, medium and large, each with its url; null: none.'),
  extdata: untouched.describe('As pushed, untouched; null: none.'),
  source: z
    .enum(['metapush', 'encoder', 'upstream', 'fallback'])
    .describe(
      "metapush: pushed; encoder: sent by the encoder; upstream: from a pulled stream; fallback: the channel's configured title.",
    ),
  time: utc('The same instant as timestamp.'),
  code: text("The channel's key."),
  timezone: text('As pushed, or UTC. time and timestamp are in UTC all the same.'),
  separator: text('The text between artist and song.'),
});

const moment = (description: string) => z.string().regex(new RegExp(MILLIS)).describe(description);
const history = z.strictObject({
  ...record.shape,
  from: moment('When it came on air, UTC with milliseconds.'),
  to: moment('UTC with milliseconds.').nullable().describe('When it went off air; null while it is on air.'),
});

const pushAnswer = z.strictObject({
  time: utc('The start.'),
  start,
  start_timestamp: startTimestamp,
  duration,
  song: text('As decoded and cleaned.'),
  artist: text('As decoded and cleaned.'),
  code: text('The same as channelkey.'),
  channelkey: text("The channel's key."),
  channel: text('The same as channelkey.'),
  timezone: text('As pushed, or UTC.'),
  id: text('As pushed, or a new UUID.'),
  userplayout,
  separator: text('The text between artist and song.'),
  etype,
  album: text('As pushed, or "".'),
  type,
  isrc: text('As pushed, or "".'),
});

const problem = z.strictObject({
  type: z.enum(Object.keys(REFUSALS).map((kind) => `urn:airsplice:problem:${kind}`)).describe('The kind of problem.'),
  title: text('The same for every problem of this type.'),
  status: z.literal([...new Set(Object.values(REFUSALS).map(({ status }) => status))]).describe('The HTTP status.'),
  detail: text('What went wrong here, for people.'),
  errors: z
    .array(z.strictObject({ field: text('Its name, as sent.'), message: text('What is wrong with it.') }))
    .min(1)
    .optional()
    .describe('All invalid fields.'),
});

/** What a field of a push is for; where GET and POST differ, both are described. */
const PUSHED: Readonly<Record<string, string>> = {
  id: 'Your reference id. Empty: a UUID is made. A push with the same id corrects the record.',
  time: 'When the track starts: RFC 3339 (without an offset: in timezone), unix seconds, or unix milliseconds (13 digits). A now with a future time waits until then. Default: the present time.',
  duration: 'Seconds, or a text such as 183,52, 3:23 or 00:03:23; 0 or null: no known end. Fractions are cut off.',
  song: 'The song; title is another name of the parameter. Empty: none. As a parameter, the word false omits song and separator.',
  artist: 'The artist. Empty: none. As a parameter, the word false omits artist and separator.',
  encoding:
    'The charset of song, artist and separator: utf8 (default), windows for ISO 8859-1 and Windows-1252, or another by its name, such as windows-1251. An unknown one is ignored, and named in Airsplice-Ignored.',
  strict:
    '1: an unreadable time, duration, timezone or encoding, or an unfilled placeholder, is refused. 0 (default): it is ignored, and named in Airsplice-Ignored.',
  tracktype: 'now (default): the current track; next: the following one.',
  etype: `Content type, default 0: ${ETYPE}.`,
  isrc: 'ISRC.',
  separator: 'The text between artist and song; default " - ".',
  seperator: 'A misspelling of separator that is in use.',
  cover: 'The http or https URL of an image. Any other is ignored, and named in Airsplice-Ignored.',
  images: 'Images in three sizes, each an object with a url, which follows the rules of cover.',
  album: 'Album.',
  timezone:
    'The time zone of a time without an offset; passed on unchanged. An IANA name, an offset such as -05:00 or UTC+1, or a Windows name. Any other is ignored, and named in Airsplice-Ignored.',
  extdata: 'An object of your own data, passed on untouched.',
};

/** @param zodSchema of what comes in, before defaults and cleaning */
export function jsonSchema(zodSchema: z.ZodType): ObjectSchema {
  const { $schema, ...schema } = z.toJSONSchema(zodSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Without bounds that exclude nothing or only keep numbers exact, defaults for older versions' answers, and member names that are any text.
      if (jsonSchema.maximum !== undefined && jsonSchema.maximum >= MAX_COUNTED) delete jsonSchema.maximum;
      if (jsonSchema.default === null) delete jsonSchema.default;
      if (jsonSchema.minLength === 0) delete jsonSchema.minLength;
      delete jsonSchema.propertyNames;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return schema as ObjectSchema;
}

/** The push's schema with what each field is for, and how long it may be. */
function pushed(zodSchema: z.ZodType, limits: PushLimits): ObjectSchema {
  const schema = jsonSchema(zodSchema);
  const most = (name: string) => {
    if (['time', 'duration', 'encoding', 'strict', 'tracktype', 'etype', 'images'].includes(name)) return '';
    if (name === 'extdata') return ` At most ${limits.extdataBytes} bytes, ${limits.extdataDepth} levels deep.`;
    if (name === 'timezone') return ` At most ${limits.timezoneCharacters} characters.`;
    return ` At most ${name === 'cover' ? limits.urlBytes : limits.textBytes} bytes of UTF-8.`;
  };
  const properties = Object.fromEntries(
    Object.entries(schema.properties).map(([name, property]) => {
      const described: Json = { description: `${PUSHED[name] ?? ''}${most(name)}`, ...property };
      // The ids are not just a range: the rule of the schema is a function, this is its list.
      return [name, name === 'etype' ? { description: described['description'], enum: [...ETYPES.keys()] } : described];
    }),
  );
  return { ...schema, properties };
}

const clusterReadiness = z.strictObject({
  ready: z.boolean().describe('The result of /readyz without a query.'),
  ...clusterReport.shape,
});

/** As listener/sessions/heard-reports.ts reads it. */
const heardReport = z
  .object({
    heardMs: z
      .number()
      .min(0)
      .optional()
      .describe('Milliseconds of audio that the player has played since the first byte of its stream.'),
    heardAt: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('With HLS, instead of heardMs: the EXT-X-PROGRAM-DATE-TIME of the audio that it plays.'),
    session: z.string().optional().describe('The session, as in its records; default: the one that plays.'),
  })
  .loose();

/** Every shape by its name, as the documents' `components.schemas`. @param limits of a push, described in its fields */
export function schemas(limits: PushLimits) {
  return {
    ChannelRecord: { title: 'Channel record', ...jsonSchema(record) },
    HistoryRecord: { title: 'Channel record of the history', ...jsonSchema(history) },
    Station: STATION,
    StationChannel: STATION_CHANNEL,
    Readiness: READINESS,
    ClusterReadiness: { title: 'What a machine knows of its cluster', ...jsonSchema(clusterReadiness) },
    PushQuery: { title: 'Push as parameters', ...pushed(querySchema(limits), limits) },
    PushBody: { title: 'Push as JSON', ...pushed(bodySchema(limits), limits) },
    PushAnswer: { title: 'Answer to a push', ...jsonSchema(pushAnswer) },
    HeardReport: { title: 'What a player hears', ...jsonSchema(heardReport) },
    Problem: { title: 'Problem (RFC 9457)', ...jsonSchema(problem) },
  } as const;
}

export type Schemas = ReturnType<typeof schemas>;

/** The channel record alone, as `/schemas/record.json`. */
export function recordSchema(all: Schemas): Json {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...all.ChannelRecord };
}
