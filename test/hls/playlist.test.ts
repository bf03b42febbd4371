/** The text of both playlists, byte for byte, and what three readers make of titles that would break it. */

import t from 'tap';
import { clean, type HlsTitle } from '../../src/hls/hls-title.js';
import { type HlsSegment, mediaPlaylist, multivariantPlaylist } from '../../src/hls/playlist.js';
import { readPlaylist } from '../kit/hls-channel.js';

const START_MS = Date.UTC(2026, 10, 27, 1, 12, 27, 801);

function segment(number: number, startMs: number, micros: number, isDiscontinuity = false): HlsSegment {
  const name = `${number}-9f0c3b5a77d1e240.mp3`;
  return { number, name, bytes: Buffer.alloc(1), codecs: 'mp4a.40.34', startMs, micros, isDiscontinuity, end: null };
}

function title(fields: Partial<HlsTitle>): HlsTitle {
  const nothing = { id: 'x.1', title: '', artist: '', album: '', record: '', etype: 0, durationSeconds: 0 };
  return { ...nothing, startMs: START_MS, ...fields };
}

t.test('the media playlist', async (t) => {
  const text = mediaPlaylist({
    targetSeconds: 4,
    discontinuitySequence: 7921,
    segments: [
      segment(1_795_741_941, START_MS, 4_022_857),
      segment(1_795_741_942, START_MS + 4022.857, 2_460_408),
      segment(1_795_741_943, START_MS + 6483.265, 4_000_000, true),
    ],
    titles: [
      title({
        id: '19bd669e-39f5.1',
        startMs: START_MS - 11_777,
        title: 'Feeling Good',
        artist: 'Nina Simone',
        etype: 1001,
        durationSeconds: 174,
        record: '19bd669e-39f5',
      }),
      title({
        id: '4711.3',
        startMs: START_MS + 6483.265,
        title: 'Pata Pata',
        artist: 'Miriam Makeba',
        record: '4711',
      }),
    ],
  });
  t.equal(
    text,
    `#EXTM3U
#EXT-X-VERSION:3
#EXT-X-TARGETDURATION:4
#EXT-X-MEDIA-SEQUENCE:1795741941
#EXT-X-DISCONTINUITY-SEQUENCE:7921
#EXT-X-DATERANGE:ID="19bd669e-39f5.1",CLASS="net.airsplice.title",START-DATE="2026-11-27T01:12:16.024Z",END-ON-NEXT=YES,X-TITLE="Feeling Good",X-ARTIST="Nina Simone",X-ETYPE=1001,X-DURATION=174,X-RECORD="19bd669e-39f5"
#EXT-X-DATERANGE:ID="4711.3",CLASS="net.airsplice.title",START-DATE="2026-11-27T01:12:34.284Z",END-ON-NEXT=YES,X-TITLE="Pata Pata",X-ARTIST="Miriam Makeba",X-RECORD="4711"
#EXT-X-PROGRAM-DATE-TIME:2026-11-27T01:12:27.801Z
#EXTINF:4.022857,
1795741941-9f0c3b5a77d1e240.mp3
#EXT-X-PROGRAM-DATE-TIME:2026-11-27T01:12:31.824Z
#EXTINF:2.460408,
1795741942-9f0c3b5a77d1e240.mp3
#EXT-X-DISCONTINUITY
#EXT-X-PROGRAM-DATE-TIME:2026-11-27T01:12:34.284Z
#EXTINF:4.000000,
1795741943-9f0c3b5a77d1e240.mp3
`,
  );
  const { segments, titles } = readPlaylist(text);
  t.strictSame(
    segments.map(({ isDiscontinuity }) => isDiscontinuity),
    [false, false, true],
  );
  t.equal(titles.length, 2);
});

t.test('the multivariant playlist', async (t) => {
  t.equal(
    multivariantPlaylist({ bandwidth: 140_001, codecs: 'mp4a.40.34', name: 'Airsplice "Studio"\n' }),
    '#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-STREAM-INF:BANDWIDTH=141000,CODECS="mp4a.40.34",NAME="Airsplice ”Studio”"\nhls/live.m3u8\n',
  );
});

t.test('no title can end its line or its attribute, whatever it holds', async (t) => {
  const hostile = [
    '#EXTINF:1,\nevil.mp3',
    '"quoted", X="y"',
    '\r\n#EXT-X-ENDLIST',
    '🎵 emoji, ZWJ 👩‍🎤',
    'lone \ud83c surrogate \udfb5',
    'שלום עולם, RTL \u202e',
    'sep\u2028ara\u2029tors\u0085\u0000',
    'x'.repeat(10_240),
    '🎵'.repeat(301),
    '=,=,",',
  ];
  for (const [i, text] of hostile.entries()) {
    const listing = { targetSeconds: 4, discontinuitySequence: 0, segments: [segment(1, START_MS, 4e6)] };
    const read = readPlaylist(
      mediaPlaylist({ ...listing, titles: [title({ title: clean(text), artist: clean(text) })] }),
    );
    t.equal(read.segments.length, 1, `text ${i}`);
    t.equal(read.titles.length, 1);
    t.equal(read.titles[0]!.attributes['X-TITLE'], clean(text).replaceAll('"', '”'));
    t.ok([...clean(text)].length <= 300);
    t.ok(!/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(clean(text)));
  }
  t.equal(clean('🎵'.repeat(301)), '🎵'.repeat(300), 'whole characters');
});
