/**
 * The sound of the experiment: consecutive tones of about two seconds, one for each title. Each stream has its own band, so that one recording can
 * have several streams:
 *
 *   Hz   400   480   560  …   band 0, 1, 2 … of tone 0, then all bands of tone 1, …
 *
 * Title number n sounds as tone n % TONES, which is unambiguous while sound is less than TONES * STEP_MS after its title. Pure.
 */

/** Number of tones in a band. */
export const TONES = 12;
/** Number of bands, and so of streams in one sink. */
export const BANDS = 9;
const LOWEST_HERTZ = 400;
const SPACING_HERTZ = 80;
const AMPLITUDE = 0.09;

/** Mean duration of a tone. */
export const STEP_MS = 2000;
const SPREAD_MS = 1000;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

export function hertzOf(band: number, number: number): number {
  return LOWEST_HERTZ + SPACING_HERTZ * ((number % TONES) * BANDS + band);
}

/**
 * The starts of tones, milliseconds, without tone 0, which begins at 0. They are spread evenly over the second, and so over everything that a server
 * does a few times a second: steps of 1.6 and 2.6 s, by the golden ratio.
 * @param quietSeconds time before the first of them
 */
export function schedule(band: number, seconds: number, quietSeconds: number): number[] {
  const count = Math.floor((seconds - quietSeconds - SPREAD_MS / 1000) / (STEP_MS / 1000));
  const offsetMs = (n: number) => SPREAD_MS * ((n * GOLDEN + band / BANDS) % 1);
  return Array.from({ length: count }, (_, i) => quietSeconds * 1000 + (i + 1) * STEP_MS + offsetMs(i + 1));
}

/**
 * Renders the tones as mono s16le.
 * @param changes first samples of tones 1, 2, …
 * @param restless adds intermittent noise, so that an encoder with a variable bitrate behaves as with music
 */
export function render(options: {
  readonly band: number;
  readonly sampleRate: number;
  readonly samples: number;
  readonly changes: readonly number[];
  readonly restless: boolean;
}): Buffer {
  const { band, sampleRate, samples, changes, restless } = options;
  const pcm = new Int16Array(samples);
  let [number, phase, state] = [0, 0, 1];
  for (let i = 0; i < samples; i++) {
    while (number < changes.length && i >= changes[number]!) number++;
    phase += (2 * Math.PI * hertzOf(band, number)) / sampleRate;
    let value = AMPLITUDE * Math.sin(phase);
    if (restless) {
      state = (state * 48_271) % 2_147_483_647;
      const swell = Math.max(0, Math.sin((2 * Math.PI * i) / sampleRate / 5));
      value += 0.03 * swell * ((2 * state) / 2_147_483_647 - 1);
    }
    pcm[i] = Math.round(value * 32_767);
  }
  return Buffer.from(pcm.buffer);
}
