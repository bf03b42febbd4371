/** The manual page: every command and option, as man shows it and as mandoc checks it. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { COMMANDS } from '../../../src/cli/commands.js';
import { manualPage } from '../../../src/cli/terminal/man.js';
import { missing } from '../../kit/program.js';
import { tempFolder } from '../../kit/temp-folder.js';

const PAGE = manualPage(COMMANDS, '1.2.3', '2026-11-23');

t.test('as man shows it', { skip: missing('man') }, async (t) => {
  const file = join(tempFolder(t), 'airsplice.1');
  writeFileSync(file, PAGE);
  const env = { ...process.env, MANWIDTH: '80', MANPAGER: 'cat', LC_ALL: 'C.UTF-8', MANROFFOPT: '-ww' };
  const shown = execFileSync('man', ['-l', file], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    .replace(/.\u0008/g, '')
    .replace(/\u001b\[[\d;]*m/g, '');
  t.match(shown, /^AIRSPLICE\(1\) +(BSD )?General Commands Manual +AIRSPLICE\(1\)/m);
  t.match(shown, /airsplice . a relay for radio streams/);
  t.match(shown, /airsplice watch \[options\] \[CHANNEL\]/);
  t.match(shown, /-p, --port PORT/);
  t.match(shown, /airsplice 1\.2\.3/);
  const words = shown.replace(/[\u2010-]\n\s*/g, '-').replace(/\s+/g, ' ');
  for (const { name, options, summary } of COMMANDS) {
    t.ok(shown.includes(`\n   ${name}\n`), name);
    t.ok(words.includes(summary.slice(0, 40)), summary);
    for (const option of Object.keys(options)) t.ok(words.includes(`--${option}`), `${name} --${option}`);
  }
});

t.test('as mandoc checks it', { skip: missing('mandoc') }, async (t) => {
  const file = join(tempFolder(t), 'airsplice.1');
  writeFileSync(file, PAGE);
  t.equal(execFileSync('mandoc', ['-T', 'lint', '-W', 'warning', file], { encoding: 'utf8' }), '');
});

t.test('a line that begins like a request is text', async (t) => {
  const page = manualPage(
    [{ name: 'x', operands: '', summary: '.so /etc/passwd', options: { y: { type: 'boolean', about: "'\\z-" } } }],
    '1',
    '2026-01-01',
  );
  t.match(page, /^\\&\.so \/etc\/passwd$/m);
  t.match(page, /^\\&'\\ez\\-$/m);
});
