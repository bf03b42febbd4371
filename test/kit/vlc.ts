/**
 * VLC's stream output to a radio server (`access=shout`, libshout): MP3 by SHOUTcast v1 first and then by HTTP, Ogg by HTTP only. It
 * refuses to run as root.
 */

import { dirname } from 'node:path';
import type { EncoderKind } from './encoder-kind.js';
import { asNobody, giveToNobody } from './nobody.js';
import { Program } from './program.js';
import { makeTagged } from './tagged.js';
import { tempFolder } from './temp-folder.js';

const HERTZ = 44_100;
const SECONDS = 60;

const vlc = (
  codec: 'mp3' | 'vorbis',
  out: string,
  rest: Pick<EncoderKind, 'title' | 'refused' | 'resumesHeadless'>,
): EncoderKind => ({
  name: `VLC ${codec}`,
  needs: ['cvlc', ...asNobody.slice(0, 1)],
  codec,
  start: async (t, { port, mount, password }) => {
    const folder = tempFolder(t);
    const tone = { hertz: HERTZ, seconds: SECONDS, type: codec === 'mp3' ? 'flac' : 'ogg' };
    const file = makeTagged(t, { artist: 'Björk', title: 'Jóga' }, tone);
    giveToNobody(folder, dirname(file));
    const sout = `${out},dst=source:${password}@127.0.0.1:${port}${mount}}`;
    const args = ['-v', '--no-color', '--no-dbus', '-I', 'dummy', '--loop', file, '--sout', sout];
    const [command, ...before] = [...asNobody, 'cvlc'];
    return new Program(t, command!, [...before, ...args], { HOME: folder });
  },
  ...rest,
  onLoss: { backWithinMs: 30_000 },
});

/** It retries every 30 s, MP3 by both protocols each time. */
const REFUSED = {
  tries: [1, 2],
  says: /unable to establish connection/,
  ends: false,
} as const;

export const vlcs: readonly EncoderKind[] = [
  // A SHOUTcast v1 login names no mount: there is no 404. For MP3 a program must give libshout its titles; VLC does not.
  vlc('mp3', '#transcode{acodec=mp3,ab=128}:std{access=shout{mp3},mux=raw', {
    refused: { 400: REFUSED, 401: REFUSED, 409: REFUSED, 429: REFUSED, 501: REFUSED, 503: REFUSED },
  }),
  // The title was sent with the first audio.
  vlc('vorbis', '#std{access=shout,mux=ogg', {
    title: async () => undefined,
    resumesHeadless: true,
    refused: { 404: REFUSED },
  }),
];
