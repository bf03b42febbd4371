/** The lines and the timeline of a channel's sources: each under its place, one that was taken out and plays on under none. */

import t from 'tap';
import { SourceLog } from '../../src/channel/source-log.js';
import { keepLines } from '../kit/log-lines.js';
import { FakeSource, setUp } from '../kit/switch-harness.js';

t.test('while one that was taken out plays on, the others stand under their own places', async (t) => {
  const { clock, audio, fakes } = setUp(['pull', 'file']);
  const { log, lines } = keepLines();
  const sourceLog = new SourceLog({ key: 'live', clock, log, sources: () => audio });
  const [pull, file] = fakes as [FakeSource, FakeSource];
  audio.start();
  pull.send();
  t.equal(audio.indexOnAir, 0);
  const settings = { onDemand: false, lingerMs: 0, returnMs: 0, bitrateKbps: 0 };
  let other!: FakeSource;
  audio.replace([
    { from: null, settings, make: (input) => (other = new FakeSource('pull2', 'pull', input)) },
    { from: 1, settings, make: () => file },
  ]);
  t.strictSame([audio.onAir, audio.sources], [pull, [other, file]], 'it is leaving');

  for (const source of [other, pull, file]) sourceLog.report(source, 'stalled', {}, false);
  sourceLog.changed(pull, 'has bytes');
  t.strictSame(
    lines.filter(({ event }) => event === 'stalled').map(({ source, place }) => [source, place]),
    [
      ['pull', 0],
      ['pull', null],
      ['file', 1],
    ],
  );
  t.strictSame(
    sourceLog.entries.map(({ what, place, kind }) => [what, place, kind]),
    [
      ['stalled', 0, 'pull'],
      ['stalled', null, 'pull'],
      ['stalled', 1, 'file'],
      ['on-air', null, 'pull'],
    ],
  );
});
