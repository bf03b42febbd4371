/** The log as programs and as persons read it, and its level. What becomes of it when its reader is slow: test/e2e/log.test.ts. */

import t from 'tap';
import { openLog } from '../../src/base/log.js';
import { textLine } from '../../src/base/log-text.js';
import { TYPESCRIPT } from '../kit/process.js';
import { missing, Program } from '../kit/program.js';

const LOG = new URL('../../src/base/log.ts', import.meta.url).href;

t.test('a line of text: time, level, message, fields', async (t) => {
  const time = new Date(2026, 10, 23, 9, 5, 7, 42).toISOString();
  const line = JSON.stringify({
    level: 40,
    time,
    channel: 'demo',
    reason: 'has bytes',
    n: 3,
    list: [1],
    msg: 'a message',
  });
  t.equal(textLine(line, false), '09:05:07.042 WARN  a message  channel=demo reason="has bytes" n=3 list=[1]');
  t.match(textLine(line, true), '\u001b[33mWARN \u001b[0m a message');
  t.equal(textLine(JSON.stringify({ level: 30, time, msg: 'alone' }), false), '09:05:07.042 INFO  alone');
});

t.test('an error has its stack below; nothing that a stranger wrote moves a cursor', async (t) => {
  const time = new Date().toISOString();
  const err = { type: 'Error', message: 'm', stack: 'Error: m\u001b[2J\n    at x' };
  const text = textLine(
    JSON.stringify({ level: 50, time, err, agent: 'a\u001b[2J\n\u009b\u202eb', msg: 'x\r\u001b[2J' }),
    false,
  );
  t.match(text, /ERROR x {2}\[2J {2}agent="a\\u001b\[2J\\n b"\n {4}Error: m \[2J\n {8}at x$/);
  t.match(textLine(JSON.stringify({ level: 50, time, err: 'plain', msg: 'x' }), false), /x {2}err=plain$/);
});

t.test('its level can be changed while it runs', async (t) => {
  const opened = openLog('silent', 1000);
  t.equal(opened.level, 'silent');
  opened.setLevel('debug');
  t.equal(opened.level, 'debug');
  t.ok((opened.log as unknown as { isLevelEnabled(level: string): boolean }).isLevelEnabled('debug'));
  opened.setLevel('silent');
  await opened.close();
});

t.test('text in a terminal, JSON in a pipe, and what the format says', { skip: missing('script') }, async (t) => {
  const script = (format: string) =>
    `const { openLog } = await import('${LOG}'); const o = openLog('info', 9999, '${format}'); o.log.info({ a: 1 }, 'm'); await o.close();`;
  const run = async (format: string, inTerminal: boolean): Promise<string> => {
    const words = [process.execPath, ...TYPESCRIPT, '--input-type=module', '-e', script(format)];
    const shell = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const args = inTerminal ? ['script', '-qefc', shell, '/dev/null'] : ['sh', '-c', shell];
    const program = new Program(t, args[0]!, args.slice(1), { NODE_OPTIONS: '', NO_COLOR: '1' });
    await program.until(() => program.said.includes('\n'), 20_000, 'it says nothing');
    return program.said;
  };
  const JSON_LINE = /^\{"level":30,"time":".*","a":1,"msg":"m"\}\r?\n/;
  const TEXT_LINE = /^\d\d:\d\d:\d\d\.\d{3} INFO {2}m {2}a=1\r?\n/;
  const runs = [run('auto', true), run('auto', false), run('json', true), run('text', false)];
  const [terminal, pipe, json, text] = await Promise.all(runs);
  t.match(terminal, TEXT_LINE);
  t.match(pipe, JSON_LINE);
  t.match(json, JSON_LINE);
  t.match(text, TEXT_LINE);
});
