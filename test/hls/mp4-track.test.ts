/** What MP4 says of each codec, byte for byte where players read bytes. */

import t from 'tap';
import { initSection } from '../../src/hls/fragment.js';
import { aacTrack, flacTrack, opusTrack } from '../../src/hls/mp4-track.js';
import { adtsHeader } from '../kit/adts.js';
import { flacHeaders, opusHeaders } from '../kit/made-ogg.js';
import { readInit } from '../kit/mp4.js';

/** The AudioSpecificConfig in an esds, which is the last but one of its descriptors. */
function aacConfig(esds: Buffer): string {
  let at = 4;
  for (;;) {
    const tag = esds[at]!;
    const length = esds[at + 4]!;
    if (tag === 5) return esds.toString('hex', at + 5, at + 5 + length);
    at += 5 + (tag === 3 ? 3 : tag === 4 ? 13 : length);
  }
}

t.test('AAC: the configuration follows from the header', async (t) => {
  for (const [header, config, channels, entryRate] of [
    [adtsHeader({ rateIndex: 4, channels: 2 }), '1210', 2, 44_100],
    [adtsHeader({ rateIndex: 3, channels: 1 }), '1188', 1, 48_000],
    [adtsHeader({ rateIndex: 6, channels: 2 }), '1310', 2, 24_000],
    [adtsHeader({ rateIndex: 3, channels: 7 }), '11b8', 8, 48_000],
    [adtsHeader({ rateIndex: 0, channels: 2 }), '1010', 2, 48_000],
    [adtsHeader({ rateIndex: 4, channels: 2, profile: 0 }), '0a10', 2, 44_100],
  ] as const) {
    const track = aacTrack(header, false);
    const init = readInit(initSection(track));
    t.equal(track.codecs, 'mp4a.40.2');
    t.strictSame([init.entry, init.configType, init.channels], ['mp4a', 'esds', channels]);
    t.equal(init.sampleRate, entryRate, 'of 96 kHz the half can be said');
    t.strictSame(init.timescales, [track.sampleRate, track.sampleRate]);
    t.equal(aacConfig(init.config), config);
  }
});

t.test('AAC+: SBR is signalled, at twice the rate; where there is no such rate it is not', async (t) => {
  const track = aacTrack(adtsHeader({ rateIndex: 6, channels: 2 }), true);
  t.equal(track.codecs, 'mp4a.40.5');
  t.equal(track.sampleRate, 24_000, 'frames are counted at the rate of their headers');
  t.equal(aacConfig(readInit(initSection(track)).config), '2b118800');
  t.equal(aacTrack(adtsHeader({ rateIndex: 2, channels: 2 }), true).codecs, 'mp4a.40.2', '128 kHz');
});

t.test('Opus: the identification header, in the other byte order, and nothing is skipped', async (t) => {
  const [stereo] = opusHeaders({ preSkip: 3840, gain: -256 });
  const track = opusTrack(stereo!);
  const init = readInit(initSection(track));
  t.strictSame([track.codecs, track.sampleRate], ['opus', 48_000]);
  t.strictSame([init.entry, init.configType, init.channels, init.sampleRate], ['Opus', 'dOps', 2, 48_000]);
  t.equal(init.config.toString('hex'), '00020000' + '0000bb80' + 'ff00' + '00');
  const surround = Buffer.concat([stereo!.subarray(0, 18), Buffer.from([1, 4, 2, 0, 4, 1, 2, 3, 5])]);
  surround[9] = 6;
  const { channels, config } = readInit(initSection(opusTrack(surround)));
  t.strictSame([channels, config.toString('hex', 10)], [6, '010402000401020305']);
});

t.test('FLAC: STREAMINFO, as the last of its blocks', async (t) => {
  for (const [facts, entryRate] of [
    [{ hertz: 44_100, channels: 2, bits: 16 }, 44_100],
    [{ hertz: 96_000, channels: 6, bits: 24 }, 48_000],
    [{ hertz: 192_000, channels: 1, bits: 32 }, 64_000],
    [{ hertz: 8000, channels: 8, bits: 8 }, 8000],
  ] as const) {
    const [identification] = flacHeaders(facts);
    const track = flacTrack(identification!);
    const init = readInit(initSection(track));
    t.strictSame([track.codecs, track.sampleRate], ['fLaC', facts.hertz]);
    t.strictSame([init.entry, init.configType], ['fLaC', 'dfLa']);
    t.strictSame([init.channels, init.bits, init.sampleRate], [facts.channels, facts.bits, entryRate]);
    t.equal(init.config.toString('hex', 0, 8), '00000000' + '80000022');
    const info = init.config.subarray(8);
    t.equal(info.length, 34);
    t.strictSame(
      [info.readUInt16BE(0), info.readUInt16BE(2)],
      [4096, 65_535],
      'sizes of blocks: decoders rely on them',
    );
    t.equal(info.readUIntBE(10, 3) >> 4, facts.hertz);
    t.ok(info.subarray(14).every((byte) => byte === 0));
  }
});

t.test('what plays no differently is the same track', async (t) => {
  const [one] = opusHeaders({ preSkip: 312 });
  const [other] = opusHeaders({ preSkip: 3840 });
  other!.writeUInt32LE(44_100, 12);
  t.ok(opusTrack(one!).entry.equals(opusTrack(other!).entry));
  t.notOk(opusTrack(one!).entry.equals(opusTrack(opusHeaders({ gain: 1 })[0]!).entry), 'a gain is heard');
  t.notOk(opusTrack(one!).entry.equals(opusTrack(opusHeaders({ channels: 1 })[0]!).entry));
  const [flac] = flacHeaders({ hertz: 48_000 });
  const later = Buffer.from(flac!);
  later.fill(7, 21, 27);
  later.fill(7, 31);
  t.ok(flacTrack(flac!).entry.equals(flacTrack(later).entry));
  t.notOk(flacTrack(flac!).entry.equals(flacTrack(flacHeaders({ hertz: 48_000, bits: 24 })[0]!).entry));
});
