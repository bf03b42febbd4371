import t from 'tap';
import { pageHost } from '../../src/statistics/page-host.js';
import { playerFamily } from '../../src/statistics/player-family.js';

/** As the players themselves send them. */
const AGENTS: readonly (readonly [string, string])[] = [
  ['VLC/3.0.20 LibVLC/3.0.20', 'VLC'],
  ['Lavf/60.16.100', 'FFmpeg'],
  ['libmpv', 'mpv, MPlayer, MPD'],
  ['MPlayer/1.5', 'mpv, MPlayer, MPD'],
  ['Music Player Daemon 0.23.12', 'mpv, MPlayer, MPD'],
  ['mpg123/1.31.2', 'mpv, MPlayer, MPD'],
  ['WinampMPEG/5.8', 'Winamp'],
  ['foobar2000/2.1', 'foobar2000'],
  ['iTunes/12.12.9 (Windows; Microsoft Windows 10)', 'iTunes'],
  ['AppleCoreMedia/1.0.0.21F90 (iPhone; U; CPU OS 17_5_1 like Mac OS X; de_de)', 'Apple apps'],
  ['Dalvik/2.1.0 (Linux; U; Android 14; SM-S911B)', 'Android apps'],
  ['radio/1.0 (Linux;Android 13) ExoPlayerLib/2.19.1', 'Android apps'],
  ['Linux UPnP/1.0 Sonos/80.1-55014 (ZPS31)', 'Sonos'],
  [
    'Mozilla/5.0 (X11; Linux armv7l) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/90.0 Safari/537.36 CrKey/1.56',
    'Google Cast',
  ],
  ['TuneIn Radio/29.5 (iPhone)', 'TuneIn'],
  ['FSL/1.0 (Frontier Silicon Radio)', 'Internet radios'],
  ['Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/537.36 Chrome/76.0 TV Safari/537.36', 'Television sets'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
    'Chrome',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 Edg/130.0',
    'Edge',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0 Safari/537.36 OPR/115.0',
    'Opera',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0', 'Firefox'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
    'Safari',
  ],
  ['Icecast 2.4.4', 'Relays'],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'Robots'],
  ['curl/8.5.0', 'Programs'],
  ['Something of my own', 'Others'],
  ['', 'unknown'],
  ['  ', 'unknown'],
];

t.test('players by their family', async (t) => {
  for (const [agent, family] of AGENTS) t.equal(playerFamily(agent), family, agent);
});

t.test('a long agent costs no time', async (t) => {
  const startMs = performance.now();
  for (let i = 0; i < 100; i++) playerFamily('version/tizen'.repeat(5000));
  t.ok(performance.now() - startMs < 500);
});

t.test('of a page its host only', async (t) => {
  const hosts: Readonly<Record<string, string>> = {
    'https://www.Example.org/listen?user=ann#now': 'example.org',
    'http://radio.example:8080': 'radio.example',
    'https://radio.example.': 'radio.example',
    'android-app://com.example': 'unknown',
    'https://ann:secret@example.org/': 'unknown',
    '=cmd()': 'unknown',
    '': 'unknown',
    'https://www./': 'www',
    [`https://${'a'.repeat(200)}.org/`]: 'a'.repeat(100),
  };
  for (const [referer, host] of Object.entries(hosts)) t.equal(pageHost(referer), host, referer);
});
