/**
 * The story of an encoder that restarts again and again while listeners are connected: it finishes, breaks off in the middle of a
 * frame, is reset, or leaves a connection behind that the next one takes over. Nobody may be lost; everybody hears whole frames
 * only, those that were sent, in order; and every ICY block stands where the reader looks for it.
 */

import type { Test } from 'tap';
import { DEMO_FRAMES, Feeder, framesIn } from './feeder.js';
import { pause, settled } from './pause.js';
import { Player } from './player.js';
import type { Random } from './random.js';
import { DEMO_AUDIO, startServer } from './server.js';
import { patient } from './until.js';

const METAINT = 5003;
/** 8.3 kB: one whole run holds at least one place for an ICY block. */
const RUN_FRAMES = 20;
/** A second of audio, and those that its ends cut. */
const MAX_OPEN_FRAMES = 41;
/** Each such run is heard whole, and a title follows it: so between two titles there is always a place for the first one's block. */
const TITLE_EVERY = 5;
/** More than the burst: nobody joins so early as to hear the file that played before the first encoder. */
const FIRST_FRAMES = 200;
/** The tape's last segment stays open: what listeners get of this run still holds a place for the last title's block. */
const LAST_FRAMES = MAX_OPEN_FRAMES + RUN_FRAMES;
const ENDINGS = ['finish', 'half', 'reset', 'ghost'] as const;

interface Run {
  readonly sent: readonly string[];
  /** All of it must be heard; else any whole frames from its beginning. */
  readonly whole: boolean;
}

/** A frame by its last bytes: a frame at a seam may be muted, by its side information only. */
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
    // That one connection takes another's place is each machine's own.
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
    // They come one by one while the encoder is at it.
    if (players.length < listeners && i > 2) {
      for (let n = 0; n < Math.ceil(listeners / 10) && players.length < listeners; n++) {
        players.push(new Player(port, '/live', { keep: true, icy: players.length % 5 !== 0 }));
      }
    }
  }
  t.equal(players.length, listeners);

  await settled(() => players.reduce((total, player) => total + player.audioBytes, 0), patient(1500), 60_000);
  t.equal(players.filter(({ closed, status }) => closed || status !== 200).length, 0, 'nobody is lost');

  const heard = players.map((player) => {
    const { frames, skippedBytes } = framesIn(player.audio);
    // The last one may not have come to its end yet: that is kept for later, not skipped.
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

/** What was heard is what the runs sent: it begins within one of them and goes on to the end. */
function follow(t: Test, random: Random, runs: readonly Run[], heard: readonly string[]): void {
  const isFrom = (run: number, from: number): boolean => {
    // Places in `heard` at which the next run may begin.
    let places = new Set([0]);
    for (let r = run; r < runs.length && places.size > 0; r++) {
      const { sent, whole } = runs[r]!;
      const next = new Set<number>();
      for (const place of places) {
        const start = r === run ? from : 0;
        let n = 0;
        while (start + n < sent.length && place + n < heard.length && heard[place + n] === sent[start + n]) n++;
        // The tape's last segment is open: its frames have not been heard.
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
