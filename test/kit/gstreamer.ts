/** GStreamer's `shout2send` at the end of a gst-launch pipeline: libshout, with titles from the tags in the pipeline. */

import { alwaysRefused, type EncoderKind } from './encoder-kind.js';
import { Program } from './program.js';

const ENCODERS = {
  mp3: 'lamemp3enc target=bitrate bitrate=128 cbr=true',
  vorbis: 'vorbisenc bitrate=96000 ! oggmux',
  opus: 'opusenc bitrate=96000 ! oggmux',
};

const gstreamer = (codec: keyof typeof ENCODERS, refused: EncoderKind['refused']): EncoderKind => ({
  name: `GStreamer ${codec}`,
  needs: ['gst-launch-1.0'],
  codec,
  start: async (t, { port, mount, password, sound }) => {
    const tags = 'taginject tags=artist="Björk",title="Jóga"';
    const pipeline = `filesrc location=${sound} ! wavparse ! audioconvert ! audioresample ! ${tags} ! ${ENCODERS[codec]}`;
    const out = `shout2send ip=127.0.0.1 port=${port} mount=${mount} password=${password}`;
    return new Program(t, 'gst-launch-1.0', `${pipeline} ! ${out}`.split(' '));
  },
  // The title was sent with the first audio.
  title: async () => undefined,
  refused,
  onLoss: 'ends',
});

const REFUSED = { tries: [1, 1], says: /shout_open\(\) failed: err=Login failed/, ends: true } as const;

export const gstreamers: readonly EncoderKind[] = [
  gstreamer('mp3', alwaysRefused(REFUSED)),
  gstreamer('vorbis', {}),
  gstreamer('opus', {}),
];
