import t from 'tap';
import { loadConfig } from '../../src/config/load.js';
import { secretMatches } from '../../src/config/secret.js';
import { draftText } from '../../src/setup/draft-text.js';
import { importedDraft } from '../../src/setup/import.js';
import { readLiquidsoap } from '../../src/setup/liquidsoap.js';
import { growsLinearly } from '../kit/growth.js';

// The forms that are found in scripts of people (named arguments in any order, encoders with brackets, bound names) and in what AzuraCast writes
// (an id, texts for all, the source last).
const SCRIPT = `
# output.icecast(%mp3, mount="commented", password="no")
icecast_password = "bound word"
radio = mksafe(playlist("/music # not a comment"))
output.icecast(%mp3(bitrate=128, samplerate=44100, stereo=true),
  host="localhost", port=8010, password=icecast_password, mount="live.mp3",
  name="Media, Core", description="24/7 (live)", url="https://media.example", genre="Pop", public=true, radio)
output.icecast(
    %ffmpeg(format="adts", %audio(codec="aac", b="32k")),
    id="local_1", host = "127.0.0.1", port = 8010, user = "dj", password = "az\\"ura", mount = "/radio.aac",
    name = "Azura", public = false, encoding = "UTF-8", radio)
ignore(output.icecast(%vorbis, port=9000, mount=config_get("mount"), password=getenv("X"), radio))
output.icecast(%vorbis, port=9000, mount="/other.ogg", password=getenv("X"), radio)
`;

t.test('calls of output.icecast, as they are written', async (t) => {
  const [first, second, third, fourth, ...none] = readLiquidsoap(SCRIPT);
  t.strictSame(first, {
    line: 5,
    host: 'localhost',
    port: 8010,
    mount: '/live.mp3',
    user: 'source',
    password: 'bound word',
    options: {
      name: 'Media, Core',
      genre: 'Pop',
      description: '24/7 (live)',
      url: 'https://media.example',
      public: true,
    },
  });
  t.match(second, { mount: '/radio.aac', user: 'dj', password: 'az"ura', options: { name: 'Azura', public: false } });
  t.match(third, { mount: '', password: '', port: 9000 });
  t.match(fourth, { mount: '/other.ogg', password: '' });
  t.strictSame(none, []);
});

t.test('they become channels with the passwords of the script', async (t) => {
  const draft = importedDraft(SCRIPT, { path: '/srv/a.yaml', station: '', mounts: [] });
  const config = loadConfig('/srv/a.yaml', {}, draftText(draft, '', '', ''));
  const { channels } = config.stations['imported']!;
  t.match(config.addresses, [{ port: 8010 }]);
  t.strictSame(
    Object.entries(channels).map(([key, { mounts }]) => [key, mounts]),
    [
      ['live', ['/live.mp3']],
      ['radio', ['/radio.aac']],
      ['other', ['/other.ogg']],
    ],
  );
  const encoder = channels['radio']!.sources[0]!;
  t.ok(encoder.type === 'encoder' && encoder.user === 'dj' && secretMatches([encoder.password!], 'az"ura'));
  t.match(draft.lost.join('\n'), /the mount of line 12 is not a literal in the script/);
  t.match(draft.lost.join('\n'), /\/other\.ogg: its password is not a literal in the script/);
  t.match(draft.lost.join('\n'), /line 13 connects to port 9000: here it is 8010/);
  t.notMatch(draft.lost.join('\n'), /--channel/);
});

t.test('mounts that were asked for and are not made are named', async (t) => {
  const station = { name: 'One', mounts: [{ path: '/live', url: 'https://one.example/live' }] };
  for (const text of [SCRIPT, JSON.stringify([station])]) {
    const { lost } = importedDraft(text, { path: '/srv/a.yaml', station: '', mounts: ['/jazz'] });
    t.match(lost.join('\n'), /--channel adds mounts only to an icecast\.xml: \/jazz was not created/);
  }
});

t.test('a script without them', async (t) => {
  const options = { path: '/srv/a.yaml', station: '', mounts: [] };
  t.throws(() => importedDraft('output.file(%mp3, "a.mp3", s)', options), {
    message: /neither an icecast\.xml nor a script/,
  });
  t.throws(() => importedDraft('output.icecast(%mp3, mount=m, s)', options), { message: /it names no mount/ });
});

t.test('what a script of any form takes grows with its length', async (t) => {
  const forms: Readonly<Record<string, (size: number) => string>> = {
    'blank lines': (size) => '\n'.repeat(size),
    'lines of blanks': (size) => ' '.repeat(size),
    returns: (size) => '\r'.repeat(size),
    'separators of lines': (size) => '\u2028'.repeat(size),
    'a text that is not closed': (size) => `"${'\\"'.repeat(size)}`,
    'one in single quotes': (size) => `'${"\\'".repeat(size)}`,
    'blanks within a value': (size) => `output.icecast(mount = a${' '.repeat(size)}b)`,
    'calls that are not closed': (size) => 'output.icecast('.repeat(size),
    arguments: (size) => `output.icecast(${'a=1,'.repeat(size)})`,
  };
  for (const [name, make] of Object.entries(forms)) await growsLinearly(t, name, 8000, make, readLiquidsoap);
});

t.test(
  'names that are bound stand alone on their lines, with blanks around them, in files of Windows too',
  async (t) => {
    const script =
      '  let pass  =  "word" \t\r\n\r\nother = 3 + 4\r\noutput.icecast(mount="/a", password=pass, port=other)\r\n';
    t.match(readLiquidsoap(script), [{ mount: '/a', password: 'word', port: 8000 }]);
  },
);

t.test('arguments are read up to a length, and calls up to a number', async (t) => {
  const call = (blanks: number) => `output.icecast(${' '.repeat(blanks)}mount="/a")`;
  t.equal(readLiquidsoap(call(16_384 - 'mount="/a"'.length))[0]!.mount, '/a');
  t.equal(readLiquidsoap(call(16_384))[0]!.mount, '');
  t.equal(readLiquidsoap(call(0).repeat(101)).length, 100);
});
