import t from 'tap';
import type { ChannelStatus, StatusReport } from '../../src/cli/status-report.js';
import { lasted, statusLines } from '../../src/cli/status-table.js';
import { columnsOf } from '../../src/cli/terminal/terminal.js';

const CHANNEL: ChannelStatus = {
  key: 'one',
  station: 's',
  name: 'One',
  isOnAir: true,
  source: 'encoder',
  troubles: [],
  listeners: 1200,
  peakListeners: 3000,
  title: 'Title',
  lagSeconds: 1.25,
};

function report(channels: readonly ChannelStatus[]): StatusReport {
  const rest = { isReady: true, startedAt: null, listeners: 1, watchers: null, workers: null, hasMetrics: false };
  return { url: 'http://host', channels, ...rest };
}

t.test('no line is wider than the terminal, and there are no more than it has, at every size', async (t) => {
  const channels = Array.from({ length: 12 }, (_, i) => ({
    ...CHANNEL,
    key: `channel-${'x'.repeat(i * 6)}`,
    title: i % 2 === 0 ? '語'.repeat(i * 9) : 'e\u0301'.repeat(i * 9),
    troubles: i === 3 ? ['silent', 'bitrate-off', 'stalled'] : [],
    isOnAir: i !== 5,
  }));
  for (let columns = 13; columns <= 200; columns += 3) {
    for (let rows = 5; rows <= 40; rows += 7) {
      const lines = statusLines(report(channels), { columns, rows }, (text) => text);
      const wide = lines.filter((line) => columnsOf(line) > columns);
      t.strictSame([lines.length <= rows, wide], [true, []], `${columns} × ${rows}`);
    }
  }
});

t.test('what a title says moves no cursor; words say what colours say', async (t) => {
  const bad = { ...CHANNEL, title: 'a\u001b[2Jb\n', troubles: ['silent'] };
  const painted = statusLines(
    report([bad, { ...CHANNEL, isOnAir: false, source: null }]),
    { columns: 120, rows: 50 },
    (text, colour) => `<${colour}>${text}`,
  ).join('\n');
  t.match(painted, '<yellow>● <yellow>one');
  t.match(painted, /encoder: silent +1200 +3000 +1\.3 s +a \[2Jb/);
  t.match(painted, /<red>○ .*no audio/);
  t.notMatch(painted, '\u001b');
});

t.test('how long', async (t) => {
  const minuteMs = 60_000;
  t.strictSame(
    [0, -5, 59, 61, 1441, 4321].map((minutes) => lasted(minutes * minuteMs)),
    ['0 min', '0 min', '59 min', '1 h 1 min', '1 d 0 h', '3 d 0 h'],
  );
});
