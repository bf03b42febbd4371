/** The OpenAPI document says by references what its parts write out, nothing twice, and is much smaller so. */

import t from 'tap';
import { hoisted } from '../../src/docs/components.js';
import type { Json } from '../../src/docs/json.js';
import { ANYWHERE, ANYWHERE_BY_STATUS } from '../../src/docs/responses.js';
import { DOCUMENTS, WRITTEN_PATHS } from '../kit/documents.js';

type Named = Record<string, Json>;

const openApi = JSON.parse(JSON.stringify(DOCUMENTS.openApi)) as {
  paths: Record<string, Named>;
  components: Record<string, Named>;
};
const written = JSON.parse(JSON.stringify(WRITTEN_PATHS)) as Record<string, Named>;

/** With what its references name in their places. */
function resolved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolved);
  if (typeof value !== 'object' || value === null) return value;
  const { $ref } = value as Json;
  if (typeof $ref !== 'string') {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each)]));
  }
  const [, , kind, name] = $ref.split('/') as [string, string, string, string];
  return resolved(openApi.components[kind]![name]);
}

t.test('with its references resolved it is what its parts write', async (t) => {
  t.strictSame(Object.keys(openApi.paths), Object.keys(written));
  for (const [path, { parameters: own, ...operations }] of Object.entries(written)) {
    const published = resolved(openApi.paths[path]) as Named;
    t.strictSame(published['parameters'] ?? [], own ?? [], `parameters of ${path}`);
    for (const [method, operation] of Object.entries(operations)) {
      const { parameters = [], ...said } = resolved(operation) as Json;
      const { parameters: publishedParameters = [], ...rest } = published[method]!;
      t.strictSame(rest, said, `${method} ${path}`);
      t.strictSame(publishedParameters, parameters, `parameters of ${method} ${path}`);
    }
  }
  const others = ANYWHERE['default'] as Json;
  for (const [status, answer] of Object.entries(ANYWHERE_BY_STATUS as Named)) {
    t.match(others['description'], `${status}: ${answer['description']}`);
    t.strictSame({ ...answer, description: '' }, { ...others, description: '' });
  }
});

t.test('nothing is said twice, and no component is unused', async (t) => {
  const text = JSON.stringify(openApi);
  const used = new Set(text.match(/#\/components\/\w+\/[\w.-]+/g));
  for (const [kind, parts] of Object.entries(openApi.components)) {
    if (kind === 'securitySchemes') continue;
    for (const [name, part] of Object.entries(parts)) {
      t.match(name, /^\w+$/);
      t.ok(used.has(`#/components/${kind}/${name}`) || used.has(`#/components/schemas/${name}`), `${kind}: ${name}`);
      if (kind !== 'schemas') t.equal(text.split(JSON.stringify(part)).length, 2, `${kind}: ${name} stands once`);
    }
  }
  const places = Object.values(openApi.paths).flatMap((path) =>
    Object.values(path).flatMap(({ responses }) => Object.values((responses ?? {}) as Named)),
  );
  const own = places.filter(({ $ref }) => $ref === undefined).map((response) => JSON.stringify(response));
  t.equal(new Set(own).size, own.length, 'no response');
  t.ok(own.length > 20 && places.length > 400, `${own.length} of ${places.length} are in their places`);
  const size = Buffer.byteLength(text);
  t.ok(size < 195_000, `${size} bytes`);
});

const READ = { description: 'OK', content: { 'text/plain': { schema: { title: 'A line', type: 'string' } } } };
const operation = (tag: string, responses: Json, parameters: Json[] = []) => ({ tags: [tag], parameters, responses });

t.test('names: what it is, and its tags where these are one or two', async (t) => {
  const [refused, shared] = [{ description: 'Slower.' }, { description: 'No.' }];
  const other = { description: 'Not so many.' };
  const key = { name: 'Some-Key', in: 'header', schema: {} };
  const made = hoisted(
    {
      '/a': { get: operation('A', { 200: READ, 429: refused, 404: shared }, [key]) },
      '/b': { parameters: [key], get: operation('A', { 200: READ, 429: refused, 404: shared }) },
      '/c': { get: operation('B', { 429: other, 404: shared }), post: operation('A', { 429: other, 404: shared }) },
      '/d': {
        get: operation('C', { 404: shared, 503: refused }),
        post: operation('A', { 403: other, 200: { description: 'Once.' } }),
      },
    },
    {},
  );
  t.strictSame(made.components, {
    responses: {
      OKA: { ...READ, content: { 'text/plain': { schema: { $ref: '#/components/schemas/ALine' } } } },
      TooManyAC: refused,
      NotFound: shared,
      TooManyBA: other,
    },
    parameters: { SomeKeyA: key },
    headers: {},
    schemas: { ALine: { title: 'A line', type: 'string' } },
  });
  t.strictSame((made.paths['/d'] as Named)['post'], {
    tags: ['A'],
    responses: { 403: { $ref: '#/components/responses/TooManyBA' }, 200: { description: 'Once.' } },
  });
});

t.test('two schemas of one title are a fault', async (t) => {
  const another = { description: 'OK', content: { 'text/plain': { schema: { title: 'A line', type: 'number' } } } };
  const both = { '/a': { get: operation('A', { 200: READ, 201: another }) } };
  t.throws(() => hoisted(both, {}), /two schemas: A line/);
  t.throws(() => hoisted({ '/a': { get: operation('A', { 200: READ }) } }, { ALine: { type: 'null' } }), /two schemas/);
});
