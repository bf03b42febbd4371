/**
 * How often each test file runs: the table in test/README.md, as lists. A file that stands in none of them is of `npm test`.
 *
 * Each part of ROTATED runs with every third commit, and with a change that touches what it is about (rotation.mjs).
 */

import { existsSync, readdirSync } from 'node:fs';
import { LONGEST } from './longest.mjs';
import { changedFiles, partOf, touchedBy } from './rotation.mjs';

/** By name, which a file that has moved would leave without a word. */
function files(folder, names) {
  const paths = names.split(/\s+/).map((name) => `test/${folder}/${name}.test.ts`);
  for (const path of paths) if (!existsSync(path)) throw new Error(`${path} is not there: see test/kit/tiers.mjs`);
  return paths;
}

/** What the documents and the tree of files say of the program: part of `npm run check`. */
export const DOCUMENTS = [
  'test/sizes.test.ts',
  'test/imports.test.ts',
  'test/tree.test.ts',
  ...files('docs', 'citations validity words'),
  ...files('kit', 'tiers'),
];

/** Load would spoil what they measure. */
const ALONE = files('behaviour', 'framing-budget');
/** They look at the memory, the objects, the loop or the open files of their own process. */
const OWN = [
  'test/corpus.test.ts',
  ...files('app', 'stop-steps'),
  ...files('audio/ogg', 'ogg-comment'),
  ...files('http', 'waiting-requests'),
  ...files('listener/cursor', 'audience'),
  ...files('net/outbound', 'outbound'),
  ...files('statistics', 'cost'),
];

/** With each change: short forms of what takes long by its nature, one real program of each family. */
const CHANGE = {
  programs: [
    ...files(
      'e2e',
      'cluster cluster-clocks crash dead-processes chromium ffmpeg-ogg libshout liquidsoap players reload reload-workers',
    ),
    ...files('e2e', 'restart rolling-restart start store sessions workers exception worker-limits'),
    ...files('e2e', 'access clients ffmpeg files listener pull token'),
    ...files('app', 'reload'),
    ...files('audio/tape', 'burst'),
    ...files('base', 'watchdog'),
    ...files('channel', 'coming-frames'),
    ...files('cluster/log', 'held-log redis'),
    ...files('cluster/tapes', 'leases shared-audio'),
    ...files('cluster/titles', 'cluster-engine'),
    ...files('http', 'waiting-requests'),
    ...files('http/page', 'cover page-routes'),
    ...files('http/admin', 'live-streams'),
    ...files('http/ingest', 'title-updates'),
    ...files('http/poll', 'history-pages'),
    ...files('http/stream', 'hls-private'),
    ...files('http/hook', 'hook'),
    ...files('link', 'worker-titles'),
    ...files('link/tapes', 'offer-schema'),
    ...files('net/limits', 'rate secret-gate'),
    'test/bundle.test.ts',
    ...files('docs', 'readme'),
    ...files('source', 'health'),
    ...files('store', 'lock pages store'),
    ...files('cli/terminal', 'completion'),
    ...files('kit', 'checked typescript'),
    ...files(
      'behaviour',
      'encoder-takeover fallbacks foreign-streams hls-titles large-pieces lost-again moved-encoder outgoing-titles pulled-titles reading-players record-order secrets-stay-secret tls',
    ),
  ],
  /** Once more on two machines, with a Redis between them. */
  nodes: files(
    'behaviour',
    'encoder-takeover delay upstream-preference moved-encoder statistics fallbacks push-order joining-at-a-switch',
  ),
  pairs: files('long', 'cluster-faults lying-peers'),
  alone: files('long', 'hostile'),
};
/** Their minutes with each change; by themselves they take their full ones. */
const CHANGE_MINUTES = { pairs: '1,0.7', alone: '1.5' };

/**
 * In three parts of about the same time. `programs`, `pairs` (they sleep most of the time) and `alone` in their long forms (LONG=1), which replace
 * the short ones of the same run; `nodes` as above; `workers`: on a hub and two workers.
 */
const ROTATED = [
  {
    programs: [
      ...files(
        'e2e',
        'alerts backup clock cluster-clocks cluster-example directories-cluster faults firefox format-change hls-players log monitoring ogg origins outgoing-titles-cluster',
      ),
      ...files('e2e', 'package silent-links woken-node client-package container demo fail2ban hls-nodes'),
      ...files('long', 'encoders-ffmpeg encoders-libshout aac-joins firefox generated-clients'),
      ...files('cli', 'bench cluster-command commands'),
      ...files('directories', 'directories'),
      ...files('http/stream', 'hls-routes'),
      ...files('http/watch', 'web-socket-watch'),
      ...files('app/metrics', 'hls-metrics'),
      ...files('kit', 'legs spread'),
      ...files('setup', 'azuracast'),
      ...files('behaviour', 'heard-acts'),
      ...files('audio', 'delay-line'),
      ...files('audio/frames', 'framer'),
      ...files('audio/ogg', 'ogg-link-end'),
      ...files('net/front', 'front'),
    ],
    nodes: files(
      'behaviour',
      'ambiguous-heads channel-delay churn first-title joined-limits large-station late-titles one-play',
    ),
    workers: files('app', 'reload'),
    pairs: [...files('long', 'processes players-table'), ...files('behaviour', 'heard-places')],
    alone: files('long', 'hostile-workers'),
  },
  {
    programs: [
      ...files(
        'e2e',
        'acme attacks crash darkice fallback-restart kept-statistics ogg-icy other-version proxies hls hls-client hls-rewind page-fit rewind-page station-page',
      ),
      ...files('long', 'encoders-ogg encoders-butt debian-package newcomer icecast'),
      ...files('cli/doctor', 'doctor-proxy'),
      ...files('cli/recording', 'record-command'),
      ...files('cli/terminal', 'own-output'),
      ...files('client', 'attach'),
      ...files('link/wire', 'members'),
      ...files('net/acme', 'acme-certificate'),
      ...files('cli/setup', 'init'),
      ...files('audio/ogg', 'ogg'),
      ...files('link/tapes', 'replica-tape tape-receiver'),
      ...files('behaviour', 'another-format decoders fuzz-front hls-goes-on'),
    ],
    nodes: files(
      'behaviour',
      'hls-titles pulled-channel pulled-titles push-durability push-tokens reading-players record-order',
    ),
    workers: [...files('behaviour', 'cluster-titles'), ...files('http/stream', 'hls-private')],
    pairs: files('long', 'cluster-stops encoders-restart reload-pairs'),
    alone: files('long', 'truth'),
  },
  {
    programs: [
      ...files(
        'e2e',
        'reload-deaths start store systemd transcribed hls-caches hls-restart logrotate operator-login policy proxy session-tickets statistics',
      ),
      ...files('long', 'bench churn encoders-players fuzz players quiet restarts soak whose-title'),
      ...files('docs', 'page playout typed-lines'),
      ...files('bench', 'watcher'),
      ...files('cli', 'server status-command watch-command'),
      ...files('cli/doctor', 'doctor'),
      ...files('cli/recording', 'measure-offset'),
      ...files('client', 'client'),
      ...files('cluster/titles', 'log-entry'),
      ...files('hls', 'hls-files'),
      ...files('hls/rewind', 'rewind-writer'),
      ...files('http/admin', 'admin-page login-page page-acts'),
      ...files('http/watch', 'nes'),
      ...files('audio/ogg', 'ogg-rendering'),
      ...files('net/front', 'connections proxy-protocol'),
      ...files('link/tapes', 'tape-returns'),
      ...files('store', 'store'),
      ...files('behaviour', 'churn large-station media-clock resting-files write-seconds'),
    ],
    nodes: files(
      'behaviour',
      'large-pieces reload-pairs secrets-stay-secret slow-requests source-claims tls write-seconds',
    ),
    workers: [],
    pairs: [...files('long', 'reading-players'), ...files('behaviour', 'unread-answers')],
    alone: [],
  },
];

const LATER_TIMEOUT_MS = 1_800_000;
const NODES = { TEST_NODES: '2', TEST_WORKERS: '2' };
const WORKERS = { TEST_WORKERS: '2' };
const LONG = { LONG: '1' };

/** Each test file, by its path from the root of the tree. */
const ALL = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
  .sort();

/** They have a short form in `npm test`, and a long one later. */
const ALSO_SHORT = [
  ...files('audio', 'delay-line'),
  ...files('audio/frames', 'framer'),
  ...files('audio/ogg', 'ogg ogg-rendering'),
  ...files('behaviour', 'cluster-titles'),
  ...files('link/tapes', 'replica-tape tape-receiver tape-returns'),
  ...files('net/front', 'connections front proxy-protocol'),
];
/** On one machine these are in a longer story of a later tier. */
const NOT_SHORT = files('behaviour', 'reload-pairs');

const LISTS = ['programs', 'nodes', 'workers', 'pairs', 'alone'];
/** Of which there is no other form. */
const ONLY_LATER = ['programs', 'pairs', 'alone'];
const rotated = (list) => ROTATED.flatMap((part) => part[list]);

/** What `npm test` leaves to later tiers. */
const LATER = new Set([...ONLY_LATER.flatMap((list) => [...CHANGE[list], ...rotated(list)]), ...NOT_SHORT]);
for (const file of ALSO_SHORT) LATER.delete(file);

const without = (list, other) => list.filter((file) => !other.includes(file));
const union = (...lists) => [...new Set(lists.flat())];

const FIRST = LONGEST.flatMap(([folder, names]) => files(folder, names));

/** @param longer files that the same run has in their long form */
function shortLegs(longer = []) {
  const rest = ALL.filter((file) => !LATER.has(file) && !ALONE.includes(file));
  return [
    { name: 'npm test', files: without(rest, longer), own: OWN, first: FIRST, firstEvery: 4 },
    { name: 'npm test, alone', files: ALONE, processes: 1 },
  ];
}

/** What starts processes waits for most of its time: many of them at once, as long as the machine has time left for one more. */
const WAITING = { group: 'waiting', processes: 10, least: 4 };
/** Crowds, and faults of whole machines: what they promise in time needs more of the machine. */
const CROWDS = { group: 'crowds', processes: 4, least: 2 };

/** A leg of processes. */
function later(name, list, env, bounds) {
  return { name, files: list, own: list, first: FIRST, env, ...bounds, timeoutMs: LATER_TIMEOUT_MS };
}

/** @param minutes of what plays for as long as it is asked to; undefined: its full ones */
function laterLegs({ programs, nodes, workers, pairs, alone }, minutes) {
  const long = (list) => (minutes === undefined ? LONG : { ...LONG, MINUTES: minutes[list] });
  return [
    later('long forms and real programs', programs, LONG, WAITING),
    later('two machines', nodes, NODES, WAITING),
    later('a hub and two workers', workers, WORKERS, WAITING),
    later('crowds and faults', pairs, long('pairs'), CROWDS),
    later('alone', alone, long('alone'), { processes: 1 }),
  ].filter(({ files: list }) => list.length > 0);
}

/** The lists whose leg is one with each change and by rotation. @param rotatedOf what the run has of a list by rotation */
function withEachChange(rotatedOf) {
  return Object.fromEntries(['nodes', 'pairs', 'alone'].map((list) => [list, union(CHANGE[list], rotatedOf(list))]));
}

/** `npm test` */
export function short() {
  return { legs: shortLegs(), leftOut: [...LATER] };
}

/** `npm test -- --change`: what CI runs */
export function atEachChange() {
  const part = partOf();
  const names = LISTS.flatMap((list) => rotated(list).map((file) => nameOf(list, file)));
  const touched = touchedBy(names, changedFiles());
  const isChosen = (list, file) => ROTATED[part][list].includes(file) || touched.includes(nameOf(list, file));
  const chosen = Object.fromEntries(
    LISTS.map((list) => [list, union(rotated(list)).filter((file) => isChosen(list, file))]),
  );
  const legs = [
    ...shortLegs(chosen.programs),
    later('with each change', without(CHANGE.programs, chosen.programs), {}, WAITING),
    ...laterLegs({ ...chosen, ...withEachChange((list) => chosen[list]) }, CHANGE_MINUTES),
  ];
  const leftOut = LISTS.flatMap((list) => without(rotated(list), chosen[list]).map((file) => nameOf(list, file)));
  return { legs, leftOut: union(leftOut) };
}

/** `npm run test:all`: before a release */
export function everything() {
  const programs = union(CHANGE.programs, rotated('programs'));
  const lists = { programs, workers: rotated('workers'), ...withEachChange(rotated) };
  return { legs: [...shortLegs(programs), ...laterLegs(lists)], leftOut: [] };
}

function nameOf(list, file) {
  return `${list} ${file.slice('test/'.length, -'.test.ts'.length)}`;
}
