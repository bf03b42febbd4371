/** What can be played and what cannot, as the start of the server judges it. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { audioFormat, audioProblem } from '../../../src/source/files/audio-file.js';
import { opusLink } from '../../kit/made-ogg.js';
import { Random } from '../../kit/random.js';
import { DEMO_AUDIO } from '../../kit/server.js';
import { tempFolder } from '../../kit/temp-folder.js';

const MP3 = readFileSync(DEMO_AUDIO);

/** An ID3v2 tag of so many bytes, as one with a picture has. */
function tagged(bytes: number): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 0x7f);
  return Buffer.concat([Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, ...size]), Buffer.alloc(bytes, 'picture'), MP3]);
}

/** PCM that is loud noise, which has all bytes there are. */
function wav(bytes: number, random: Random): Buffer {
  const data = Buffer.from(Array.from({ length: bytes }, () => random.int(0, 255)));
  return Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0', 'latin1'), data]);
}

t.test('files that are no audio of ours are named for what they are', async (t) => {
  const folder = tempFolder(t);
  const judged = (name: string, bytes: Buffer | string) => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return audioProblem(path);
  };
  const none = 'has no playable MP3, AAC (ADTS) or Ogg audio';
  t.equal(judged('empty.mp3', ''), `${none} (it is empty)`);
  t.equal(judged('a.wav', wav(200_000, new Random(1))), `${none} (it looks like WAV)`);
  t.equal(
    judged('a.m4a', Buffer.concat([Buffer.from('\0\0\0\x20ftypM4A '), Buffer.alloc(3_000_000)])),
    `${none} (it looks like MP4)`,
  );
  t.equal(
    judged('a.png', Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100)])),
    `${none} (it looks like a PNG image)`,
  );
  t.equal(judged('a.jpg', Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF', 'latin1')), `${none} (it looks like a JPEG image)`);
  t.equal(judged('page.mp3', '<!doctype html><title>404</title>'), `${none} (it looks like text)`);
  t.equal(judged('zeros.mp3', Buffer.alloc(2_000_000)), none);
  t.equal(judged('one-frame.mp3', MP3.subarray(0, 300)), none, 'less than a frame');
  t.equal(judged('good.mp3', MP3), null);
  for (const bytes of [700_000, 5_000_000])
    t.equal(judged('picture.mp3', tagged(bytes)), null, 'a tag with a picture before the first frame');
  t.equal(
    judged('dirt.mp3', Buffer.concat([Buffer.alloc(900_000), MP3])),
    null,
    'dirt before it, as much as the player takes',
  );
  t.equal(judged('dirty.mp3', Buffer.concat([Buffer.alloc(1_200_000), MP3])), none, 'more');
  t.throws(() => audioProblem(join(folder, 'none.mp3')), /ENOENT/);
});

t.test('what it plays, by its first frame', async (t) => {
  const folder = tempFolder(t);
  const path = (name: string, bytes: Buffer) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  t.same(await audioFormat(DEMO_AUDIO), { codec: 'mp3', sampleRate: 44_100, channels: 2 });
  t.same(await audioFormat(path('picture.mp3', tagged(700_000))), { codec: 'mp3', sampleRate: 44_100, channels: 2 });
  t.match(await audioFormat(path('a.opus', opusLink(1, 100))), { codec: 'opus', sampleRate: 48_000, channels: 2 });
  t.equal(await audioFormat(path('none.mp3', Buffer.alloc(2_000_000))), null);
  t.equal(await audioFormat(folder), null, 'nothing that is opened could hang');
  await t.rejects(audioFormat(join(folder, 'missing.mp3')), /ENOENT/);
});
