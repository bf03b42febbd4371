/**
 * Chooses the rotated files (rotated.mjs) of a commit: a third, by its place in the history, so that three commits in a row run all of them; and
 * those that the latest change affects: its own tests in any case, related ones while there is time.
 */

import { spawnSync } from 'node:child_process';

/** The latest change includes all commits within this time. */
const CHANGE_SECONDS = 4 * 3600;

/** Sources → related rotated tests, as paths below `test/`. */
const ABOUT = [
  [
    /^src\/(cluster|link)\//,
    /^nodes |^behaviour\/cluster-titles|cluster-stops|^e2e\/(hls-nodes|origins|other-version|session-tickets|silent-links|woken-node)|^link\//,
  ],
  [
    /^src\/(processes|app)\//,
    /^workers |hostile-workers|long\/processes|other-version|reload-deaths|^cli\/server|^e2e\/(start|systemd)/,
  ],
  [/^src\/(config|app)\//, /reload-pairs|reload-deaths/],
  [
    /^src\/(audio|source|channel)\//,
    /^audio\/|encoders-|aac-joins|darkice|ogg|transcribed|decoders|long\/(players|icecast)|fallback-restart|another-format|resting-files|e2e\/demo/,
  ],
  [
    /^src\/(http\/ingest|net)\//,
    /encoders-|darkice|fuzz-front|proxies|attacks|^net\/|media-clock|session-tickets|e2e\/(policy|proxy)/,
  ],
  [
    /^src\/(listener|http\/stream)\//,
    /players|heard-places|heard-acts|unread-answers|write-seconds|quiet|firefox|restarts|churn|large-station|e2e\/policy/,
  ],
  [/^src\/(hls|link\/hls|listener\/hls|http\/stream)\//, /hls|rewind/],
  [/^src\/(titles|now-playing|metadata|feed|http\/(poll|watch))\//, /truth|cluster-titles|long\/fuzz|clock/],
  [/^src\/(store|statistics)\//, /store|faults|crash|backup|statistics|clock/],
  [/^src\/(alerts|base|webhooks|covers)\//, /alerts|outgoing-titles|monitoring|e2e\/(log|logrotate|fail2ban)|systemd/],
  [
    /^src\/(cli|setup)\/|^config\/|^package(-lock)?\.json$/,
    /^cli\/|newcomer|package|cluster-example|container|e2e\/demo|fail2ban|hls-caches|logrotate|monitoring|systemd/,
  ],
  [
    /^src\/(docs|web|client|http\/(admin|page))\//,
    /generated-clients|^docs\/|admin-page|page-acts|firefox|operator-login|page-fit|station-page|rewind-page|hls-client|client-package|e2e\/(demo|statistics)/,
  ],
  [/(^|\/)[^/]+\.md$|^src\/(cli|setup|processes)\/|^config\/|^package\.json$/, /typed-lines/],
  [/^bench\//, /long\/(bench|truth|soak)/],
];

/** @returns 0, 1 or 2: TEST_PART, else by the number of commits before this one */
export function partOf() {
  const { TEST_PART } = process.env;
  return Number(TEST_PART ?? git('rev-list', '--count', 'HEAD') ?? 0) % 3;
}

/**
 * A change of a room runs the tests of that room; ABOUT has related tests in other rooms.
 * @param names such as `programs e2e/log`: the test's list, and its path below `test/`
 * @param changed paths of files, as from `git diff --name-only`
 * @returns a selection of the names: `own`: changed tests, and those of a changed file's room; `about`: others from ABOUT
 */
export function touchedBy(names, changed) {
  const about = ABOUT.filter(([source]) => changed.some((path) => source.test(path))).map(([, tests]) => tests);
  const touched = { own: [], about: [] };
  for (const name of names) {
    const [, file] = name.split(' ');
    const room = file.slice(0, file.lastIndexOf('/'));
    const isOwn = changed.includes(`test/${file}.test.ts`) || changed.some((path) => roomOf(path) === room);
    if (isOwn) touched.own.push(name);
    else if (about.some((tests) => tests.test(name) || tests.test(file))) touched.about.push(name);
  }
  return touched;
}

/** The room of a source, or of common code of tests. */
function roomOf(path) {
  return /^(?:src\/(.*)|test\/(kit))\/[^/]*$/.exec(path)?.slice(1).find(Boolean);
}

/** @returns the files of the latest change; none without a history */
export function changedFiles() {
  const seconds = Number(git('log', '-1', '--format=%ct'));
  const base = process.env.TEST_BASE ?? git('rev-list', '-1', `--before=${seconds - CHANGE_SECONDS}`, 'HEAD');
  return base ? (git('diff', '--name-only', base, 'HEAD')?.split('\n') ?? []) : [];
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
