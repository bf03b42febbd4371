/**
 * GStreamer's playbin, which the players of GNOME and KDE use, in gst-launch with a silent sink that keeps time. It prints the titles, its
 * position, and its elements' complaints about the stream.
 */

import { type PlayerKind, titleLine } from './player-program.js';

/** Elements that read, split and decode the stream; messages of others are about this machine. */
const ELEMENTS = String.raw`(?:soup\w*|icydemux|tagdemux|typefind\w*|\w*parse\w*|oggdemux|\w*dec(?<!nvcodec)|libav|audiodecoder|queue2|fakesink|basesink)`;

export const playbin: PlayerKind = {
  program: 'gst-launch-1.0',
  args: (url) => ['-t', '--force-position', 'playbin', `uri=${url}`, 'audio-sink=fakesink sync=true'],
  env: { GST_DEBUG: '2', GST_DEBUG_NO_COLOR: '1' },
  // ICY has one line; Ogg has separate fields.
  shows: (title, codec) => ` title: ${codec === 'mp3' || codec === 'aac' ? titleLine(title) : title.song}\n`,
  complaint: new RegExp(`^(?:ERROR|WARNING):|(?:ERROR|WARN) +${ELEMENTS} `),
  // flacdec prints this for every stream of FLAC in Ogg.
  excused: /Lost sync, flushing decoder/,
  position: /^(\d+):(\d+):(\d+\.\d+) \//,
};
