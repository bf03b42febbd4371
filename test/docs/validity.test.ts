/** Both documents by the schemas of their specifications. Part of `npm run check`. */

import specs from '@asyncapi/specs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv, type AnySchema } from 'ajv';
import t from 'tap';
import { DOCUMENTS } from '../kit/documents.js';

const { openApi, asyncApi } = DOCUMENTS;

async function openApiErrors(document: object): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  return valid ? [] : (errors ?? 'not valid');
}

t.test('the OpenAPI document is OpenAPI 3.1', async (t) => {
  t.strictSame(await openApiErrors(openApi), []);
  const paths = openApi['paths'] as Record<string, Record<string, unknown>>;
  for (const [path, item] of Object.entries(paths)) {
    t.notOk('head' in item || 'options' in item, `${path}: what follows from others is no operation`);
  }
  const broken = structuredClone(openApi) as { info: { title?: string } };
  delete broken.info.title;
  t.not((await openApiErrors(broken)) as unknown[], [], 'a fault is found');
});

t.test('each operation has a name of its own, and a media type a schema', async (t) => {
  const names = new Set<string>();
  let media = 0;
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name === 'operationId') {
        t.notOk(names.has(String(inner)), `${inner} is named once`);
        names.add(String(inner));
      }
      if (name === 'content')
        for (const [type, { schema }] of Object.entries(inner as Record<string, { schema?: unknown }>)) {
          media++;
          t.ok(schema, `${path}: ${type}`);
        }
      if (name !== 'properties') visit(inner, `${path}/${name}`);
    }
  };
  visit(openApi, '');
  t.ok(names.size > 30 && media > 100, `${names.size} operations, ${media} media types`);
});

t.test('the AsyncAPI document is AsyncAPI 3', async (t) => {
  const check = new Ajv({ strict: false, allErrors: true, logger: false }).compile(
    specs.schemasWithoutId['3.0.0'] as AnySchema,
  );
  t.ok(check(asyncApi), JSON.stringify(check.errors?.slice(0, 3)));
  const broken = structuredClone(asyncApi) as { info: { title?: string } };
  delete broken.info.title;
  t.notOk(check(broken), 'a fault is found');
});
