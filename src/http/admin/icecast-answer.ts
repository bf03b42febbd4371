/** Icecast's answers: elements as XML, or as JSON in the format of `/status-json.xsl`. */

import type { FastifyReply } from 'fastify';
import { escapeAttribute, escapeMarkup } from '../markup.js';
import { JSON_TYPE } from '../reads.js';

const XML_TYPE = 'text/xml; charset=utf-8';

/** Endings of a path; without one it is XML. `.xsl` is XML too: in 2.4 it is a web page, which some scripts read. */
export const FORMS = ['', '.xml', '.xsl', '.json'] as const;
export type Form = (typeof FORMS)[number];

export type Value = string | number | Members | readonly Members[];
/** Elements in their order; `$` contains the attributes. */
export interface Members {
  readonly [name: string]: Value;
}

export function sendIcecast(reply: FastifyReply, form: Form, root: string, members: Members): FastifyReply {
  return form === '.json'
    ? reply.headers({ 'Content-Type': JSON_TYPE }).send(JSON.stringify({ [root]: jsonOf(members) }))
    : reply.headers({ 'Content-Type': XML_TYPE }).send(`<?xml version="1.0"?>\n${element(root, members)}\n`);
}

function element(name: string, value: Value): string {
  if (Array.isArray(value)) return value.map((each: Members) => element(name, each)).join('');
  if (typeof value !== 'object') return `<${name}>${escapeMarkup(String(value))}</${name}>`;
  const { $, ...members } = value as Members;
  const attributes = Object.entries(($ ?? {}) as Members).map(
    ([name, text]) => ` ${name}="${escapeAttribute(String(text))}"`,
  );
  const inner = Object.entries(members).map(([inside, each]) => element(inside, each));
  return `<${name}${attributes.join('')}>${inner.join('')}</${name}>`;
}

/** A list of one becomes an object, a longer one an array; attributes become members. */
function jsonOf(value: Value): unknown {
  if (Array.isArray(value))
    return value.length === 1 ? jsonOf(value[0] as Members) : value.map((each: Members) => jsonOf(each));
  if (typeof value !== 'object') return value;
  const { $, ...members } = value as Members;
  return Object.fromEntries(
    Object.entries({ ...(($ ?? {}) as Members), ...members }).map(([name, each]) => [name, jsonOf(each)]),
  );
}
