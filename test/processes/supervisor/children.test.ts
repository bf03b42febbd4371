/** The hub of a supervisor, waited for. It is a program of a few lines. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openLog } from '../../../src/base/log.js';
import { MESSAGES_VERSION } from '../../../src/processes/messages.js';
import { DrainingWorkers } from '../../../src/processes/restart/draining-workers.js';
import { Children } from '../../../src/processes/supervisor/children.js';
import { launchOf } from '../../../src/processes/supervisor/managed-process.js';
import { tempFolder } from '../../kit/temp-folder.js';
import { awaited, patient, until } from '../../kit/until.js';

/** It is ready when it gets its work. */
const PROGRAM = `
process.on('message', ({ type }) => {
  if (type === 'boot') process.send({ type: 'ready', ports: [], shoutcastPorts: [] });
});
process.send({ type: 'waiting', version: ${MESSAGES_VERSION} });
`;

function childrenOf(t: Test): Children {
  const script = join(tempFolder(t), 'child.mjs');
  writeFileSync(script, PROGRAM);
  const draining = new DrainingWorkers({ graceSeconds: 1, drainSeconds: 0 }, openLog('silent', 0).log);
  const children: Children = new Children({ path: 'none', value: {}, order: [] }, 0, draining, {
    launch: launchOf(script),
    onReady: (child) => children.onHub(child),
    onMessage: () => undefined,
    onEnded: () => {
      children.hub.child = null;
    },
  });
  t.teardown(() => {
    children.hub.child?.kill();
  });
  return children;
}

t.test('a hub that is ready is there at once, one that is started when it is ready', async (t) => {
  const children = childrenOf(t);
  const waits = [children.readyHub(patient(10_000)), children.readyHub(patient(10_000))];
  children.hub.start();
  const hub = children.hub.child!;
  t.same(await Promise.all(waits), [hub, hub]);
  t.equal(await children.readyHub(0), hub);
  hub.kill();
  await until(() => children.hub.child === null, 10_000);
  t.equal(await awaited(children.readyHub(5), 5000), null, 'it has ended');
});

t.test('none within the time, or because all are being stopped', async (t) => {
  const children = childrenOf(t);
  t.equal(await awaited(children.readyHub(5), 5000), null);
  const waits = children.readyHub(600_000);
  children.stop();
  t.equal(await awaited(waits, 5000), null);
  t.equal(await children.readyHub(600_000), null);
});
