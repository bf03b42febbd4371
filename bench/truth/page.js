/**
 * The page of the experiment: audio elements that play into one sink, each with the listener feed of its metaid by both timings, or HLS by hls.js.
 * It records when each title would be shown. chromium.ts calls `globalThis.truth`. Times are unix milliseconds, as in the whole experiment.
 */

const TICK_MS = 4;
const now = () => performance.timeOrigin + performance.now();

class Listener {
  constructor({ name, port, feedPort, path, channel }) {
    this.name = name;
    /** Titles by `sync=wire` and the media clock: a song and the time. */
    this.wire = [];
    /** The same by `sync=audio`. */
    this.audio = [];
    /** Titles from the channel's feed. */
    this.channel = [];
    this.states = [];
    this.coming = [];
    const metaid = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join('');
    const feed = `ws://127.0.0.1:${feedPort}/metadata/listener/${metaid}`;
    this.watch(`${feed}?sync=wire`, (record) => this.coming.push(record));
    this.watch(feed, ({ song }) => this.audio.push({ song, ms: now() }));
    if (channel !== undefined)
      this.watch(`ws://127.0.0.1:${feedPort}/metadata/channel/${channel}`, ({ song }) =>
        this.channel.push({ song, ms: now() }),
      );
    this.element = new Audio(`http://127.0.0.1:${port}${path}?metaid=${metaid}`);
    for (const type of ['playing', 'waiting', 'error', 'ended'])
      this.element.addEventListener(type, () =>
        this.states.push({ type, ms: now(), seconds: this.element.currentTime }),
      );
    this.element.play().catch((error) => this.states.push({ type: String(error), ms: now(), seconds: 0 }));
  }

  watch(url, onNow) {
    const socket = new WebSocket(url);
    socket.onmessage = ({ data }) => {
      const record = JSON.parse(data);
      if (record.type === 'now') onNow(record);
    };
  }

  tick() {
    const { currentTime } = this.element;
    if (currentTime === 0) return;
    while (this.coming.length > 0 && Number(this.coming[0].position) <= currentTime * 1000) {
      this.wire.push({ song: this.coming.shift().song, ms: now() });
    }
  }

  end() {
    this.element.removeAttribute('src');
    this.element.load();
  }
}

/** Plays HLS by hls.js. Titles are shown by the dates of the playlist, and by the ID3 tags of segments. */
class HlsListener {
  constructor({ name, port, path }) {
    this.name = name;
    this.date = [];
    this.cue = [];
    this.states = [];
    this.ranges = [];
    this.element = new Audio();
    this.hls = new globalThis.Hls({ liveSyncDurationCount: 2 });
    const { Events } = globalThis.Hls;
    this.hls.on(Events.LEVEL_UPDATED, (_, { details }) => {
      this.ranges = Object.values(details.dateRanges)
        .map(({ startDate, attr }) => ({ atMs: startDate.getTime(), song: attr['X-TITLE'] }))
        .sort((a, b) => a.atMs - b.atMs);
    });
    this.hls.on(Events.ERROR, (_, { details }) => this.states.push({ type: details, ms: now(), seconds: 0 }));
    this.hls.loadSource(`http://127.0.0.1:${port}${path}/hls.m3u8`);
    this.hls.attachMedia(this.element);
    this.element.play().catch((error) => this.states.push({ type: String(error), ms: now(), seconds: 0 }));
  }

  tick() {
    if (this.element.currentTime === 0) return;
    const dateMs = this.hls.playingDate?.getTime();
    if (dateMs !== undefined) show(this.date, this.ranges.findLast(({ atMs }) => atMs <= dateMs)?.song);
    show(this.cue, this.#cued());
  }

  end() {
    this.hls.destroy();
  }

  #cued() {
    const track = [...this.element.textTracks].find(({ label }) => label === 'id3');
    if (track === undefined) return undefined;
    track.mode = 'hidden';
    let last;
    for (const cue of track.cues ?? []) {
      const counts = cue.value.key === 'TIT2' && cue.startTime <= this.element.currentTime;
      if (counts && !(cue.startTime < last?.startTime)) last = cue;
    }
    return last?.value.data;
  }
}

function show(titles, song) {
  if (song !== undefined && titles.at(-1)?.song !== song) titles.push({ song, ms: now() });
}

const listeners = [];
let reference = null;

globalThis.truth = {
  play(spec) {
    listeners.push(spec.isHls ? new HlsListener(spec) : new Listener(spec));
  },

  /** Plays a file whose tones change at known seconds, to measure the delay from `currentTime` to the sound. */
  playReference(url, seconds) {
    const element = new Audio(url);
    reference = { element, seconds, passed: [] };
    return element.play();
  },

  pause: (name) => listeners.find((one) => one.name === name).element.pause(),
  resume: (name) => listeners.find((one) => one.name === name).element.play(),

  end() {
    for (const one of listeners) one.end();
    reference?.element.pause();
    const seen = listeners.map(({ name, wire = [], audio = [], channel = [], date = [], cue = [], states }) => {
      return { name, wire, audio, channel, date, cue, states };
    });
    return { listeners: seen, passed: reference === null ? [] : reference.passed };
  },
};

setInterval(() => {
  for (const one of listeners) one.tick();
  while (reference !== null && reference.element.currentTime >= reference.seconds[reference.passed.length])
    reference.passed.push(now());
}, TICK_MS);
