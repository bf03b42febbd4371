/**
 * The family of a player by its user agent, from a short table; the first match counts. Players that name their components come before those, and
 * browsers last, since nearly all of them name each other. Pure.
 */

import { UNKNOWN } from './figures.js';

/** Pattern in a user agent in lower case → the family. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/bot\b|crawler|spider|monitor|uptime|pingdom|zabbix|nagios|prometheus/, 'Robots'],
  [/icecast|shoutcast.?relay|airsplice|liquidsoap|rsas/, 'Relays'],
  [/sonos/, 'Sonos'],
  [/alexa|amazon ?music|echo\//, 'Alexa'],
  [/googlehome|google ?cast|crkey|chromecast|google-speech/, 'Google Cast'],
  [/homepod|homeaudio/, 'HomePod'],
  [/tunein/, 'TuneIn'],
  [/radio\.?garden/, 'Radio Garden'],
  [/radio\.(de|net|at|fr)|radioplayer|radio ?player/, 'Radioplayer apps'],
  [/roku/, 'Roku'],
  [/volumio|moode|raspotify|mopidy/, 'Volumio, moOde, Mopidy'],
  [/logitech|squeezebox|squeezelite|lyrion|slimserver/, 'Squeezebox'],
  [/bose/, 'Bose'],
  [
    /frontier|ir ?radio|internet ?radio|reciva|magic ?systech|vtuner|airable|nuvola|hama|technisat|pure ?connect/,
    'Internet radios',
  ],
  [/smarttv|smart-tv|webos|tizen.*tv|hbbtv|bravia|appletv|apple ?tv|tvos|aft[bmnrst]|fire ?tv/, 'Television sets'],
  [/carplay|android ?auto|tesla|bmw|mercedes|mbux/, 'Cars'],
  [/vlc|libvlc/, 'VLC'],
  [/winamp|wacup|nsplayer\/winamp/, 'Winamp'],
  [/foobar2000/, 'foobar2000'],
  [/itunes/, 'iTunes'],
  [/aimp/, 'AIMP'],
  [
    /clementine|strawberry|rhythmbox|amarok|audacious|quodlibet|deadbeef|banshee|exaile|lollypop|shortwave|goodvibes|gnome-?radio/,
    'Linux players',
  ],
  [/mplayer|libmpv|\bmpv\b|smplayer|mpg123|music player daemon|\bmpd\b|xmms|moc\//, 'mpv, MPlayer, MPD'],
  [/nsplayer|windows-media-player|wmfsdk|zune/, 'Windows Media Player'],
  [/gstreamer|libsoup|souphttpsrc/, 'GStreamer'],
  [/lavf|ffmpeg|ffplay/, 'FFmpeg'],
  [/exoplayer|media3|stagefright|android.*audio|dalvik/, 'Android apps'],
  [/applecoremedia|avfoundation|cfnetwork|quicktime/, 'Apple apps'],
  [/okhttp|retrofit|cordova|flutter|dart\/|just_audio|expo|react-?native/, 'Other apps'],
  [/edg(e|a|ios)?\//, 'Edge'],
  [/opr\/|opera|opios/, 'Opera'],
  [/samsungbrowser/, 'Samsung Internet'],
  [/firefox|fxios|seamonkey/, 'Firefox'],
  [/chrom(e|ium)|crios/, 'Chrome'],
  [/version\/.*safari|safari\//, 'Safari'],
  [/curl|wget|python|java\/|go-http-client|node|undici|perl|php|ruby|libwww|aiohttp|axios/, 'Programs'],
];
const OTHER_PLAYERS = 'Others';
/** Only the beginning is matched, to save time. */
const AGENT_CHARACTERS = 300;

/** Agents whose family is cached: a crowd has few. */
const CACHED = 500;

/** A cache by agent, emptied when it is full. */
export class PlayerFamilies {
  readonly #known = new Map<string, string>();

  of(agent: string): string {
    const text = agent.slice(0, AGENT_CHARACTERS);
    let family = this.#known.get(text);
    if (family === undefined) {
      family = playerFamily(text);
      if (this.#known.size >= CACHED) this.#known.clear();
      this.#known.set(text, family);
    }
    return family;
  }
}

/** @param agent "": none */
export function playerFamily(agent: string): string {
  const text = agent.slice(0, AGENT_CHARACTERS).toLowerCase();
  if (text.trim() === '') return UNKNOWN;
  for (const [pattern, family] of FAMILIES) if (pattern.test(text)) return family;
  return OTHER_PLAYERS;
}
