/**
 * Audio whose tone identifies the title in force, and a page that plays it and notes the media time of each change.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Tab } from './browser.js';

export const TONES = 8;
const LOWEST_HERTZ = 400;
const RATIO = 1.25;

/** Writes consecutive tones, each for `toneSeconds`: 0, 1, … 7, 0, … @param options for ffmpeg: the codec @param path of the new file */
export function makeTones(path: string, toneSeconds: number, seconds: number, ...options: readonly string[]): Buffer {
  const hertz = `${LOWEST_HERTZ}*pow(${RATIO},mod(floor(t/${toneSeconds}),${TONES}))`;
  const source = `aevalsrc='0.4*sin(2*PI*t*${hertz})':s=48000:d=${seconds}`;
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', source, ...options, path]);
  return readFileSync(path);
}

/** The start of a tone, by the element's media time; `isSure`: the sound before it had no gap. */
export interface ToneAt {
  readonly tone: number;
  readonly ms: number;
  readonly isSure: boolean;
}

// biome-ignore-start lint/suspicious/noExplicitAny: browser objects, for which Node has no types

/**
 * Plays a URL in an audio element for some seconds, through Web Audio. It searches the last samples backwards for a change of tone, in windows of
 * 10 ms; `currentTime` is that of the newest sample. So it is exact to some 3 ms, even if the page is late.
 */
export function listen(tab: Tab, url: string, seconds: number): Promise<ToneAt[]> {
  return tab.evaluate(
    async ({ url, seconds, tones, lowest, ratio }) => {
      const { AudioContext, Audio } = globalThis as any;
      const context = new AudioContext({ sampleRate: 48_000 });
      const audio = new Audio();
      audio.crossOrigin = 'anonymous';
      const analyser = context.createAnalyser();
      analyser.fftSize = 16_384;
      context.createMediaElementSource(audio).connect(analyser).connect(context.destination);
      audio.src = url;
      await context.resume();
      await audio.play();
      const samples = new Float32Array(analyser.fftSize);
      const changes: { tone: number; ms: number; isSure: boolean }[] = [];
      // -1: unknown.
      const heardTones: number[] = [];
      let now = -1;
      let isSure = true;
      const startMs = performance.now();
      while (performance.now() - startMs < seconds * 1000) {
        await new Promise((done) => setTimeout(done, 10));
        const ms = audio.currentTime * 1000;
        analyser.getFloatTimeDomainData(samples);
        // By zero crossings, newest window first, until one has the previous tone.
        let ago = 0;
        heardTones.length = 0;
        for (let to = samples.length; to >= 480; to -= 48, ago++) {
          let [first, last, count] = [-1, -1, 0];
          for (let i = to - 479; i < to; i++) {
            const [a, b] = [samples[i - 1]!, samples[i]!];
            if (a >= 0 || b < 0) continue;
            last = i - b / (b - a);
            if (count++ === 0) first = last;
          }
          const hertz = count < 3 ? 0 : (48_000 * (count - 1)) / (last - first);
          const tone = hertz === 0 ? -1 : Math.round(Math.log(hertz / lowest) / Math.log(ratio));
          heardTones.push(tone);
          if (tone === now || (now === -1 && ago === 0)) break;
        }
        const newest = heardTones[0]!;
        if (newest < 0 || newest >= tones) isSure = false;
        else if (newest !== now) {
          changes.push({ tone: newest, ms: ms - ago - 5, isSure: isSure && now !== -1 });
          now = newest;
          isSure = true;
        }
      }
      audio.removeAttribute('src');
      audio.load();
      await context.close();
      return changes;
    },
    { url, seconds, tones: TONES, lowest: LOWEST_HERTZ, ratio: RATIO },
  );
}

// biome-ignore-end lint/suspicious/noExplicitAny: as above
