/** Titles live in a terminal: a line for each channel. Plain lines are in commands.test.ts. */

import t from 'tap';
import { airsplice } from '../kit/command-line.js';
import { missing } from '../kit/program.js';
import { demoYaml, startServer } from '../kit/server.js';
import { TerminalProgram } from '../kit/terminal.js';

t.test('each channel has a line that changes', { skip: missing('script') }, async (t) => {
  const { base } = await startServer(t, demoYaml());
  const push = async (channel: string, ...title: string[]) => {
    const { code } = await airsplice(['push', channel, '--url', base, ...title], {
      AIRSPLICE_TOKEN: `${channel}-token`,
    });
    t.equal(code, 0);
  };
  await push('demo', '--song', 'One', '--duration', '61');
  await push('studio', '--song', 'Two');
  const live = new TerminalProgram(t, 90, 10, ['watch', '--station', 'demo', '--url', base]);
  await live.until(() => live.picture.length === 2, 'not both');
  await push('demo', '--song', 'Three');
  await push('studio', '--song', 'Four\u001b[2J', '--next');
  await live.until(() => live.said.includes('Three') && live.said.includes('Four'), 'old');
  t.match(live.picture[0], /^\d\d:\d\d:\d\d {2}demo {4}Three$/);
  t.match(live.picture[1], /^\d\d:\d\d:\d\d {2}studio {2}Two {2,}next: Four.?\[2J$/);
  t.equal(await live.interrupt(), 0);
  t.match(live.behind, /demo {4}Three\n/);

  const lines = new TerminalProgram(t, 90, 10, ['watch', 'demo', '--url', base, '--lines']);
  await lines.until(() => lines.said.includes('Three'), 'it says nothing');
  t.notOk(lines.isLive);
});
