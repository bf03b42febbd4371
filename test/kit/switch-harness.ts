/**
 * A switch with a fake clock and fake sources, which can deliver audio or be lost in the middle of their own `start`, as real ones cannot.
 */

import type { AudioFormat } from '../../src/audio/frames/audio-format.js';
import type { Source, SourceInput, SourceKind, SourceState } from '../../src/source/source.js';
import { Switch } from '../../src/source/switch.js';
import { FakeClock } from './clock.js';
import { frameOf } from './frame-of.js';

export const STALL_MS = 1500;
/** Maximum delay until a stall is found: the switch's check, one tick of the clock, and the duration of a frame. */
export const CHECK_MS = 150;
/** How long the switch waits for a better file. */
export const FILE_MS = 500;
export const LINGER_MS = 10_000;
export const PIECE_MS = 10_000;
export const STALLS_PER_MINUTE = 3;
export const STEADY_MS = 20_000;
export const AHEAD_MS = 10_000;
export const BURST_MS = 5000;

export class FakeSource implements Source {
  state: SourceState = 'idle';
  contentType = 'audio/mpeg';
  /** Format of a file. */
  format: AudioFormat | null = null;
  starts = 0;
  stops = 0;
  /** Whether it rests if asked. */
  mayRest = false;
  isResting = false;
  onStart: () => void = () => undefined;

  constructor(
    readonly name: string,
    readonly kind: SourceKind,
    readonly input: SourceInput,
  ) {}

  start(): void {
    this.starts++;
    this.state = 'starting';
    this.onStart();
  }

  stop(): void {
    this.stops++;
    this.isResting = false;
    this.state = 'idle';
  }

  rest(): boolean {
    this.isResting = this.mayRest;
    return this.mayRest;
  }

  wake(): void {
    this.isResting = false;
  }

  get running(): boolean {
    return this.state !== 'idle';
  }

  send(text = this.name, durationMs = 26): void {
    this.state = 'up';
    this.input.onFrame(frameOf(Buffer.from(text), durationMs, 128, false));
  }

  lose(reason = `${this.name} lost`): void {
    this.state = 'starting';
    this.input.onLost(reason);
  }
}

/** Makes a switch and its fakes: `encoder`, `pull`, `demand` (a pull on demand) or `file`, in order of preference. */
export function setUp(
  names: readonly string[],
  returnMs = 0,
  stallsPerMinute = STALLS_PER_MINUTE,
  saved = Promise.resolve(),
  restMs: number | (() => number) = Number.POSITIVE_INFINITY,
) {
  const clock = new FakeClock();
  const out: string[] = [];
  const titles: string[] = [];
  const changes: (string | null)[] = [];
  const reasons: string[] = [];
  const events: string[] = [];
  const rests: string[] = [];
  const air: { format: AudioFormat | null; isEmpty: boolean } = { format: null, isEmpty: true };
  const audio = new Switch(
    {
      get format() {
        return air.format;
      },
      get isEmpty() {
        return air.isEmpty;
      },
      onFrame: ({ bytes }) => void out.push(bytes.toString()),
      onTitle: (line, source) => {
        titles.push(`${(source as FakeSource).name}: ${line}`);
        return saved;
      },
      onSourceChanged: (source, reason) => {
        changes.push((source as FakeSource | null)?.name ?? null);
        reasons.push(reason);
      },
      onRest: (isResting) => void rests.push(isResting ? 'rests' : 'wakes'),
      onEvent: (source, event, _, isOver) =>
        void events.push(`${(source as FakeSource).name} ${isOver ? 'no more ' : ''}${event}`),
    },
    clock,
    {
      stallMs: STALL_MS,
      pieceMs: PIECE_MS,
      stallsPerMinute,
      steadyMs: STEADY_MS,
      silentMs: 60_000,
      aheadMs: AHEAD_MS,
      burstMs: BURST_MS,
      get restMs() {
        return typeof restMs === 'number' ? restMs : restMs();
      },
    },
  );
  const fakes = names.map((name) => {
    let made!: FakeSource;
    const onDemand = name.startsWith('demand');
    const kind = onDemand ? 'pull' : (name.replace(/\d/, '') as SourceKind);
    audio.add(
      { onDemand, lingerMs: LINGER_MS, returnMs: kind === 'encoder' ? returnMs : 0, bitrateKbps: 0 },
      (input) => (made = new FakeSource(name, kind, input)),
    );
    return made;
  });
  const heard = () => (audio.onAir as FakeSource | null)?.name ?? null;
  /** Time passes while these sources send every 100 ms, as long as they run. */
  const pass = (ms: number, ...senders: FakeSource[]) => {
    for (let left = ms; left > 0; left -= 100) {
      for (const sender of senders) if (sender.running) sender.send();
      clock.advance(Math.min(left, 100));
    }
  };
  return { clock, audio, air, fakes, out, titles, changes, reasons, events, rests, heard, pass };
}
