/** `/docs/messages`: the AsyncAPI document for people, as one page without scripts. */

import type { Json } from '../../docs/json.js';
import { escapeMarkup } from '../markup.js';

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface NamedMessage {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
}
interface ReadChannel {
  readonly address: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, { readonly description: string }>>;
  readonly messages: Json;
}
/** The displayed parts of the document (docs/asyncapi.ts). */
interface Read {
  readonly info: { readonly version: string; readonly description: string };
  readonly servers: Readonly<Record<string, { readonly description: string }>>;
  readonly channels: Readonly<Record<string, ReadChannel>>;
  readonly components: {
    readonly messages: Readonly<Record<string, NamedMessage>>;
    readonly schemas: Readonly<Record<string, Schema & { readonly title: string }>>;
  };
}

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; background: Canvas; color: CanvasText; }
h2 { margin-top: 2rem; border-bottom: 1px solid GrayText; }
code { font-family: ui-monospace, monospace; }
dt { margin-top: .5rem; font-weight: 600; }
dd { margin-left: 1rem; }
`;

const PROTOCOLS: Readonly<Record<string, string>> = { ws: 'WebSocket', sse: 'Server-sent events' };

export function messagesPage(document: Json): string {
  const { info, servers, channels, components } = document as unknown as Read;
  const protocol = ([key, { description }]: [string, { readonly description: string }]) => {
    const own = Object.keys(channels).filter((name) => name.startsWith(`${key}-`));
    const parts = own.map((name) => channelPart(channels[name]!)).join('');
    return `<section><h2>${PROTOCOLS[key] ?? text(key)}</h2>\n<p>${text(description)}</p>\n${parts}</section>\n`;
  };
  const message = ({ name, title, description = '' }: NamedMessage): [string, string] => [
    name,
    text(`${title}. ${description}`),
  ];
  const shapes = Object.values(components.schemas).map(
    ({ title, properties = {} }) =>
      `<section><h2>${text(title)}</h2>\n${terms(Object.entries(properties).map(([name, each]) => [name, member(each)]))}</section>\n`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>airsplice: the messages</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>airsplice ${text(info.version)}: the messages</h1>
<p>${text(info.description)}</p>
<p>For programs: <a href="/asyncapi.json">/asyncapi.json</a>. All else: <a href="/docs">/docs</a>.</p>
${Object.entries(servers).map(protocol).join('')}<section><h2>Messages</h2>
${terms(Object.values(components.messages).map(message))}</section>
${shapes.join('')}</main>
</body>
</html>
`;
}

const text = (value: string) => escapeMarkup(value);

function channelPart({ address, description, parameters, messages }: ReadChannel): string {
  const needed = Object.entries(parameters).map(([name, each]): [string, string] => [name, text(each.description)]);
  const names = Object.keys(messages).map((name) => `<code>${text(name)}</code>`);
  return `<h3><code>${text(address)}</code></h3>\n<p>${text(description)} Messages: ${names.join(', ')}.</p>\n${terms(needed)}`;
}

/** @param entries unescaped names, and markup */
function terms(entries: readonly (readonly [string, string])[]): string {
  return `<dl>\n${entries.map(([name, markup]) => `<dt><code>${text(name)}</code></dt><dd>${markup}</dd>\n`).join('')}</dl>\n`;
}

/** Type and description, as markup. */
function member(schema: Schema): string {
  const { description = '' } = schema;
  return [`<i>${text(typeOf(schema))}</i>`, text(description)].filter((part) => part !== '<i></i>').join(' ');
}

function typeOf({ type, enum: values, const: only, anyOf }: Schema): string {
  if (only !== undefined) return JSON.stringify(only);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' | ');
  return [type ?? ''].flat().join(' | ');
}
