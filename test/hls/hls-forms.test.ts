/** Which form a channel's audio has, and that what goes on in one format keeps it. */

import t from 'tap';
import { emptyHeader, readHeader } from '../../src/audio/frames/header.js';
import { OggLink } from '../../src/audio/ogg/ogg-link.js';
import type { FormChoice } from '../../src/config/hls-config.js';
import { HlsForms } from '../../src/hls/hls-forms.js';
import { adtsFrame, adtsHeader } from '../kit/adts.js';
import { flacHeaders, opusHeaders } from '../kit/made-ogg.js';
import { numberedFrame } from '../kit/numbered.js';
import { Random } from '../kit/random.js';

const NOTHING = { lastInit: null };

function formOf(forms: HlsForms, frame: Buffer) {
  const header = emptyHeader();
  if (!readHeader(frame, 0, header)) throw new Error('no frame');
  return forms.ofFrame(frame, header);
}

function aac(facts: Partial<Parameters<typeof adtsHeader>[0]> = {}): Buffer {
  const head = adtsHeader({ rateIndex: 4, channels: 2, lengthBytes: 107, ...facts });
  return Buffer.concat([head, Buffer.alloc(100, 3)]);
}

const CHOICES: readonly FormChoice[] = ['auto', 'packed', 'fmp4'];

t.test('MP3 is packed, AAC as it is chosen, Opus and FLAC are fragments', async (t) => {
  for (const choice of CHOICES) {
    const forms = new HlsForms(choice, NOTHING);
    const mp3 = formOf(forms, numberedFrame(1));
    t.strictSame([mp3.extension, mp3.codecs, mp3.init], ['mp3', 'mp4a.40.34', null]);
    const form = formOf(forms, aac());
    t.equal(form.extension, choice === 'fmp4' ? 'm4s' : 'aac');
    t.equal(form.init === null, choice !== 'fmp4');
    for (const [headers, codecs, rate] of [
      [opusHeaders(), 'opus', 48_000],
      [flacHeaders({ hertz: 44_100 }), 'fLaC', 44_100],
    ] as const) {
      const ogg = forms.ofLink(new OggLink(headers));
      t.strictSame([ogg.extension, ogg.codecs, ogg.sampleRate], ['m4s', codecs, rate]);
      t.match(ogg.init!.name, /^init-/);
    }
  }
  const layerTwo = Buffer.from(numberedFrame(0));
  layerTwo[1] = 0xfd;
  t.equal(formOf(new HlsForms('auto', NOTHING), layerTwo).codecs, 'mp4a.40.33');
});

t.test('ADTS headers stay in packed frames, and go in fragments, with their CRC', async (t) => {
  const random = new Random();
  for (const hasCrc of [false, true]) {
    const { frame, block } = adtsFrame(random, 300, { hasCrc });
    t.ok(formOf(new HlsForms('packed', NOTHING), frame).payload(frame).equals(frame));
    t.ok(formOf(new HlsForms('fmp4', NOTHING), frame).payload(frame).equals(block));
  }
});

t.test('AAC that names its channels in its frames stays packed', async (t) => {
  const form = formOf(new HlsForms('fmp4', NOTHING), aac({ channels: 0 }));
  t.strictSame([form.extension, form.init], ['aac', null]);
});

t.test('one format is one form: over frames, over links, and over what plays no differently', async (t) => {
  const forms = new HlsForms('fmp4', NOTHING);
  const first = formOf(forms, aac());
  t.equal(formOf(forms, aac({ lengthBytes: 107 })), first);
  t.not(formOf(forms, aac({ channels: 1 })), first);
  const opus = forms.ofLink(new OggLink(opusHeaders()));
  t.equal(forms.ofLink(new OggLink(opusHeaders({ preSkip: 3840 }))), opus);
  t.not(forms.ofLink(new OggLink(opusHeaders({ channels: 1 }))), opus);
  const flac = forms.ofLink(new OggLink(flacHeaders({ hertz: 48_000 })));
  t.equal(forms.ofLink(new OggLink(flacHeaders({ hertz: 48_000 }))), flac);
  t.not(forms.ofLink(new OggLink(flacHeaders({ hertz: 48_000, bits: 24 }))), flac);
});

t.test('another choice is another form; the same one changes nothing', async (t) => {
  const forms = new HlsForms('packed', NOTHING);
  const packed = formOf(forms, aac());
  t.notOk(forms.choose('packed'));
  t.equal(formOf(forms, aac()), packed);
  t.ok(forms.choose('fmp4'));
  t.equal(formOf(forms, aac()).extension, 'm4s');
});
