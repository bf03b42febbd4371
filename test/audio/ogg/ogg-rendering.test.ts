/**
 * A joiner of Ogg hears a stream that begins at 0, wherever it joins: its pages are numbered and placed from there until its first link
 * ends, their CRCs are right, and the first sample that a decoder plays lies at the segment's `entryMs`. Real files, decoded by ffmpeg.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ChannelAudio } from '../../../src/audio/channel-audio.js';
import { framerFor } from '../../../src/audio/frames/format.js';
import { LAST, moveBack, type OggPage, PageWriter, pageBytes, readPage } from '../../../src/audio/ogg/ogg-page.js';
import type { OggTape } from '../../../src/audio/ogg/ogg-tape.js';
import { frameOf } from '../../kit/frame-of.js';
import { isLong } from '../../kit/long.js';
import { joinedAt } from '../../kit/ogg-joins.js';
import { missing } from '../../kit/program.js';
import { Random } from '../../kit/random.js';
import { viewOf } from '../../kit/record.js';
import { DEMO_AUDIO } from '../../kit/server.js';

const SKIP = missing('ffmpeg');
const folder = t.testdir();
const CODECS = {
  vorbis: ['-c:a', 'libvorbis', '-b:a', '96k'],
  opus: ['-c:a', 'libopus', '-b:a', '64k'],
  flac: ['-c:a', 'flac'],
};
type Codec = keyof typeof CODECS;
/** A title begins a link after so many packets. */
const TITLE_EVERY: Record<Codec, number> = { vorbis: 300, opus: 300, flac: 60 };

function tapeOf(codec: Codec): OggTape {
  const path = join(folder, `${codec}.ogg`);
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-t', '20', '-i', DEMO_AUDIO, '-ar', '48000', ...CODECS[codec], path]);
  const channel = new ChannelAudio({ now: () => performance.now(), key: 'one', lagMs: 3_600_000, icyInOgg: true });
  let packets = 0;
  framerFor({
    onFrame: ({ bytes: packet, durationMs: ms, fresh, link }) => {
      if (packets++ % TITLE_EVERY[codec] === 0) channel.title(viewOf(`Title ${packets}`, { id: `${packets}` }));
      channel.write(frameOf(packet, ms, 64, fresh, link));
    },
  }).push(readFileSync(path));
  return channel.tape as OggTape;
}

/** All pages, with right CRCs. */
function pagesOf(bytes: Buffer): OggPage[] {
  const pages: OggPage[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = pageBytes(bytes, at, bytes.length - at);
    pages.push(readPage(bytes.subarray(at, at + length))!);
    at += length;
  }
  return pages;
}

/** Samples that ffmpeg's decoder plays, at 48 kHz. */
function decoded(bytes: Buffer): number {
  const options = ['-v', 'error', '-xerror', '-f', 'ogg', '-i', '-', '-f', 's16le', '-ac', '1', '-ar', '48000', '-'];
  return execFileSync('ffmpeg', options, { input: bytes, maxBuffer: 2 ** 28 }).length / 2;
}

t.test('a page moved back is the page that would have been written there', async (t) => {
  const random = new Random();
  for (let i = 0; i < 300; i++) {
    const body = random.bytes(random.chance(0.2) ? random.int(60_000, 64_770) : random.int(0, 20_000));
    const [granules, pages] = [random.int(0, random.chance(0.3) ? 2 ** 45 : 2 ** 20), random.int(0, 2 ** 31)];
    const page = (granule: number, number: number) => {
      const writer = new PageWriter(7, number, 0);
      writer.packet(body, granule);
      writer.end();
      return writer.take();
    };
    const [granule, number] = [random.int(0, 2 ** 30), random.int(0, 1000)];
    const moved = page(granule + granules, number + pages);
    const header = moved.subarray(0, 27 + moved[26]!);
    if (moveBack(header, granules, pages) !== moved.length || !moved.equals(page(granule, number)))
      return void t.fail(`seed ${random.seed}: ${body.length} bytes, ${granules} granules, ${pages} pages`);
  }
  // A packet larger than a page: no packet ends in the first, which has no position.
  const writer = new PageWriter(7, 20, 0);
  writer.packet(Buffer.alloc(70_000), 5000);
  writer.end();
  const first = writer.take().subarray(0, 27 + 255 + 255 * 255);
  moveBack(first.subarray(0, 27 + 255), 4000, 10);
  t.match(readPage(first), { granule: -1, sequence: 10 });
});

for (const codec of Object.keys(CODECS) as Codec[]) {
  t.test(`${codec}: joined at each segment`, { skip: SKIP }, async (t) => {
    const tape = tapeOf(codec);
    t.ok(tape.head > 10, `${tape.head} segments`);
    let [early, links] = [0, 0];
    for (let from = 0; from < tape.head - 1; from++) {
      const first = tape.at(from)!;
      let linkEnd = from;
      while (linkEnd < tape.head - 1 && tape.at(linkEnd)!.linkBytes === 0) linkEnd++;
      const bytes = joinedAt(tape, from, linkEnd + 1);
      const pages = pagesOf(bytes);
      if (pages.some((page) => page === null)) return void t.fail(`from ${from}: a wrong CRC`);
      const { serial } = pages[0]!;
      const own = pages.filter((page) => page.serial === serial);
      if (own.some(({ sequence }, i) => sequence !== i))
        t.fail(`from ${from}: pages ${own.map((page) => page.sequence)}`);
      const lost = (first.entryMs - first.startMs) * 48;
      if (lost > 0) early++;
      // Until the end of its link, or a little before it: an open link has no end that a decoder would trim at.
      const isEnded = (own.at(-1)!.flags & LAST) !== 0;
      if (isEnded) links++;
      const wanted = (tape.at(linkEnd)!.endMs - first.entryMs) * 48;
      // What is not played counts in positions: of Opus all of the pre-skip, of Vorbis the first packet.
      const skipped = codec === 'opus' ? pages[0]!.body.readUInt16LE(10) : lost;
      const end = own.at(-1)!.granule - skipped;
      if (Math.abs(end - wanted) > 1) t.fail(`from ${from}: ends at ${end}, not ${wanted}`);
      if (!isLong && from % 4 > 0) continue;
      const head = isEnded ? tape.at(linkEnd)!.linkBytes : 0;
      const samples = decoded(bytes.subarray(0, bytes.length - head));
      if (Math.abs(samples - wanted) > 1) t.fail(`from ${from}: plays ${samples} samples, not ${wanted}`);
    }
    t.ok(links > 5, `${links} joins into links that end`);
    t.equal(early > 0, codec !== 'flac', 'what a decoder does not play');
  });
}

t.test('from its second link on a listener is sent what all are', { skip: SKIP }, async (t) => {
  const tape = tapeOf('opus');
  for (const icy of [false, true]) {
    const rendering = tape.rendering(icy);
    let isShared = false;
    for (let seq = 1; seq < tape.head; seq++) {
      const segment = tape.at(seq)!;
      t.equal(rendering.isShared, isShared);
      if (isShared) t.strictSame(rendering.next(segment.plain, segment), [segment.plain], 'the very buffer');
      else rendering.next(seq === 1 ? segment.entered() : segment.plain, segment);
      if (segment.linkBytes > 0 && !icy) isShared = true;
    }
    t.equal(isShared, !icy, 'with ICY it keeps its phase');
  }
});
