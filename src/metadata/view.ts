/**
 * A record as readers receive it: JSON, text, the push answer. Each is rendered on first use and kept, since a channel's
 * readers all get the same bytes; a listener's differs in three places, and is joined from pieces rendered once.
 *
 *   json:  {"rawdata":…,"session":│ "" │,"position":│ "" │,"marker":…,"mount":│ "" │,"channelkey":…}
 */

import { contentTag } from './etag.js';
import { type TrackRecord, titleLine } from './record.js';
import { localTime, utcTime } from './time.js';

/** The channel's part of its records. */
export interface ChannelFace {
  readonly key: string;
  /** The display name; `""`: none. */
  readonly name: string;
  /** The station's key. */
  readonly station: string;
  /** The station's IANA zone, for `start`. */
  readonly timezone: string;
  /** The URL of its page. Absent: none is known. */
  readonly link?: string;
}

export class RecordView {
  readonly record: TrackRecord;
  readonly channel: ChannelFace;
  #pieces: readonly [string, string, string] | undefined;
  #json: string | undefined;
  #title: string | undefined;
  #text: string | undefined;
  #etag: string | undefined;
  #pushAnswer: string | undefined;

  constructor(record: TrackRecord, channel: ChannelFace) {
    this.record = record;
    this.channel = channel;
  }

  /** The channel record (src/metadata/README.md, "The channel record"). */
  get json(): string {
    return (this.#json ??= this.#join('""', '""', '""'));
  }

  /** The title line and a line feed. */
  get text(): string {
    return (this.#text ??= `${this.title}\n`);
  }

  /** The title line. */
  get title(): string {
    return (this.#title ??= titleLine(this.record));
  }

  /** The URL of an image, or `""`. */
  get cover(): string {
    return coverOf(this.record);
  }

  /** Strong and quoted, by the JSON's content, as a version may recur after a restart with another title. */
  get etag(): string {
    return (this.#etag ??= `"${contentTag(this.json)}"`);
  }

  /**
   * The channel record in listener scope.
   * @param position milliseconds of audio as text, `""` for a next @param mount the path played
   */
  listenerJson(session: string, position: string, mount: string): string {
    return this.#join(JSON.stringify(session), JSON.stringify(position), JSON.stringify(mount));
  }

  /** The answer to a push: the specification's 17 fields, in its order ("Push response record"). */
  pushAnswer(): string {
    if (this.#pushAnswer !== undefined) return this.#pushAnswer;
    const { record } = this;
    return (this.#pushAnswer = JSON.stringify({
      time: utcTime(record.startSeconds),
      start: localTime(record.startSeconds, this.channel.timezone),
      start_timestamp: Math.floor(record.startSeconds),
      duration: record.durationSeconds,
      song: record.song,
      artist: record.artist,
      code: this.channel.key,
      channelkey: this.channel.key,
      channel: this.channel.key,
      timezone: record.timezone,
      id: record.id,
      userplayout: false,
      separator: record.separator,
      etype: record.etype,
      album: record.album,
      type: record.type,
      isrc: record.isrc,
    }));
  }

  #join(session: string, position: string, mount: string): string {
    const [head, middle, tail] = (this.#pieces ??= this.#render());
    return `${head}${session},"position":${position}${middle}${mount}${tail}`;
  }

  #render(): readonly [string, string, string] {
    const { record } = this;
    const channel = this.channel;
    const time = utcTime(record.startSeconds);
    const head = members({ rawdata: this.title, userplayout: false, channel: channel.name || channel.key });
    const middle = members({ marker: '', id: record.id });
    const tail = members({
      channelkey: channel.key,
      timestamp: time,
      artist: record.artist,
      song: record.song,
      station: channel.station,
      start: localTime(record.startSeconds, channel.timezone),
      duration: record.durationSeconds,
      start_timestamp: Math.floor(record.startSeconds),
      type: record.type,
      etype: record.etype,
      isrc: record.isrc,
      asin: '',
      cover: this.cover,
      album: record.album,
    });
    const untouched = `"images":${record.images ?? 'null'},"extdata":${record.extdata ?? 'null'}`;
    const last = members({
      source: record.source,
      time,
      code: channel.key,
      timezone: record.timezone,
      separator: record.separator,
    });
    return [`{${head},"session":`, `,${middle},"mount":`, `,${tail},${untouched},${last}}`];
  }
}

/** An object's members without its braces. */
function members(fields: Readonly<Record<string, string | number | boolean>>): string {
  return JSON.stringify(fields).slice(1, -1);
}

/** The cover as pushed, else the url of the medium, large or small image, else `""`. */
function coverOf(record: TrackRecord): string {
  if (record.cover !== '' || record.images === null) return record.cover;
  const images = JSON.parse(record.images) as Partial<Record<'small' | 'medium' | 'large', { url: string }>>;
  return images.medium?.url || images.large?.url || images.small?.url || '';
}
