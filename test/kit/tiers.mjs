/**
 * How often each test file runs: the table in test/README.md, as lists. A file that stands in none of them is of `npm test`; what
 * runs by rotation stands in rotated.mjs.
 */

import { LONGEST } from './longest.mjs';
import { ROTATED } from './rotated.mjs';
import { changedFiles, partOf, touchedBy } from './rotation.mjs';
import { ALL, files } from './test-files.mjs';

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
  ...files('http', 'heard-route waiting-requests'),
  ...files('directories', 'directory'),
  ...files('listener/cursor', 'late-blocks'),
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
    ...files('client', 'follow'),
    ...files('http/page', 'cover error-page page-routes'),
    ...files('http/admin', 'api live-streams page-connection'),
    ...files('http/ingest', 'title-updates'),
    ...files('http/poll', 'history-pages'),
    ...files('http/stream', 'admission hls-private playlists stations-list'),
    ...files('http/watch', 'sse'),
    ...files('http/hook', 'hook'),
    ...files('link', 'worker-titles'),
    ...files('link/tapes', 'offer-schema'),
    ...files('net/limits', 'rate secret-gate'),
    'test/bundle.test.ts',
    ...files('docs', 'readme'),
    ...files('processes/supervisor', 'managed-process'),
    ...files('source', 'health magic'),
    ...files('store', 'lock pages store'),
    ...files('cli', 'written-paths'),
    ...files('cli/terminal', 'completion'),
    ...files('kit', 'checked typescript'),
    ...files(
      'behaviour',
      'encoder-takeover fallbacks foreign-streams hls-titles large-pieces lost-again moved-encoder outgoing-titles pulled-titles push-tokens reading-players record-order secrets-stay-secret tls',
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

const LATER_TIMEOUT_MS = 1_800_000;
const NODES = { TEST_NODES: '2', TEST_WORKERS: '2' };
const WORKERS = { TEST_WORKERS: '2' };
const LONG = { LONG: '1' };

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
const WAITING = { group: 'waiting', processes: 10, least: 3 };
/** Crowds, and faults of whole machines: what they promise in time needs more of the machine. */
const CROWDS = { group: 'crowds', processes: 4, least: 2 };

/** A leg of processes. */
function later(name, list, env, bounds) {
  return { name, files: list, own: list, first: FIRST, env, ...bounds, timeoutMs: LATER_TIMEOUT_MS };
}

/**
 * @param lists the files of each list
 * @param minutes of what plays for as long as it is asked to; undefined: its full ones
 * @param extra more files of each list, which run while there is time
 */
function laterLegs(lists, minutes, extra = {}) {
  const long = (list) => (minutes === undefined ? LONG : { ...LONG, MINUTES: minutes[list] });
  const leg = (name, list, env, bounds) =>
    later(name, union(lists[list], extra[list] ?? []), env, { ...bounds, extra: extra[list] });
  return [
    leg('long forms and real programs', 'programs', LONG, WAITING),
    leg('two machines', 'nodes', NODES, WAITING),
    leg('a hub and two workers', 'workers', WORKERS, WAITING),
    leg('crowds and faults', 'pairs', long('pairs'), CROWDS),
    leg('alone', 'alone', long('alone'), { processes: 1 }),
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

/** `npm test -- --change`: what CI runs. @param changed paths of files */
export function atEachChange(changed = changedFiles()) {
  const part = partOf();
  const names = LISTS.flatMap((list) => rotated(list).map((file) => nameOf(list, file)));
  const { own, about } = touchedBy(names, changed);
  const chosen = ofEachList((list, file) => ROTATED[part][list].includes(file) || own.includes(nameOf(list, file)));
  // What this run has in a short form stays at that.
  const extra = ofEachList(
    (list, file) =>
      about.includes(nameOf(list, file)) &&
      !chosen[list].includes(file) &&
      !(list === 'programs' && hasShortForm(file)),
  );
  const legs = [
    ...shortLegs(chosen.programs),
    later('with each change', without(CHANGE.programs, chosen.programs), {}, WAITING),
    ...laterLegs({ ...chosen, ...withEachChange((list) => chosen[list]) }, CHANGE_MINUTES, extra),
  ];
  const leftOut = LISTS.flatMap((list) =>
    without(rotated(list), [...chosen[list], ...extra[list]]).map((file) => nameOf(list, file)),
  );
  return { legs, leftOut: union(leftOut) };
}

/** `npm run test:all`: before a release */
export function everything() {
  const programs = union(CHANGE.programs, rotated('programs'));
  const lists = { programs, workers: rotated('workers'), ...withEachChange(rotated) };
  return { legs: [...shortLegs(programs), ...laterLegs(lists)], leftOut: [] };
}

/** @param isIn whether a rotated file of a list is meant */
function ofEachList(isIn) {
  return Object.fromEntries(LISTS.map((list) => [list, union(rotated(list)).filter((file) => isIn(list, file))]));
}

function hasShortForm(file) {
  return CHANGE.programs.includes(file) || ALSO_SHORT.includes(file);
}

function nameOf(list, file) {
  return `${list} ${file.slice('test/'.length, -'.test.ts'.length)}`;
}
