/**
 * The story of an encoder that restarts repeatedly while listeners are connected: it finishes, breaks off in the middle of a frame, is reset, or
 * leaves a connection that the next one takes over. No listener may be lost; all hear only whole frames, as sent, in order; and every ICY block is
 * in its place.
 */

import type { Test } from 'tap';
import { DEMO_FRAMES, Feeder, framesIn } from './feeder.js';
import { pause, settled } from './pause.js';
import { Player } from './player.js';
import type { Random } from './random.js';
import { DEMO_AUDIO, startServer } from './server.js';
import { patient } from './until.js';

const METAINT = 5003;
/** 8.3 kB, so that a whole run has at least one place for an ICY block. */
const RUN_FRAMES = 20;
/** A second of audio, and the frames cut at its ends. */
const MAX_OPEN_FRAMES = 41;
/** Each run with this number is heard whole and followed by a title, so there is always a place for a block between two titles. */
const TITLE_EVERY = 5;
/** More than the burst, so that no listener hears the file before the first encoder. */
const FIRST_FRAMES = 200;
/** The tape's last segment stays open; the part of this run before it still has a place for the last title's block. */
const LAST_FRAMES = MAX_OPEN_FRAMES + RUN_FRAMES;
const ENDINGS = ['finish', 'half', 'reset', 'ghost'] as const;

interface Run {
  readonly sent: readonly string[];
  /** Whether all of it must be heard; else any number of whole frames from its start. */
  readonly whole: boolean;
}

/** Identifies a frame by its last bytes, since one at a seam may be muted in its side information. */
const keyOf = (frame: Buffer) => frame.subarray(-48).toString('base64');

const YAML = `
addresses: [{ host: 127.0.0.1, port: 0 }]
streams: { lagSeconds: 120, burstSeconds: 2 }
sources: { aheadSeconds: 10 }
stations:
  demo:
    channels:
      live:
        metaint: ${METAINT}
        pushTokens: [studio-token]
        sources:
          - { type: encoder, password: demo-source, takeover: always, lingerSeconds: 60 }
          - { type: file, path: ${DEMO_AUDIO} }
`;

export async function restartStory(t: Test, random: Random, restarts: number, listeners: number): Promise<void> {
  const { port, base, one } = await startServer(t, YAML);
  const push = async (song: string) => {
    const answer = await fetch(`${base}/metapush/live/studio-token?song=${song}`);
    await answer.arrayBuffer();
    t.equal(answer.status, 200);
  };
  const players: Player[] = [];
  t.teardown(() => {
    for (const player of players) player.close();
  });
  const runs: Run[] = [];
  const songs: string[] = [];
  let ghost: Feeder | undefined;
  for (let i = 0; i < restarts; i++) {
    const from = random.int(0, DEMO_FRAMES.length - FIRST_FRAMES);
    // Takeover only works on the same machine.
    const feeder = new Feeder(t, one.port, '/live', { from });
    if ((await feeder.answered()) !== 200) throw new Error(`run ${i} (seed ${random.seed}): ${feeder.answer}`);
    await ghost?.over();
    ghost = undefined;
    const frames = i === 0 ? FIRST_FRAMES : i === restarts - 1 ? LAST_FRAMES : RUN_FRAMES;
    const sent = feeder.send(frames).map(keyOf);
    const titled = i % TITLE_EVERY === 0;
    const ending = titled || i === restarts - 1 ? 'finish' : ENDINGS[random.int(0, ENDINGS.length - 1)]!;
    if (ending === 'half') feeder.socket.write(DEMO_FRAMES[0]!.subarray(0, random.int(1, 400)));
    if (ending === 'finish' || ending === 'half') {
      feeder.socket.end();
      await feeder.over();
    } else if (ending === 'reset') {
      await pause(random.int(0, 30));
      feeder.socket.resetAndDestroy();
    } else ghost = feeder;
    runs.push({ sent, whole: ending === 'finish' || ending === 'half' });
    if (titled) {
      songs.push(`song-${i}`);
      await push(songs.at(-1)!);
    }
    // Listeners connect one by one while the encoder sends.
    if (players.length < listeners && i > 2) {
      for (let n = 0; n < Math.ceil(listeners / 10) && players.length < listeners; n++) {
        players.push(new Player(port, '/live', { keep: true, icy: players.length % 5 !== 0 }));
      }
    }
  }
  t.equal(players.length, listeners);

  await settled(() => players.reduce((total, player) => total + player.audioBytes, 0), patient(1500), 60_000);
  t.equal(players.filter(({ closed, status }) => closed || status !== 200).length, 0, 'no player is lost');

  const heard = players.map((player) => {
    const { frames, skippedBytes } = framesIn(player.audio);
    // The last frame may be incomplete, which does not count as skipped.
    if (skippedBytes !== 0) t.fail(`seed ${random.seed}: ${skippedBytes} bytes that are no frame`);
    return frames.map(keyOf);
  });
  const longest = heard.reduce((a, b) => (b.length > a.length ? b : a));
  follow(t, random, runs, longest);
  for (const [i, keys] of heard.entries()) {
    const at = longest.length - keys.length;
    const end = longest.slice(at);
    if (keys.some((key, k) => key !== end[k])) t.fail(`seed ${random.seed}: listener ${i} heard something else`);
    const titles = players[i]!.titles.map(({ title }) => title);
    const wanted = songs.slice(songs.length - Math.max(1, titles.length));
    if (players[i]!.metaint > 0) {
      t.same(titles, wanted, `titles come in order, none is missed, seed ${random.seed}`, { quiet: true });
    }
  }
  t.ok(heard.every((keys) => keys.length > 0));
}

/** Checks that the heard frames are those of the runs, from somewhere within one of them to the end. */
function follow(t: Test, random: Random, runs: readonly Run[], heard: readonly string[]): void {
  const isFrom = (run: number, from: number): boolean => {
    // Indices in `heard` at which the next run may begin.
    let places = new Set([0]);
    for (let r = run; r < runs.length && places.size > 0; r++) {
      const { sent, whole } = runs[r]!;
      const next = new Set<number>();
      for (const place of places) {
        const start = r === run ? from : 0;
        let n = 0;
        while (start + n < sent.length && place + n < heard.length && heard[place + n] === sent[start + n]) n++;
        // The frames of the tape's open segment have not been heard.
        const rest = runs.slice(r + 1).reduce((frames, run) => frames + (run.whole ? run.sent.length : 0), 0);
        if (place + n === heard.length && rest + (whole ? sent.length - start - n : 0) <= MAX_OPEN_FRAMES) return true;
        if (start + n === sent.length) next.add(place + n);
        if (!whole) for (let k = 0; k <= n; k++) next.add(place + k);
      }
      places = next;
    }
    return false;
  };
  const found = runs.some((run, r) => run.sent.some((key, from) => key === heard[0] && isFrom(r, from)));
  t.ok(found, `what is heard is what was sent, seed ${random.seed}`);
}
