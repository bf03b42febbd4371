/**
 * The head of a listener's response: HTTP/1.0 status line, close-delimited, never cached, readable by pages of any
 * origin with `icy-metaint` exposed. The reason for each header: src/http/stream/README.md, "Answers".
 */

import type { PlayableAudio } from '../../audio/playable-audio.js';
import type { SourceFacts } from '../../source/source-facts-schema.js';

type StatedFacts = Omit<SourceFacts, 'contentType'>;

/** What is configured, or stated by the source; the frames supply the numbers that are 0. */
export interface HeadFacts extends StatedFacts {
  readonly key: string;
  /** The content type of Ogg. */
  readonly oggType: string;
  readonly server: string;
  /** Names and values for indexes of streams (channel/stream-info.ts), in ASCII. */
  readonly info: readonly (readonly [name: string, value: string])[];
  /** Configured headers, name → value with {channelkey} filled in. They replace ours of the same name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** As valid for Vorbis as `audio/ogg` (RFC 5334), which MOC takes for Opus: passed on if the source declares it. */
const VORBIS_TYPE = 'application/ogg';

/**
 * The facts for listeners: from the configuration, else from the source on air, else the channel's key as its name.
 * @param sends a content type, or a codec of Ogg; null: nothing
 */
export function mergeFacts(
  configured: HeadFacts,
  source: (StatedFacts & Partial<SourceFacts>) | null | undefined,
  sends: string | null = null,
): HeadFacts {
  return {
    ...configured,
    name: configured.name || source?.name || configured.key,
    genre: configured.genre || (source?.genre ?? ''),
    url: configured.url || (source?.url ?? ''),
    description: configured.description || (source?.description ?? ''),
    public: configured.public ?? source?.public,
    bitrateKbps: configured.bitrateKbps || (source?.bitrateKbps ?? 0),
    // The source's text holds its own bitrate, which is not the configured one.
    audioInfo: configured.bitrateKbps === 0 ? (source?.audioInfo ?? '') : '',
    sampleRate: source?.sampleRate ?? 0,
    channels: source?.channels ?? 0,
    oggType: sends === 'vorbis' && source?.contentType === VORBIS_TYPE ? VORBIS_TYPE : configured.oggType,
  };
}

/** The format on air, by its frames; 0: unknown. */
export type AudioFacts = Pick<PlayableAudio, 'contentType' | 'bitrateKbps' | 'sampleRate' | 'channels'>;

/** The format as configured or announced, else as in the frames. The same in all answers. */
export function formatFacts(facts: HeadFacts, audio: AudioFacts): AudioFacts {
  const { contentType } = audio;
  const framed = contentType === 'audio/mp2' ? 'audio/mpeg' : contentType;
  return {
    contentType: contentType === 'audio/ogg' ? facts.oggType : framed,
    bitrateKbps: facts.bitrateKbps || audio.bitrateKbps,
    sampleRate: facts.sampleRate || audio.sampleRate,
    channels: facts.channels || audio.channels,
  };
}

/** `bitrate=128;samplerate=44100;channels=2`: the source's text, then what it leaves out, by the frames; or "". */
export function audioInfoOf(facts: HeadFacts, audio: AudioFacts): string {
  const said = facts.audioInfo
    .toLowerCase()
    .split(';')
    .map((pair) => pair.split('=')[0]!.trim().replace(/^ice-/, ''));
  const { bitrateKbps, sampleRate, channels } = formatFacts(facts, audio);
  const known: readonly (readonly [string, number])[] = [
    // The source's text stands for its own bitrate, or for a quality.
    ['bitrate', facts.audioInfo === '' ? bitrateKbps : 0],
    ['samplerate', sampleRate],
    ['channels', channels],
  ];
  const more = known.filter(([name, value]) => value > 0 && !said.includes(name)).map((pair) => pair.join('='));
  return [...(facts.audioInfo === '' ? [] : [facts.audioInfo]), ...more].join(';');
}

const EXPOSED =
  'icy-metaint, icy-name, icy-genre, icy-br, icy-url, icy-description, icy-pub, ice-audio-info, x-channelkey';

/** Header values are one line of Latin-1 or UTF-8 text: control characters become blanks. */
function clean(value: string): string {
  return value.replace(/[\u0000-\u001f\u007f]/g, ' ').trim();
}

/**
 * @param metaint bytes between blocks; null: without ICY
 * @param addressHeaders headers of the address that the player requested
 */
export function streamHead(
  facts: HeadFacts,
  audio: AudioFacts,
  metaint: number | null,
  addressHeaders: Readonly<Record<string, string>>,
): Buffer {
  const headers: (readonly [string, string])[] = [
    ['Content-Type', formatFacts(facts, audio).contentType],
    ['Connection', 'close'],
    ['Server', facts.server],
    ['Cache-Control', 'no-store'],
    ['Pragma', 'no-cache'],
    ['Expires', 'Mon, 26 Jul 1997 05:00:00 GMT'],
    ['Accept-Ranges', 'none'],
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Expose-Headers', [EXPOSED, ...facts.info.map(([name]) => name)].join(', ')],
    ['X-Channelkey', facts.key],
    ['icy-name', facts.name],
    ['icy-genre', facts.genre],
    ['icy-url', facts.url],
    ['icy-description', facts.description],
    ['icy-pub', facts.public ? '1' : '0'],
    ...facts.info,
  ];
  const { bitrateKbps } = formatFacts(facts, audio);
  const bitrate = bitrateKbps > 0 ? String(bitrateKbps) : '';
  headers.push(['icy-br', bitrate], ['ice-audio-info', audioInfoOf(facts, audio)]);
  if (metaint !== null) headers.push(['icy-metaint', String(metaint)]);
  headers.push(...Object.entries(addressHeaders));
  return renderHead('HTTP/1.0 200 OK', headers, facts.headers);
}

function renderHead(
  statusLine: string,
  headers: readonly (readonly [string, string])[],
  replaced: Readonly<Record<string, string>>,
): Buffer {
  const names = new Set(Object.keys(replaced).map((name) => name.toLowerCase()));
  let text = `${statusLine}\r\n`;
  for (const [name, value] of headers) {
    if (value !== '' && !names.has(name.toLowerCase())) text += `${name}: ${clean(value)}\r\n`;
  }
  for (const [name, value] of Object.entries(replaced)) text += `${name}: ${clean(value)}\r\n`;
  return Buffer.from(`${text}\r\n`, 'utf8');
}
