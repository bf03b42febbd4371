/** The text of both playlists, byte for byte, and what three readers make of titles that would break it. */

import t from 'tap';
import { clean, type HlsTitle } from '../../src/hls/hls-title.js';
import { type HlsInit, type HlsSegment, mediaPlaylist, multivariantPlaylist } from '../../src/hls/playlist.js';
import { readPlaylist } from '../kit/hls-channel.js';

const START_MS = Date.UTC(2026, 10, 27, 1, 12, 27, 801);

function segment(number: number, startMs: number, micros: number, isDiscontinuity = false): HlsSegment {
  const name = `${number}-9f0c3b5a77d1e240.mp3`;
  const facts = { number, name, bytes: Buffer.alloc(1), init: null, codecs: 'mp4a.40.34' };
  return { ...facts, startMs, micros, isDiscontinuity, end: null };
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

t.test('fMP4: version 7, and what its segments need, again behind each discontinuity', async (t) => {
  const [one, other] = ['init-0123456789abcdef.mp4', 'init-fedcba9876543210.mp4'].map((name) => ({
    name,
    bytes: Buffer.alloc(1),
  }));
  const fragment = (number: number, init: HlsInit, isDiscontinuity = false) => {
    const made = segment(number, START_MS + number * 4000, 4e6, isDiscontinuity);
    return { ...made, name: `${number}.m4s`, init };
  };
  const segments = [fragment(1, one!), fragment(2, one!), fragment(3, one!, true), fragment(4, other!, true)];
  // Another initialization without a discontinuity is said too.
  const text = mediaPlaylist({
    targetSeconds: 4,
    discontinuitySequence: 1,
    segments: [...segments, fragment(5, one!)],
    titles: [],
  });
  const lines = text.split('\n').filter((line) => /VERSION|MAP|DISCONTINUITY$|m4s/.test(line));
  t.strictSame(lines, [
    '#EXT-X-VERSION:7',
    '#EXT-X-MAP:URI="init-0123456789abcdef.mp4"',
    '1.m4s',
    '2.m4s',
    '#EXT-X-DISCONTINUITY',
    '#EXT-X-MAP:URI="init-0123456789abcdef.mp4"',
    '3.m4s',
    '#EXT-X-DISCONTINUITY',
    '#EXT-X-MAP:URI="init-fedcba9876543210.mp4"',
    '4.m4s',
    '#EXT-X-MAP:URI="init-0123456789abcdef.mp4"',
    '5.m4s',
  ]);
  t.strictSame(
    readPlaylist(text).segments.map(({ init }) => init),
    [one, one, one, other, one].map((init) => init!.name),
  );
});

t.test('the multivariant playlist', async (t) => {
  t.equal(
    multivariantPlaylist({ bandwidth: 140_001, codecs: 'mp4a.40.34', name: 'Airsplice "Studio"\n', token: null }),
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
