/**
 * The health of a source, judged by its frames without decoding them: four troubles, each raised and cleared late so that it does not flicker,
 * and changes of the format in mid-stream, each reported once:
 *
 *   stalled       connected, but its audio is overdue (audio-due-time.ts)   over: a second of audio has arrived since
 *   unsteady      has stalled or was lost repeatedly (input.ts)             over: it has delivered without fault for a while
 *   bitrate-off   two means of 10 s more than 20 % off; not where it varies   over: one mean less than 10 % off
 *   silent        `silentMs` of digital silence (silence.ts)                over: half a second of sound; a click is none
 *
 * Owned by the switch, one for each source. Per frame: one header is read into an object of its own, nothing is allocated.
 */

import type { AudioFormat } from '../audio/frames/audio-format.js';
import { emptyHeader, HEADER_BYTES, readHeader } from '../audio/frames/header.js';
import { namesChannels } from '../audio/frames/program-config.js';
import { isSilent } from './silence.js';

const TROUBLES = ['stalled', 'unsteady', 'bitrate-off', 'silent'] as const;
export type Trouble = (typeof TROUBLES)[number];
/** An event of a source: a trouble has begun, the format has changed, or what encoder-connection.ts finds. */
const SOURCE_EVENTS = [
  ...TROUBLES,
  'codec',
  'sample-rate',
  'channels',
  'bitrate',
  'content-type',
  'no-channels',
  'no-frames',
  'damaged',
  'broken-body',
  'takeover',
] as const;
export type SourceEvent = (typeof SOURCE_EVENTS)[number];

/** @param isOver a trouble has ended; not counted */
export type OnSourceEvent = (event: SourceEvent, fields: Readonly<Record<string, unknown>>, isOver: boolean) => void;

export interface HealthOptions {
  readonly stallMs: number;
  readonly silentMs: number;
}

const FLOWS_AGAIN_MS = 1000;
const SOUNDS_AGAIN_MS = 500;
const WINDOW_MS = 10_000;
const WINDOWS = 2;
const OFF = 0.2;
const ON_AGAIN = 0.1;
/** An AAC stream whose mean has moved this far has another bitrate. */
const CHANGED = 0.25;
/** This much audio in frames of one bitrate shows that it is constant. */
const CONSTANT_MS = 2000;

export class Health {
  readonly troubles: Record<Trouble, boolean> = {
    stalled: false,
    unsteady: false,
    'bitrate-off': false,
    silent: false,
  };
  /** How often each event was reported. */
  readonly events = Object.fromEntries(SOURCE_EVENTS.map((event) => [event, 0])) as Record<SourceEvent, number>;
  /** kb/s, the mean of the last 10 s; 0: it has sent less. */
  measuredKbps = 0;
  readonly #options: HealthOptions;
  readonly #onEvent: OnSourceEvent;
  readonly #header = emptyHeader();
  #expectedKbps = 0;
  /** Until when its frames show it to be well, or since when it is present, on the clock; NaN: absent. */
  #wellMs = Number.NaN;
  #flowMs = 0;
  #silentMs = 0;
  #soundMs = 0;
  #windowMs = 0;
  #windowBytes = 0;
  #windowSilentMs = 0;
  #windowsOff = 0;
  #windowsMoved = 0;
  /** The header of the latest frame; null: none has arrived. */
  #format: AudioFormat | null = null;
  /** The constant bitrate; 0: not known, or variable. */
  #constantKbps = 0;
  #runKbps = 0;
  #runMs = 0;

  constructor(options: HealthOptions, onEvent: OnSourceEvent) {
    this.#options = options;
    this.#onEvent = onEvent;
  }

  /** Reports an event that frames do not show. */
  report(event: SourceEvent, fields: Readonly<Record<string, unknown>>, isOver = false): void {
    if (!isOver) this.events[event]++;
    this.#onEvent(event, fields, isOver);
  }

  /** The source is gone, and the next frame belongs to another stream. Its troubles end without a report, except `unsteady`. */
  reset(): void {
    for (const trouble of TROUBLES) if (trouble !== 'unsteady') this.troubles[trouble] = false;
    this.#wellMs = Number.NaN;
    this.#format = null;
    this.#silentMs = this.#soundMs = this.#flowMs = 0;
    this.#forgetBitrate();
  }

  /** Called now and then. @param expectedKbps its bitrate by configuration or by its own headers; 0: unknown */
  look(nowMs: number, isUp: boolean, expectedKbps: number): void {
    this.#expectedKbps = expectedKbps;
    if (!isUp) {
      this.#wellMs = Number.NaN;
      this.troubles.stalled = false;
    } else if (Number.isNaN(this.#wellMs)) this.#wellMs = nowMs;
    else if (nowMs - this.#wellMs > this.#options.stallMs) {
      this.#flowMs = 0;
      this.#set('stalled', true, {});
    }
  }

  /** It stalls or is lost repeatedly, or no longer: its input decides. */
  unsteady(is: boolean, fields: Readonly<Record<string, unknown>>): void {
    this.#set('unsteady', is, fields);
  }

  /** It was away too long to be judged: no longer unsteady, without a report. */
  forgive(): void {
    this.troubles.unsteady = false;
  }

  /**
   * A frame has arrived, on air or not. @param dueMs when more is due @param hasHeader false: an Ogg packet, which shows only its length
   */
  frame(bytes: Buffer, durationMs: number, dueMs: number, hasHeader = true): void {
    this.#wellMs = dueMs;
    if (this.troubles.stalled && (this.#flowMs += durationMs) >= FLOWS_AGAIN_MS) this.#set('stalled', false, {});
    const header = this.#header;
    const isKnown = hasHeader && bytes.length >= HEADER_BYTES && readHeader(bytes, 0, header);
    if (isKnown) this.#watchFormat(bytes, durationMs);
    this.#watchSound(isKnown && isSilent(bytes, header), durationMs);
    this.#windowBytes += bytes.length;
    this.#windowMs += durationMs;
    if (this.#windowMs >= WINDOW_MS) this.#closeWindow();
  }

  #watchFormat(frame: Buffer, durationMs: number): void {
    const { codec, sampleRate, channels, bitrateKbps } = this.#header;
    const was = this.#format;
    if (codec !== was?.codec || sampleRate !== was.sampleRate || channels !== was.channels) {
      this.#format = { codec, sampleRate, channels };
      if (was !== null) {
        if (codec !== was.codec) this.report('codec', { from: was.codec, to: codec });
        if (sampleRate !== was.sampleRate) this.report('sample-rate', { from: was.sampleRate, to: sampleRate });
        if (channels !== was.channels) this.report('channels', { from: was.channels, to: channels });
      }
      if (codec !== was?.codec) this.#forgetBitrate();
      if (codec === 'aac' && channels === 0 && !namesChannels(frame)) this.report('no-channels', {});
    }
    if (codec !== 'aac') this.#watchRun(bitrateKbps, durationMs);
  }

  /** Frames of MP3 state their bitrate: a constant one that becomes another constant one has changed; a variable one never does. */
  #watchRun(kbps: number, durationMs: number): void {
    if (kbps !== this.#runKbps) {
      if (this.#runMs < CONSTANT_MS) this.#constantKbps = 0;
      this.#runKbps = kbps;
      this.#runMs = 0;
    }
    this.#runMs += durationMs;
    if (this.#runMs < CONSTANT_MS || kbps === this.#constantKbps) return;
    if (this.#constantKbps !== 0) {
      this.report('bitrate', { fromKbps: this.#constantKbps, toKbps: kbps });
      this.#forgetWindow();
    }
    this.#constantKbps = kbps;
  }

  #watchSound(isSilent: boolean, durationMs: number): void {
    if (isSilent) {
      this.#soundMs = 0;
      this.#windowSilentMs += durationMs;
      this.#silentMs += durationMs;
      if (this.#silentMs >= this.#options.silentMs) this.#set('silent', true, {});
      return;
    }
    this.#soundMs += durationMs;
    if (this.#soundMs < SOUNDS_AGAIN_MS) return;
    this.#silentMs = 0;
    this.#set('silent', false, {});
  }

  #closeWindow(): void {
    const kbps = (this.#windowBytes * 8) / this.#windowMs;
    const isSilence = this.#windowSilentMs > this.#windowMs / 2;
    this.#windowBytes = this.#windowMs = this.#windowSilentMs = 0;
    this.measuredKbps = kbps;
    // Silence is a trouble of its own, and has few bytes.
    if (isSilence) return;
    this.#compare(kbps);
    if (this.#format?.codec === 'aac') this.#watchMean(kbps);
  }

  /** Ogg, and MP3 whose frames differ: their configured or stated bitrate is a target, which Opus may exceed 1.4 times. */
  get #isVariable(): boolean {
    return this.#format === null || (this.#format.codec !== 'aac' && this.#constantKbps === 0);
  }

  #compare(kbps: number): void {
    const expectedKbps = this.#isVariable ? 0 : this.#expectedKbps;
    const off = expectedKbps === 0 ? 0 : Math.abs(kbps / expectedKbps - 1);
    this.#windowsOff = off > OFF ? this.#windowsOff + 1 : 0;
    const fields = { measuredKbps: Math.round(kbps), expectedKbps };
    if (this.#windowsOff >= WINDOWS) this.#set('bitrate-off', true, fields);
    else if (off < ON_AGAIN) this.#set('bitrate-off', false, fields);
  }

  /** AAC frames do not state their bitrate: the mean must have moved, and stay there. */
  #watchMean(kbps: number): void {
    if (this.#constantKbps === 0) this.#constantKbps = kbps;
    this.#windowsMoved = Math.abs(kbps / this.#constantKbps - 1) > CHANGED ? this.#windowsMoved + 1 : 0;
    if (this.#windowsMoved < WINDOWS) return;
    this.report('bitrate', { fromKbps: Math.round(this.#constantKbps), toKbps: Math.round(kbps) });
    this.#constantKbps = kbps;
    this.#windowsMoved = 0;
  }

  #set(trouble: Trouble, is: boolean, fields: Readonly<Record<string, unknown>>): void {
    if (this.troubles[trouble] === is) return;
    this.troubles[trouble] = is;
    this.report(trouble, fields, !is);
  }

  #forgetBitrate(): void {
    this.measuredKbps = this.#constantKbps = this.#runKbps = this.#runMs = this.#windowsMoved = this.#windowsOff = 0;
    this.#forgetWindow();
  }

  #forgetWindow(): void {
    this.#windowBytes = this.#windowMs = this.#windowSilentMs = 0;
  }
}
