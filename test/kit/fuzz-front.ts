/**
 * The fuzzer of the front and the encoder services: transcripts of real encoders, mutated with words of their grammar, in pieces of any size, from
 * connections that end politely, break, or never end. Without a network, so that it plays many per second.
 */

import { ANSWERS, FrontHarness, Pipe } from './front-harness.js';
import { cut, mutant } from './fuzz.js';
import { pause } from './pause.js';
import type { Random } from './random.js';
import { TRANSCRIPTS } from './transcripts.js';

const SEEDS = Object.values(TRANSCRIPTS).map(({ bytes }) => bytes);
const WORDS = [
  ...[
    '\r\n',
    '\n',
    '\r',
    '\r\r\n',
    '\n\n',
    '\r\n\r\n',
    ':',
    ' ',
    '\0',
    '\xff',
    '/',
    '!',
    '#',
    '?',
    '\t',
    ',',
    '%',
    '\x16\x03\x01',
  ],
  ...[
    'hackme',
    'both',
    'dj:',
    ':#1',
    '/live:',
    '/live',
    '!POKE',
    'PUT ',
    'SOURCE ',
    'GET ',
    'POST ',
    'OPTIONS * ',
    'PUT /metapush/',
    'GET /admin.cgi?',
    'POST /admin/metadata?',
  ],
  ...[
    ' HTTP/1.0',
    ' HTTP/1.1',
    ' ICE/1.0',
    'Expect: 100-continue\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: 5\r\n',
  ],
  ...[
    'Content-Length: 0\r\n',
    'Content-Length: -1\r\n',
    'Transfer-Encoding: gzip\r\n',
    'Authorization: Basic c291cmNlOmhhY2ttZQ==\r\n',
  ],
  ...[
    'content-type:audio/mpeg\r\n',
    'Content-Type: application/ogg\r\n',
    'icy-name:',
    'FFFFFFFF\r\n',
    '0\r\n\r\n',
    ';ext',
    '5\r\nabcde\r\n',
  ],
].map((word) => Buffer.from(word, 'latin1'));

export interface Tally {
  /** First words of the answer → number; "": no answer. */
  readonly answers: Map<string, number>;
  fed: number;
}

/** Plays `count` connections; throws at the first fault, with the seed and the bytes. */
export async function fuzzFronts(random: Random, count: number): Promise<Tally> {
  const tally: Tally = { answers: new Map(), fed: 0 };
  const atOnce = 1000;
  for (let played = 0; played < count; played += atOnce) {
    // Long enough for a busy machine; a connection that never ends costs its batch this time.
    const harness = new FrontHarness(300);
    const batch = Array.from({ length: Math.min(atOnce, count - played) }, () => {
      const bytes = mutant(random, SEEDS, WORDS);
      const pieces = cut(bytes, random);
      // Connections that never end are in one batch of ten, to share that time.
      const isLong = Math.floor(played / atOnce) % 10 === 0 && random.chance(0.2);
      return { bytes, pipe: new Pipe(pieces, isLong ? 'never' : random.chance(0.2) ? 'reset' : 'fin') };
    });
    await Promise.all(
      batch.map(({ bytes, pipe }) =>
        over(harness, pipe, `seed ${random.seed}: ${JSON.stringify(bytes.toString('latin1'))}`),
      ),
    );
    tally.fed += harness.fed.length;
    for (const { bytes, pipe } of batch) {
      const first = pipe.received.slice(0, pipe.received.search(/\r\n|$/));
      tally.answers.set(first, (tally.answers.get(first) ?? 0) + 1);
      if (!ANSWERS.test(pipe.received)) {
        throw new Error(
          `seed ${random.seed}: ${JSON.stringify(bytes.toString('latin1'))} was answered ${JSON.stringify(pipe.received)}`,
        );
      }
    }
    await harness.close();
  }
  return tally;
}

/** Resolves when the connection is closed, or belongs to a source or the HTTP server. */
async function over(harness: FrontHarness, pipe: Pipe, why: string): Promise<void> {
  const endMs = performance.now() + 20_000;
  harness.front.take(pipe.socket);
  while (!pipe.destroyed) {
    if (harness.hasGivenAway(pipe.socket)) {
      if (pipe.isSpent) return void pipe.destroy();
    } else if (performance.now() > endMs) throw new Error(`still open: ${why}`);
    await pause(5);
  }
}
