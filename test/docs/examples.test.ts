/** Every example of the OpenAPI document is sent as it stands to a server with the demo's channels, and gets what the document promises. */

import t from 'tap';
import type { Json } from '../../src/docs/json.js';
import '../kit/admin-client.js';
import { answerProblems, WRITTEN_PATHS } from '../kit/documents.js';
import { Player } from '../kit/player.js';
import { demoYaml, startServer } from '../kit/server.js';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: Json }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Request {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
}

const AUTHORIZATION: Readonly<Record<string, string>> = {
  pushToken: 'Bearer demo-token',
  encoder: `Basic ${Buffer.from('source:demo-source').toString('base64')}`,
  // A program's token; a password needs X-Requested-With besides, where there is no body.
  adminPassword: 'Bearer may do all of it',
};
const METHODS = ['get', 'put', 'post', 'delete'];

/** What answers otherwise than with success there, and why. */
const ELSE: Readonly<Record<string, number>> = {
  // No WebSocket handshake.
  ...{ watchChannel: 426, watchStation: 426, watchListener: 426 },
  // Of a listing, that changes: there is none with this name.
  ...{ cover: 404, adminWithdrawHeld: 404, adminRotateToken: 404, adminRevokeToken: 404, adminEndListener: 404 },
  ...{ hlsSegment: 404, adminWithdrawNext: 404 },
  // A token has no login to end; this server was started without a file to read again.
  ...{ adminLogOut: 409, adminReload: 409 },
  // The demo has no encoder before one connects, no rewind and no streamInfo.
  ...{ adminEndEncoder: 404, adminMoveEncoder: 409, hlsRewind: 404, streamInfo: 404, streamInfoOfChannel: 404 },
};

/** What a person's program makes of an operation's examples; one request for each type of its body. */
function requests(template: string, method: string, operation: Operation, ofPath: readonly Parameter[]): Request[] {
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => {
    const found = ofPath.find((parameter) => parameter.name === name)?.example;
    return encodeURIComponent(String(found ?? 'no example'));
  });
  const query = new URLSearchParams();
  for (const { name, in: place, example } of operation.parameters ?? [])
    if (place === 'query' && example !== undefined) query.set(name, String(example));
  const [way = ''] = Object.keys(operation.security?.[0] ?? {});
  const url = `${filled}${query.size > 0 ? `?${query}` : ''}`;
  const headers = way === '' ? {} : { authorization: AUTHORIZATION[way]! };
  const one: Request = { id: operation.operationId, method: method.toUpperCase(), url, headers };
  if (operation.requestBody === undefined) return [one];
  return Object.entries(operation.requestBody.content).map(([type, { example }]) => {
    if (example === undefined) return { ...one, id: `${one.id} without an example` };
    const fields = Object.entries(example).map(([name, value]): [string, string] => [name, String(value)]);
    if (type !== 'multipart/form-data') {
      const body = type.includes('form') ? String(new URLSearchParams(fields)) : JSON.stringify(example);
      return { ...one, headers: { ...headers, 'content-type': type }, body };
    }
    const body = new FormData();
    for (const [name, value] of fields) body.set(name, value);
    return { ...one, body };
  });
}

t.test('each example is answered as the document says', { timeout: 300_000 }, async (t) => {
  const yaml = demoYaml(`
admin: { users: { program: { tokens: ['env:ADMIN_TEST_ALL'], rights: [read, titles, operate] } } }
streams: { hls: { enabled: true } }
`);
  const { base, port } = await startServer(t, yaml);
  const all = Object.entries(WRITTEN_PATHS as Readonly<Record<string, Record<string, unknown>>>);
  const of = (item: Record<string, unknown>) => (item['parameters'] ?? []) as readonly Parameter[];
  const metaid = all.flatMap(([, item]) => of(item)).find(({ name }) => name === 'metaid')!.example;
  const listen = async () => {
    const player = new Player(port, `/demo.mp3?metaid=${metaid}`);
    t.teardown(() => player.close());
    await player.until((one) => one.audioBytes > 0);
  };
  await listen();

  let sent = 0;
  for (const [template, item] of all) {
    for (const method of METHODS) {
      const operation = item[method] as Operation | undefined;
      if (operation === undefined) continue;
      for (const { id, url, body, ...request } of requests(template, method, operation, of(item))) {
        const signal = AbortSignal.timeout(60_000);
        t.comment(id);
        const answer = await fetch(base + url, { ...request, body: body ?? null, redirect: 'manual', signal });
        const type = answer.headers.get('content-type') ?? '';
        const isEndless = /^audio\/|event-stream/.test(type);
        const text = isEndless ? '' : await answer.text();
        if (isEndless) await answer.body?.cancel();
        const expected = ELSE[id];
        const isRight = expected === undefined ? answer.ok || answer.status === 302 : answer.status === expected;
        t.ok(isRight, `${id}: ${request.method} ${url} is ${answer.status} ${isRight ? '' : text.slice(0, 300)}`);
        const given = { status: answer.status, headers: new Map(answer.headers), body: text };
        const problems = isEndless ? [] : answerProblems(request.method, url, given);
        t.strictSame(problems, [], id);
        sent++;
      }
    }
  }
  t.ok(sent > 100, `${sent} examples`);
});
