/** Decodes the Content-Encoding of a request's body (RFC 9110, 8.4), off the main thread and never past the limit of the body. */

import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../base/refusal.js';

type Inflate = (
  body: Buffer,
  options: { maxOutputLength: number },
  done: (error: Error | null, bytes: Buffer) => void,
) => void;

const CODINGS: Readonly<Record<string, Inflate>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  br: brotliDecompress,
  deflate: (body, ...rest) => (hasZlibHead(body) ? inflate : inflateRaw)(body, ...rest),
};
const NONE: readonly unknown[] = [undefined, '', 'identity'];
/** The accepted codings, for a 415 (RFC 9110, 12.5.3). */
const ACCEPTED = { 'Accept-Encoding': 'gzip, deflate, br' };

/** A content type parser of fastify. The route's bodyLimit applies before and after decoding. */
export function readBody(
  request: FastifyRequest,
  body: Buffer,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const coding = request.headers['content-encoding']?.trim().toLowerCase();
  if (NONE.includes(coding)) {
    done(null, body);
    return;
  }
  const decode = Object.hasOwn(CODINGS, coding!) ? CODINGS[coding!]! : undefined;
  if (decode === undefined) {
    const detail = 'The Content-Encoding of the body is not supported: use one of gzip, deflate and br.';
    done(new Refusal('unsupported-media-type', detail, { headers: ACCEPTED }));
    return;
  }
  const maxBytes = request.routeOptions.bodyLimit;
  decode(body, { maxOutputLength: maxBytes }, (error: NodeJS.ErrnoException | null, bytes) => {
    if (error === null) done(null, bytes);
    else if (error.code === 'ERR_BUFFER_TOO_LARGE')
      done(new Refusal('too-large', `The body is larger than ${maxBytes} bytes.`));
    else done(new Refusal('bad-request', `The body is not ${coding}, as its Content-Encoding says.`));
  });
}

/** The zlib header (RFC 1950, 2.2). Some clients send deflate without it. */
function hasZlibHead([first = 0, second = 0]: Buffer): boolean {
  return first % 16 === 8 && (first * 256 + second) % 31 === 0;
}
