/**
 * Serves files of the pages: with an ETag, compressed if that saves bytes, read or built on the first request. The build makes one script of each
 * entry (src/bundle.mjs); if the server runs from its sources, they are bundled here, which is slow.
 */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { codeFile } from '../../base/own-files.js';
import type { RouteDocs } from '../../docs/responses.js';
import { contentTag } from '../../metadata/etag.js';
import { CompressibleBody, compressed } from '../compression.js';
import { readRoute } from '../methods.js';
import { matchesTag } from '../reads.js';
import type { ServedFile } from './page-site.js';

export const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
export const HTML_TYPE = 'text/html; charset=utf-8';
export const CSS_TYPE = 'text/css; charset=utf-8';

/** Headers of files that pages of any origin may read. */
export const FOR_ALL: Readonly<Record<string, string>> = { 'Access-Control-Allow-Origin': '*' };

export type Headers = Readonly<Record<string, string>>;

export function fileOf(type: string, body: Buffer): ServedFile {
  return { type, body, etag: `"${contentTag(body)}"` };
}

/** Answers with a file, or 304. @param headers those of both */
export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, body, etag }: ServedFile,
  headers: Headers,
): FastifyReply {
  reply.headers({ ...headers, ETag: etag });
  if (matchesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.type(type).send(body);
}

/** A text, with its compressed forms. */
export interface ServedText {
  readonly type: string;
  readonly body: CompressibleBody;
}

/** @param isCompressed false: it is sent only once */
export function textOf(type: string, text: string | Buffer, isCompressed = true): ServedText {
  return { type, body: new CompressibleBody(text, undefined, isCompressed ? undefined : Number.POSITIVE_INFINITY) };
}

/** Answers with a text, or 304. @param headers those of both; Vary is extended */
export async function sendText({ raw }: FastifyRequest, reply: FastifyReply, file: ServedText, headers: Headers) {
  const form = compressed(raw, file.body);
  const vary = [headers['Vary'], form.headers['Vary']].filter(Boolean).join(', ');
  const all = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', ...headers, ...form.headers };
  reply.headers({ ...all, Vary: vary, ETag: form.etag });
  if (matchesTag(raw.headers['if-none-match'], form.etag)) return reply.code(304).send();
  return reply.type(file.type).send(await form.bytes());
}

/** Registers a path with a text that does not change. @param make called for the first request */
export function serveText(
  app: FastifyInstance,
  url: string,
  make: () => ServedText,
  headers: Headers,
  docs?: RouteDocs,
): void {
  let file: ServedText | null = null;
  const handler: RouteHandlerMethod = async (request, reply) => sendText(request, reply, (file ??= make()), headers);
  readRoute(app, url, handler, { docs });
}

/** A script of the build. @param built its path in dist @param source the path of its entry in src */
export function builtScript(built: string, source: string): () => ServedText {
  return () => {
    const file = codeFile(built);
    return textOf(SCRIPT_TYPE, existsSync(file) && built !== source ? readFileSync(file) : bundled(source));
  };
}

/** Only when the server runs from its sources, as in development. */
function bundled(source: string): Buffer {
  const { buildSync } = createRequire(import.meta.url)('esbuild');
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(codeFile(source))],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  return Buffer.from(outputFiles[0].contents);
}

/** hls.js from the build, or from its package if the server runs from its sources. */
export function hlsScript(): ServedText {
  const built = codeFile('web/hls.js');
  const file = existsSync(built) ? built : createRequire(import.meta.url).resolve('hls.js/dist/hls.light.min.mjs');
  return textOf(SCRIPT_TYPE, readFileSync(file));
}
