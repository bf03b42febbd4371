/**
 * A tape of Ogg that another process goes on with, cut anywhere: its last link ends, another begins, and whoever listens hears every packet once. Real
 * files, decoded by ffmpeg.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { framerFor } from '../../../src/audio/frames/format.js';
import { OggLink } from '../../../src/audio/ogg/ogg-link.js';
import { linkEndOf } from '../../../src/audio/ogg/ogg-link-end.js';
import { PAGE_HEADER_BYTES } from '../../../src/audio/ogg/ogg-page.js';
import type { OggTape } from '../../../src/audio/ogg/ogg-tape.js';
import { frameOf } from '../../kit/frame-of.js';
import { isLong } from '../../kit/long.js';
import { chainOf } from '../../kit/ogg-chain.js';
import { joinedAt } from '../../kit/ogg-joins.js';
import { missing } from '../../kit/program.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { DEMO_AUDIO } from '../../kit/server.js';

const SKIP = missing('ffmpeg');
const ROUNDS = isLong ? 40 : 4;
const folder = t.testdir();
const CODECS = {
  vorbis: ['-c:a', 'libvorbis', '-b:a', '96k'],
  opus: ['-c:a', 'libopus', '-b:a', '64k'],
  flac: ['-c:a', 'flac'],
};
type Codec = keyof typeof CODECS;

interface Packet {
  readonly bytes: Buffer;
  readonly ms: number;
  readonly link: OggLink;
}

/** Ten seconds. */
function packetsOf(codec: Codec): Packet[] {
  const path = join(folder, `${codec}.ogg`);
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-t', '10', '-i', DEMO_AUDIO, '-ar', '48000', ...CODECS[codec], path]);
  return read(readFileSync(path)).packets;
}

function read(bytes: Buffer): { readonly packets: Packet[]; readonly skippedBytes: number } {
  const packets: Packet[] = [];
  const framer = framerFor({
    onFrame: ({ bytes: one, durationMs: ms, link }) => packets.push({ bytes: Buffer.from(one), ms, link: link! }),
  });
  framer.push(bytes);
  return { packets, skippedBytes: framer.counters.skippedBytes };
}

function channel(): ChannelAudio {
  return new ChannelAudio({ now: () => 0, key: 'one', lagMs: 3_600_000 });
}

/** Writes them, with titles now and then. */
function play(audio: ChannelAudio, packets: readonly Packet[], random: Random, isFresh: boolean): void {
  packets.forEach(({ bytes, ms, link }, i) => {
    if (random.chance(0.02)) audio.title(viewOf(`Title ${random.int(0, 1e9)}`, { id: `${random.int(0, 1e9)}` }));
    audio.write(frameOf(bytes, ms, 64, isFresh && i === 0, link));
  });
}

/** What a reader counts of the seam behind these segments: an empty page, and the head of a link in which nothing came. */
function emptyBytes(tape: OggTape, head: number): number {
  return PAGE_HEADER_BYTES + tape.at(head - 1)!.linkBytes;
}

/** Samples that ffmpeg plays, at 48 kHz. Its own decoder of Vorbis drops a short block at the end of some links; libvorbis none. */
function decoded(bytes: Buffer, codec: Codec): number {
  const decoder = codec === 'vorbis' ? ['-c:a', 'libvorbis'] : [];
  const output = ['-f', 's16le', '-ac', '1', '-ar', '48000', '-'];
  const options = ['-v', 'error', '-xerror', '-f', 'ogg', ...decoder, '-i', '-', ...output];
  return execFileSync('ffmpeg', options, { input: bytes, maxBuffer: 2 ** 28 }).length / 2;
}

/** Packets of Opus that a link has again from the one before, taken out. */
function once(packets: readonly Packet[]): string[] {
  const out: string[] = [];
  packets.forEach(({ bytes, link }, i) => {
    const key = bytes.toString('base64');
    const isLinkBegun = i > 0 && packets[i - 1]!.link !== link;
    // A whole packet: those of 20 ms take 80 ms, four of them.
    if (isLinkBegun && link.facts.codec === 'opus') {
      const before = out.lastIndexOf(key);
      if (before >= out.length - 4) out.length = before;
    }
    out.push(key);
  });
  return out;
}

for (const codec of Object.keys(CODECS) as Codec[]) {
  t.test(`${codec}: handed over, not a packet is missing, nor comes twice`, { skip: SKIP }, async (t) => {
    const packets = packetsOf(codec);
    for (let round = 0; round < ROUNDS; round++) {
      const random = new Random();
      const cut = random.int(packets.length >> 2, packets.length - (packets.length >> 2));
      const [before, after] = [channel(), channel()];
      play(before, packets.slice(0, cut), random, true);
      const title = viewOf('At the cut', { id: 'cut' });
      if (random.chance(0.5)) before.title(title);
      const open = (before.tape as OggTape).leave();
      const had = before.tape!.head;
      const { link } = packets[0]!;
      // Another process has made it anew.
      const same = new OggLink(link.packets(null, 0));
      const tape = after.adopt(before, open) as OggTape;
      play(
        after,
        packets.slice(cut).map((packet) => ({ ...packet, link: same })),
        random,
        false,
      );
      const why = `seed ${random.seed}, cut at ${cut}`;
      const bytes = joinedAt(tape, 0);
      t.equal(chainOf(bytes).fault, '', why);
      const heard = read(bytes);
      t.equal(heard.skippedBytes, emptyBytes(tape, had), why);
      const wanted = packets.map((packet) => packet.bytes.toString('base64'));
      const got = once(heard.packets);
      t.same(got, wanted.slice(0, got.length), why);
      // From wherever it joins: before, at and behind the seam.
      for (const from of [had - 2, had, had + 1]) {
        const first = tape.lastEntry(from);
        const joined = joinedAt(tape, first);
        if (chainOf(joined).fault !== '') t.fail(`${why}, joined at ${first}: ${chainOf(joined).fault}`);
        const wantedSamples = (tape.edgeMs - tape.at(first)!.entryMs) * 48;
        const samples = decoded(joined, codec);
        if (Math.abs(samples - wantedSamples) > 8)
          t.fail(`${why}, joined at ${first}: ${samples}, not ${wantedSamples}`);
      }
    }
  });

  t.test(`${codec}: killed, what is there ends, and any source goes on`, { skip: SKIP }, async (t) => {
    const packets = packetsOf(codec);
    for (let round = 0; round < ROUNDS; round++) {
      const random = new Random();
      const cut = random.int(packets.length >> 2, packets.length - (packets.length >> 2));
      const [before, after] = [channel(), channel()];
      play(before, packets.slice(0, cut), random, true);
      const { head, edgeMs } = before.tape!;
      const known = linkEndOf(before.tape!.at(head - 1) as ReturnType<OggTape['at']> & object);
      t.equal(known.link.facts.codec, codec);
      const tape = after.adopt(before) as OggTape;
      play(after, packets, random, true);
      const why = `seed ${random.seed}, cut at ${cut}`;
      const bytes = joinedAt(tape, 0);
      t.equal(chainOf(bytes).fault, '', why);
      t.equal(tape.at(head)!.startMs, edgeMs, 'the tape goes on');
      const heard = read(bytes);
      t.equal(heard.skippedBytes, emptyBytes(tape, head), why);
      const all = packets.map((packet) => packet.bytes.toString('base64'));
      const got = once(heard.packets);
      const again = got.lastIndexOf(all[0]!);
      t.same(got.slice(0, again), all.slice(0, again), why);
      t.same(got.slice(again), all.slice(0, got.length - again), why);
      const first = tape.lastEntry(head);
      t.ok(decoded(joinedAt(tape, first), codec) > 0);
      t.ok(first < head, 'nobody begins with the seam');
    }
  });
}
