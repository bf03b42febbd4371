/** Commands to a running server need its data folder alone: a shell has not the variables of its service. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { airsplice } from '../kit/command-line.js';
import { tempFolder } from '../kit/temp-folder.js';

const STATIONS = `stations: { s: { channels: { a: { sources: [{ type: encoder, password: 'env:NOT_SET_HERE' }] } } } }\n`;

for (const command of [['reload'], ['restart'], ['backup', 'there.airsplice', '--config']]) {
  t.test(`${command[0]}`, async (t) => {
    const folder = tempFolder(t);
    const path = join(folder, 'airsplice.yaml');
    const run = (text: string) => {
      writeFileSync(path, text);
      return airsplice([...command, path]);
    };
    const none = new RegExp(command[0] === 'backup' ? `no store in ${folder}/data\n` : 'no server .*is using ');
    t.match(await run(STATIONS), { code: 1, err: none });
    t.match(await run(`streams: { burst: 1 }\n${STATIONS}`), { code: 1, err: none }, 'the server says what is wrong');
    t.match(await run(`data: { folder: '\${NOT_SET_HERE}/data' }\n${STATIONS}`), {
      code: 2,
      err: /:1:\d+: data\.folder: uses the environment variable NOT_SET_HERE, which is not set/,
    });
    t.match(await run(`data: { folder: '\${NOT_SET_HERE:-./data}' }\n${STATIONS}`), { code: 1, err: none });
    t.match(await airsplice([...command, join(folder, 'none.yaml')]), { code: 2, err: /cannot be read \(ENOENT\)/ });
  });
}
