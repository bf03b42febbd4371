/**
 * Makes what two channels of the demo play, and a cover for each of its titles. All of it is computed here, so it is the project's own and under its
 * license (airsplice.mp3, of the third channel, is too). `node config/demo/make.mjs` writes the files beside this one; it needs ffmpeg with libmp3lame.
 *
 *   song = chords + a pattern + what plays it ─► one buffer of 60 s, whose end rings into its beginning ─► reverb ─► ffmpeg
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const RATE = 44_100;
/** Of each title. The places in config/demo.yaml are multiples of it. */
const SONG_SECONDS = 20;
const SONGS = 3;
const SAMPLES = RATE * SONG_SECONDS * SONGS;
const TURN = 2 * Math.PI;

/** The same numbers each time. */
let seed = 1;
function random() {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed / 2_147_483_648;
}

const hertz = (note) => 440 * 2 ** ((note - 69) / 12);

/** Two channels of a loop, to which notes are added. */
class Mix {
  left = new Float32Array(SAMPLES);
  right = new Float32Array(SAMPLES);

  /** @param wave the sample at a time since the note's beginning, in seconds @param pan -1 to 1 */
  add(atSeconds, seconds, pan, wave) {
    const [toLeft, toRight] = [Math.cos((pan + 1) * TURN / 8), Math.sin((pan + 1) * TURN / 8)];
    const first = Math.round(atSeconds * RATE);
    const count = Math.round(seconds * RATE);
    for (let i = 0; i < count; i++) {
      const value = wave(i / RATE) * Math.min(1, (count - i) / 400);
      const at = (first + i) % SAMPLES;
      this.left[at] += value * toLeft;
      this.right[at] += value * toRight;
    }
  }

  /** @param wet how much of the room */
  in(wet) {
    const room = reverb(this.left, this.right);
    for (let i = 0; i < SAMPLES; i++) {
      this.left[i] += wet * room.left[i];
      this.right[i] += wet * room.right[i];
    }
    return this;
  }
}

/** A room after Schroeder: combs side by side, and allpasses behind them. Twice round the loop, so that its end rings into its beginning. */
function reverb(left, right) {
  const side = (dry, delays) => {
    const sum = new Float32Array(SAMPLES);
    for (const delay of delays) {
      const line = new Float32Array(delay);
      let dark = 0;
      for (let i = 0; i < 2 * SAMPLES; i++) {
        const out = line[i % delay];
        dark += 0.45 * (out - dark);
        line[i % delay] = dry[i % SAMPLES] + 0.84 * dark;
        if (i >= SAMPLES) sum[i - SAMPLES] += out / delays.length;
      }
    }
    for (const delay of [556, 441, 225]) {
      const line = new Float32Array(delay);
      for (let i = 0; i < SAMPLES; i++) {
        const held = line[i % delay];
        line[i % delay] = sum[i] + 0.5 * held;
        sum[i] = held - 0.5 * line[i % delay];
      }
    }
    return sum;
  };
  return {
    left: side(left, [1687, 1601, 2053, 2251, 2579, 2903]),
    right: side(right, [1709, 1627, 2081, 2273, 2609, 2927]),
  };
}

// What plays.

/** An electric piano. */
function piano(mix, at, note, loud, pan, seconds) {
  const f = hertz(note) * TURN;
  mix.add(at, seconds + 0.5, pan, (t) => {
    const strike = 1.3 * loud * 5 * Math.exp(-t * 3.2) * Math.sin(f * t);
    const tine = 0.12 * Math.sin(f * 7 * t) * Math.exp(-t * 16);
    const held = t < seconds ? 1 : Math.exp(-(t - seconds) * 9);
    const shake = 1 + 0.16 * Math.sin(TURN * 4.6 * t);
    return loud * held * shake * Math.min(1, t * 400) * Math.exp(-t * 0.8) * (Math.sin(f * t + strike * 0.5) + tine);
  });
}

/** Slow strings: a few partials, each a little out of tune. */
function pad(mix, at, note, loud, seconds, bright = 0.5) {
  for (const [pan, cents] of [[-0.7, -5], [0.7, 5], [0, 0]]) {
    const f = hertz(note) * 2 ** (cents / 1200) * TURN;
    const phase = random() * TURN;
    const drift = 0.05 + random() * 0.07;
    mix.add(at, seconds, pan, (t) => {
      const swell = Math.sin((Math.PI * t) / seconds) ** 1.2;
      const open = bright * (0.6 + 0.4 * Math.sin(TURN * drift * t + phase));
      let value = 0;
      for (let partial = 1, part = 1; partial <= 5; partial++, part *= open) value += (part / partial) * Math.sin(f * partial * t + phase * partial);
      return 0.45 * loud * swell * value;
    });
  }
}

/** Glass. */
function bell(mix, at, note, loud, pan) {
  const f = hertz(note) * TURN;
  mix.add(at, 4.5, pan, (t) => {
    const struck = Math.sin(f * t + 1.1 * Math.exp(-t * 2.6) * Math.sin(f * 3.5 * t));
    return loud * Math.min(1, t * 250) * Math.exp(-t * 1.25) * struck;
  });
}

function bass(mix, at, note, loud, seconds) {
  const f = hertz(note) * TURN;
  mix.add(at, seconds, 0, (t) => {
    const shape = Math.min(1, t * 120) * Math.min(1, (seconds - t) * 25) * Math.exp(-t * 0.9);
    return loud * shape * (Math.sin(f * t) + 0.28 * Math.sin(2 * f * t) + 0.08 * Math.sin(3 * f * t));
  });
}

function kick(mix, at, loud) {
  mix.add(at, 0.35, 0, (t) => loud * Math.exp(-t * 11) * Math.sin(TURN * (46 * t + 2.6 * (1 - Math.exp(-t * 32)))));
}

/** Noise, high when it is bright. */
function brush(mix, at, loud, decay, pan, bright) {
  let low = 0;
  mix.add(at, 6 / decay, pan, (t) => {
    const noise = 2 * random() - 1;
    low += (1 - bright) * (noise - low);
    return loud * Math.exp(-t * decay) * Math.min(1, t * 700) * (bright > 0.5 ? noise - low : low * 2);
  });
}

// What is played: each song has its chords (the lowest note is the bass's), one for each bar, and leaves its last second to the room.

/** The studio: an electric piano, a bass and brushes, late by a little. */
function studio(mix, begin, { chords, beats, melody, swing }) {
  const beat = SONG_SECONDS / beats;
  const bar = SONG_SECONDS / chords.length;
  const perBar = beats / chords.length;
  for (const [i, [low, ...notes]] of chords.entries()) {
    const at = begin + i * bar;
    const last = i === chords.length - 1;
    for (const [n, note] of notes.entries()) {
      piano(mix, at + n * 0.014 + 0.01, note, 0.115, -0.3 + n * 0.2, bar * (last ? 0.75 : 0.55));
      if (!last) piano(mix, at + beat * (perBar * 0.625) + n * 0.01, note, 0.07, -0.3 + n * 0.2, beat * 0.6);
    }
    bass(mix, at, low, 0.3, beat * 1.4);
    if (!last) bass(mix, at + beat * (perBar / 2 + 0.5), low + (i % 2 === 0 ? 7 : 12), 0.2, beat * 1.1);
  }
  for (let half = 0; half < beats * 2 - 4; half++) {
    const at = begin + (half * beat) / 2 + (half % 2 === 1 ? beat * swing : 0) + random() * 0.008;
    const place = half % 8;
    if (half >= 4 && (place === 0 || place === 5)) kick(mix, at, 0.42);
    if (half >= 4 && (place === 2 || place === 6)) brush(mix, at + 0.012, 0.16, 22, -0.1, 0.35);
    brush(mix, at, half % 2 === 0 ? 0.022 : 0.036, 55, 0.35, 0.92);
  }
  for (const [at, note, length] of melody) {
    const seconds = length * beat;
    piano(mix, begin + at * beat + 0.015, note, 0.13, 0.25, seconds);
    bell(mix, begin + at * beat + 0.015, note + 12, 0.018, 0.4);
  }
}

/** The night: strings that change slowly, and now and then glass. */
function night(mix, begin, { chords, bells }) {
  const bar = SONG_SECONDS / chords.length;
  for (const [i, [low, ...notes]] of chords.entries()) {
    const at = begin + i * bar;
    const first = i === 0;
    pad(mix, first ? at : at - 1.2, low, 0.2, bar + (first ? 1.4 : 2.4), 0.3);
    for (const note of notes) pad(mix, first ? at : at - 1.2, note, 0.1, bar + (first ? 1.4 : 2.4), 0.42);
  }
  for (const [at, note, pan] of bells) {
    bell(mix, begin + at, note, 0.085, pan);
    bell(mix, begin + at + 0.62, note, 0.03, -pan);
  }
}

const MUSIC = [
  {
    file: 'studio.mp3',
    kbps: 96,
    play: studio,
    wet: 0.28,
    songs: [
      {
        // Dm9, G13, Cmaj9, A7
        chords: [[38, 60, 64, 65, 69], [43, 59, 64, 65, 69], [36, 59, 62, 64, 67], [45, 58, 61, 64, 67], [38, 60, 64, 65, 69], [36, 59, 62, 64, 67]],
        beats: 24,
        swing: 0.11,
        melody: [[2, 76, 1], [3, 74, 0.5], [3.5, 72, 1], [6, 71, 1.5], [8.5, 74, 0.75], [9.5, 72, 0.5], [10, 67, 1.5], [13, 69, 0.5], [13.5, 73, 0.5], [14, 76, 1.5], [17, 77, 0.75], [18, 76, 0.5], [18.5, 72, 1.5], [21, 74, 2]],
      },
      {
        // Fmaj7, Em7, Dm9, Cmaj7
        chords: [[41, 57, 60, 64, 67], [40, 59, 62, 64, 67], [38, 57, 60, 64, 65], [36, 55, 59, 64, 67], [41, 57, 60, 64, 67], [36, 55, 59, 62, 64]],
        beats: 24,
        swing: 0.14,
        melody: [[1, 72, 0.5], [1.5, 76, 1.5], [4.5, 74, 1], [6, 71, 1], [9, 69, 0.5], [9.5, 72, 0.5], [10, 77, 1.5], [12.5, 76, 1], [14, 74, 0.5], [14.5, 71, 1], [16.5, 72, 1], [18, 69, 1.5], [20.5, 67, 2]],
      },
      {
        // Bbmaj7, Am7, Gm9, C13, Fmaj9
        chords: [[46, 57, 62, 65, 69], [45, 55, 60, 64, 67], [43, 58, 62, 65, 69], [36, 58, 62, 64, 69], [41, 57, 60, 64, 67]],
        beats: 20,
        swing: 0.1,
        melody: [[0.5, 77, 1], [2, 74, 1.5], [4.5, 76, 0.5], [5, 72, 1.5], [8, 70, 0.5], [8.5, 74, 0.5], [9, 77, 1.5], [12.5, 76, 0.5], [13, 74, 0.5], [13.5, 70, 1], [16, 72, 3]],
      },
    ],
  },
  {
    file: 'night.mp3',
    kbps: 64,
    play: night,
    wet: 0.8,
    songs: [
      {
        chords: [[38, 57, 62, 66, 69], [35, 57, 59, 66, 74], [43, 59, 62, 67, 69], [38, 57, 61, 66, 69]],
        bells: [[2, 81, 0.5], [4.5, 78, -0.4], [8, 86, 0.2], [11.5, 83, -0.6], [14, 78, 0.4], [16.5, 81, -0.2]],
      },
      {
        chords: [[40, 55, 59, 64, 66], [36, 55, 60, 64, 71], [45, 57, 60, 64, 67], [40, 55, 59, 62, 66]],
        bells: [[1.5, 83, -0.5], [5, 79, 0.3], [7.5, 88, -0.1], [10.5, 84, 0.6], [13, 79, -0.3], [16, 78, 0.1]],
      },
      {
        chords: [[41, 57, 60, 65, 67], [38, 57, 62, 65, 69], [46, 58, 62, 65, 72], [41, 57, 60, 64, 67]],
        bells: [[2.5, 84, 0.4], [5.5, 81, -0.5], [9, 77, 0.2], [11.5, 86, -0.2], [15, 79, 0.5], [17, 81, -0.4]],
      },
    ],
  },
];

/** Of all songs together, in parts of the loudest that can be: as airsplice.mp3. */
const LOUDNESS = 0.1;

/** Both channels as 16 bits; each song begins and ends softly. */
function samplesOf({ left, right }) {
  const fade = (i) => {
    const t = (i / RATE) % SONG_SECONDS;
    return Math.min(1, 0.5 + t * 25, (SONG_SECONDS - t) * 2.5);
  };
  let power = 0;
  for (let i = 0; i < SAMPLES; i++) power += (left[i] ** 2 + right[i] ** 2) / 2;
  const gain = LOUDNESS / Math.sqrt(power / SAMPLES);
  const samples = new Int16Array(2 * SAMPLES);
  for (let i = 0; i < SAMPLES; i++) {
    // What is louder than it may be is bent, and not cut.
    samples[2 * i] = 29_000 * fade(i) * Math.tanh(gain * left[i]);
    samples[2 * i + 1] = 29_000 * fade(i) * Math.tanh(gain * right[i]);
  }
  return Buffer.from(samples.buffer);
}

function ffmpeg(input, options, file) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-y', ...input.options, '-i', '-', ...options, path], { input: input.bytes });
  if (status !== 0) throw new Error(`${file}: ${stderr}`);
}

for (const { file, kbps, play, wet, songs } of MUSIC) {
  const mix = new Mix();
  for (const [i, song] of songs.entries()) play(mix, i * SONG_SECONDS, song);
  const bytes = samplesOf(mix.in(wet));
  const options = ['-c:a', 'libmp3lame', '-b:a', `${kbps}k`, '-write_xing', '0', '-id3v2_version', '0', '-map_metadata', '-1'];
  ffmpeg({ options: ['-f', 's16le', '-ar', String(RATE), '-ac', '2'], bytes }, options, file);
}

// Pictures, one for each title, of plain shapes: SIZE × SIZE, each pixel from its place (0 to 1, y downwards).

const SIZE = 480;
const mixed = (a, b, share) => a.map((value, i) => value + (b[i] - value) * Math.min(1, Math.max(0, share)));
const smooth = (from, to, value) => {
  const x = Math.min(1, Math.max(0, (value - from) / (to - from)));
  return x * x * (3 - 2 * x);
};
const rgb = (hex) => [16, 8, 0].map((shift) => (hex >> shift) & 255);
/** Whether a place is in a disc, with a soft edge. */
const disc = (x, y, cx, cy, radius) => 1 - smooth(radius - 0.004, radius + 0.004, Math.hypot(x - cx, y - cy));
const below = (y, line) => smooth(line - 0.003, line + 0.003, y);

const PICTURES = {
  'paper-boats': (x, y) => {
    let pixel = mixed(rgb(0xfdf1d8), rgb(0xf9c98b), y * 1.4);
    pixel = mixed(pixel, rgb(0xfffaf0), disc(x, y, 0.7, 0.28, 0.12));
    for (const [i, tone] of [0x7cc4bd, 0x45a29e, 0x1f7a7d, 0x115c66].entries()) {
      const line = 0.55 + i * 0.12 + 0.02 * Math.sin(TURN * (x * (2.2 - i * 0.25) + i * 0.37));
      if (i === 1) {
        const [bx, by] = [(x - 0.36) / 0.16, (y - 0.6) / 0.1];
        const hull = by > 0 && by < 1 && Math.abs(bx) < 1 - by * 0.45;
        const sail = by <= 0 && by > -1.35 && Math.abs(bx) < (by + 1.35) * 0.5;
        if (hull) pixel = rgb(bx < 0 ? 0xffffff : 0xe9e4da);
        else if (sail) pixel = rgb(bx < 0 ? 0xf6f1e7 : 0xd9d3c6);
      }
      pixel = mixed(pixel, rgb(tone), below(y, line));
    }
    return pixel;
  },
  'open-window': (x, y) => {
    const frame = Math.max(Math.abs(x - 0.5) / 0.33, Math.abs(y - 0.47) / 0.36);
    const wall = mixed(rgb(0xe9967a), rgb(0xd9775f), y);
    if (frame > 1.08) return mixed(wall, rgb(0xb9573f), below(y, 0.88));
    if (frame > 1 || Math.abs(x - 0.5) < 0.011 || Math.abs(y - 0.47) < 0.011) return rgb(0xfff6ea);
    let pixel = mixed(rgb(0x8fd3e8), rgb(0xe6f6f3), y * 1.4);
    pixel = mixed(pixel, rgb(0xffe9a8), disc(x, y, 0.62, 0.3, 0.075));
    pixel = mixed(pixel, rgb(0x8bbf7a), below(y, 0.62 + 0.05 * Math.sin(TURN * x * 1.3 + 0.4)));
    return mixed(pixel, rgb(0x4f9a63), below(y, 0.71 + 0.04 * Math.sin(TURN * x * 1.8 + 2.2)));
  },
  'first-light': (x, y) => {
    const distance = Math.hypot(x - 0.5, y - 0.66);
    let pixel = mixed(rgb(0xffd98a), rgb(0x5b6ee1), distance * 1.25);
    const ray = Math.sin(Math.atan2(y - 0.66, x - 0.5) * 22);
    pixel = mixed(pixel, rgb(0xffffff), 0.12 * smooth(0, 0.5, ray) * (1 - distance));
    pixel = mixed(pixel, rgb(0xfff4cf), disc(x, y, 0.5, 0.66, 0.19));
    pixel = mixed(pixel, rgb(0x3b3f8f), below(y, 0.7 + 0.05 * Math.sin(x * 5 + 0.5)));
    return mixed(pixel, rgb(0x23255c), below(y, 0.82 + 0.05 * Math.sin(x * 7 + 2)));
  },
  'blue-hour-tape': (x, y) => {
    const body = Math.max(Math.abs(x - 0.5) / 0.37, Math.abs(y - 0.5) / 0.25);
    let pixel = mixed(rgb(0x27306b), rgb(0xe0709b), (x + y) / 2);
    if (body < 1) pixel = rgb(0xf4ead8);
    if (Math.abs(x - 0.5) < 0.31 && Math.abs(y - 0.46) < 0.15) pixel = mixed(rgb(0xf2a65a), rgb(0xd95d67), (y - 0.31) / 0.3);
    if (Math.abs(x - 0.5) < 0.22 && Math.abs(y - 0.48) < 0.07) pixel = rgb(0x2b2440);
    for (const cx of [0.36, 0.64]) {
      pixel = mixed(pixel, rgb(0xf4ead8), disc(x, y, cx, 0.48, 0.055));
      pixel = mixed(pixel, rgb(0x2b2440), disc(x, y, cx, 0.48, 0.024));
    }
    return Math.abs(x - 0.5) < 0.2 - (0.75 - y) * 0.25 && y > 0.67 && y < 0.75 ? rgb(0xcbbfae) : pixel;
  },
  'coffee-and-cables': (x, y) => {
    let pixel = mixed(rgb(0xf3e3cf), rgb(0xe2c4a2), y);
    const plug = Math.abs(y - 0.8 - 0.07 * Math.sin(x * 9)) - 0.011;
    pixel = mixed(pixel, rgb(0x3a8f87), 1 - smooth(-0.003, 0.003, plug));
    pixel = mixed(pixel, rgb(0xffffff), disc(x, y, 0.47, 0.45, 0.29));
    pixel = mixed(pixel, rgb(0x6b3f2a), disc(x, y, 0.47, 0.45, 0.235));
    const swirl = Math.sin(Math.hypot(x - 0.47, y - 0.45) * 62 + Math.atan2(y - 0.45, x - 0.47) * 2);
    pixel = mixed(pixel, rgb(0xc79a6d), 0.7 * smooth(0.1, 0.8, swirl) * disc(x, y, 0.47, 0.45, 0.15));
    return mixed(pixel, rgb(0xffffff), disc(x, y, 0.81, 0.45, 0.1) * (1 - disc(x, y, 0.81, 0.45, 0.058)) * (1 - disc(x, y, 0.47, 0.45, 0.29)));
  },
  'slow-fader': (x, y) => {
    let pixel = mixed(rgb(0x1d2b2f), rgb(0x30474a), y);
    for (const [i, level] of [0.62, 0.38, 0.5, 0.28, 0.44].entries()) {
      const cx = 0.18 + i * 0.16;
      if (Math.abs(x - cx) < 0.008 && y > 0.16 && y < 0.84) pixel = rgb(0x0e1719);
      if (Math.abs(x - cx) < 0.045 && Math.abs(y - level) < 0.035) pixel = rgb([0xe8b04b, 0xd96c4f, 0x66b8a6, 0xe9e2d0, 0xd96c4f][i]);
      if (Math.abs(x - cx) < 0.045 && Math.abs(y - level) < 0.005) pixel = rgb(0x1d2b2f);
    }
    return pixel;
  },
  'carrier-wave': (x, y) => {
    let pixel = mixed(rgb(0x0b1030), rgb(0x342a6e), y);
    for (let i = 0; i < 7; i++) {
      const line = 0.5 + 0.2 * Math.sin(TURN * (x * 1.5 + i * 0.045)) * Math.sin(Math.PI * x) * (1 - i * 0.11);
      pixel = mixed(pixel, mixed(rgb(0x6ff0d8), rgb(0xb46bff), x), (0.9 - i * 0.11) * (1 - smooth(0.001, 0.007, Math.abs(y - line))));
    }
    return pixel;
  },
  'last-train-lights': (x, y) => {
    let pixel = mixed(rgb(0x0a1626), rgb(0x1f4257), y * 1.1);
    for (let i = 0; i < 40; i++) {
      const [cx, cy] = [(i * 0.6180339) % 1, 0.08 + ((i * 0.7548776) % 1) * 0.42];
      pixel = mixed(pixel, rgb(0xdfe9ef), (0.25 + (i % 4) * 0.16) * disc(x, y, cx, cy, 0.0015 + (i % 3) * 0.001));
    }
    pixel = mixed(pixel, rgb(0x0c1a22), below(y, 0.6 + 0.06 * Math.sin(x * 6 + 1)));
    if (y > 0.69 && y < 0.79 && x > 0.12) {
      pixel = rgb(0x24333d);
      const place = ((x - 0.14) * 9) % 1;
      if (y > 0.71 && y < 0.755 && place > 0.15 && place < 0.8) pixel = mixed(rgb(0xffd27a), rgb(0xffb347), place);
    }
    return y > 0.8 && y < 0.806 ? rgb(0x5a6b75) : pixel;
  },
  'moon-on-the-mast': (x, y) => {
    const distance = Math.hypot(x - 0.5, y - 0.34);
    let pixel = mixed(rgb(0x3a3560), rgb(0x0d0f24), distance * 1.5);
    pixel = mixed(pixel, rgb(0xf3ead0), disc(x, y, 0.5, 0.34, 0.2));
    for (const [cx, cy, r] of [[0.44, 0.29, 0.035], [0.56, 0.38, 0.05], [0.53, 0.25, 0.02]]) pixel = mixed(pixel, rgb(0xdfd3b3), disc(x, y, cx, cy, r));
    const spread = 0.004 + Math.max(0, y - 0.24) * 0.1;
    const isMast = y > 0.24 && y < 0.9 && (Math.abs(Math.abs(x - 0.5) - spread) < 0.0045 || Math.abs(x - 0.5) < Math.min(spread, 0.004));
    const cross = ((y - 0.3) * 11) % 1;
    const isRung = y > 0.3 && y < 0.88 && Math.abs(x - 0.5) < spread && cross < 0.07;
    if (isMast || isRung) pixel = rgb(0x0a0b18);
    pixel = mixed(pixel, rgb(0xff5a5a), disc(x, y, 0.5, 0.235, 0.012));
    return mixed(pixel, rgb(0x07081a), below(y, 0.88 + 0.02 * Math.sin(x * 8)));
  },
};

mkdirSync(new URL('covers', import.meta.url), { recursive: true });
for (const [name, at] of Object.entries(PICTURES)) {
  // Each pixel is the mean of four.
  const bytes = Buffer.alloc(SIZE * SIZE * 3);
  for (let i = 0; i < SIZE * SIZE; i++) {
    const sum = [0, 0, 0];
    for (const [dx, dy] of [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]) {
      const part = at(((i % SIZE) + dx) / SIZE, (Math.floor(i / SIZE) + dy) / SIZE);
      for (let c = 0; c < 3; c++) sum[c] += part[c] / 4;
    }
    for (let c = 0; c < 3; c++) bytes[i * 3 + c] = Math.round(sum[c]);
  }
  const raw = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', `${SIZE}x${SIZE}`];
  ffmpeg({ options: raw, bytes }, ['-frames:v', '1', '-q:v', '3'], `covers/${name}.jpg`);
}
