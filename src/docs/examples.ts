/**
 * The examples of the OpenAPI document: requests that can be sent as they stand to the server of config/demo.yaml (`npm start`), with a user of
 * `admin.users` where they need one. test/docs/examples.test.ts sends every one of them.
 */

import type { Json } from './json.js';

type ExampleValues = Readonly<Record<string, unknown>>;

/** By the names of parameters in paths. */
const IN_PATH: ExampleValues = {
  channelkey: 'demo',
  stationkey: 'demo',
  metaid: 'Zx3vKq8TmWb5LrYc0HdN2g',
  token: 'demo-token',
  mount: 'demo.mp3',
  segment: '1.mp3',
  id: '1',
  name: '1.jpg',
  network: '192.0.2.7',
};

const TITLE: ExampleValues = { artist: 'Nina Simone', song: 'Feeling Good', duration: 177 };
const FORM: ExampleValues = { mode: 'updinfo', mount: '/studio.mp3', song: 'Nina Simone - Feeling Good' };
const FALLBACK: ExampleValues = { mount: '/demo.mp3', fallback: '/studio.mp3' };
const LISTENER: ExampleValues = { mount: '/demo.mp3', id: '1' };
const MOVE: ExampleValues = { mount: '/demo.mp3', destination: '/studio.mp3' };
const OF_DEMO: ExampleValues = { channel: 'demo' };
const MONTH: ExampleValues = { ...OF_DEMO, month: '2026-11' };

/** By the ids of operations: the parameters in the query that a request needs to be of use. */
const IN_QUERY: Readonly<Record<string, ExampleValues>> = {
  pushGet: TITLE,
  pushGetBearer: TITLE,
  updinfoGet: FORM,
  updinfoShoutcastGet: { pass: 'demo-source', ...FORM },
  'icecast-listclients': { mount: '/demo.mp3' },
  'icecast-listclients-json': { mount: '/demo.mp3' },
  'icecast-killclient': LISTENER,
  'icecast-killclient-post': LISTENER,
  'icecast-killsource': { mount: '/studio.mp3' },
  'icecast-killsource-post': { mount: '/studio.mp3' },
  'icecast-moveclients': MOVE,
  'icecast-moveclients-post': MOVE,
  'icecast-fallbacks': FALLBACK,
  'icecast-fallbacks-post': FALLBACK,
  statisticsSeries: OF_DEMO,
  statisticsSeriesCsv: OF_DEMO,
  statisticsTitles: OF_DEMO,
  statisticsTitlesCsv: OF_DEMO,
  statisticsRoyalty: MONTH,
  statisticsRoyaltyCsv: MONTH,
};

/** By the ids of operations: the body, whichever its type is. */
const BODIES: Readonly<Record<string, ExampleValues>> = {
  pushPost: TITLE,
  pushPostBearer: TITLE,
  updinfoPost: FORM,
  updinfoShoutcastPost: { pass: 'demo-source', ...FORM },
  reportHeard: { heardMs: 0 },
  adminPush: TITLE,
  adminEndListeners: { channel: 'demo' },
  adminMoveListeners: { channel: 'demo', to: 'studio' },
  adminMoveEncoder: { to: 'studio' },
  adminChooseSource: { place: 0 },
  adminSetFallback: { to: '/studio.mp3' },
  adminBlock: { network: '192.0.2.7', seconds: 3600, reason: 'too many connections' },
  adminMakeToken: { name: 'playout' },
  adminRotateToken: { keepSeconds: 60 },
};

/** @param paths every one, written out */
export function withExamples(paths: Json): Json {
  return mapped(paths, (item) =>
    mapped(item as Json, (part) => (Array.isArray(part) ? part.map(inPath) : withOwn(part))),
  );
}

const mapped = (object: Json, map: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));

const inPath = (parameter: Json) => exampleOf(parameter, IN_PATH);

function exampleOf(parameter: Json, values: ExampleValues): Json {
  const example = values[String(parameter['name'])];
  return example === undefined ? parameter : { ...parameter, example };
}

/** An operation with its examples. */
function withOwn(part: unknown): Json {
  const operation = part as Json & { readonly parameters?: readonly Json[]; readonly requestBody?: Json };
  const { parameters, requestBody } = operation;
  const id = String(operation['operationId']);
  const values = IN_QUERY[id];
  const example = BODIES[id];
  return {
    ...operation,
    ...(parameters && values && { parameters: parameters.map((each) => exampleOf(each, values)) }),
    ...(requestBody &&
      example && {
        requestBody: {
          ...requestBody,
          content: mapped(requestBody['content'] as Json, (media) => ({ ...(media as Json), example })),
        },
      }),
  };
}
