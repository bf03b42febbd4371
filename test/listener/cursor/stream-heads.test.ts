/** Heads that are rendered once: the same bytes while nothing in them is different, and never those of another answer. */

import t from 'tap';
import { type AudioFacts, type HeadFacts, streamHead } from '../../../src/listener/cursor/stream-head.js';
import { StreamHeads } from '../../../src/listener/cursor/stream-heads.js';
import { Random } from '../../kit/random.js';

const FACTS: HeadFacts = {
  key: 'demo',
  name: 'N',
  genre: '',
  url: '',
  description: '',
  public: undefined,
  bitrateKbps: 0,
  audioInfo: '',
  sampleRate: 0,
  channels: 0,
  oggType: 'audio/ogg',
  server: 'airsplice',
  headers: {},
  info: [],
};
const NO_HEADERS = {};

t.test('whatever changes between two listeners, each gets the head that is right for it', async (t) => {
  const random = new Random();
  const heads = new StreamHeads();
  const mounts = [FACTS, { ...FACTS, name: 'O' }];
  const addresses = [NO_HEADERS, { Sunset: 'soon' }];
  const audio = { contentType: 'audio/mpeg', bitrateKbps: 128, sampleRate: 44_100, channels: 2 };
  let shared = 0;
  let last: Buffer = Buffer.alloc(0);
  for (let i = 0; i < 1000; i++) {
    if (random.chance(0.05)) audio.contentType = random.chance(0.5) ? 'audio/aac' : 'audio/mpeg';
    if (random.chance(0.05)) audio.bitrateKbps = random.int(1, 3) * 64;
    if (random.chance(0.05)) audio.sampleRate = random.int(1, 2) * 22_050;
    if (random.chance(0.05)) audio.channels = random.int(1, 2);
    const facts = mounts[Number(random.chance(0.1))]!;
    const metaint = random.chance(0.2) ? null : random.chance(0.9) ? 4000 : 8000;
    const address = addresses[Number(random.chance(0.1))]!;
    const head = heads.head(facts, audio, metaint, address);
    const own = streamHead(facts, { ...audio } satisfies AudioFacts, metaint, address);
    if (!head.equals(own)) t.fail(`seed ${random.seed}, ${i}: ${head} in place of ${own}`);
    if (head === last) shared++;
    else if (own.equals(last)) t.fail(`seed ${random.seed}, ${i}: rendered again, though nothing is different`);
    last = head;
  }
  t.ok(shared > 0, `seed ${random.seed}: ${shared} of 1,000 are the buffer before`);
});
