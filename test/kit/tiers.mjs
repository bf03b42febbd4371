/**
 * How often each test file runs: the table in test/README.md, as lists. A file in none of them belongs to `npm test`; rotated.mjs has the files
 * that run by rotation.
 */

import { LONGEST } from './longest.mjs';
import { ROTATED } from './rotated.mjs';
import { changedFiles, partOf, touchedBy } from './rotation.mjs';
import { ALL, files } from './test-files.mjs';

/** Tests of documents and the source tree, which are part of `npm run check`. */
export const DOCUMENTS = [
  'test/sizes.test.ts',
  'test/imports.test.ts',
  'test/tree.test.ts',
  ...files('docs', 'citations validity words'),
  ...files('kit', 'tiers'),
];

/** Files whose measurements other load would disturb. */
const ALONE = files('behaviour', 'framing-budget');
/** Files that inspect the memory, objects, event loop or open files of their own process. */
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

/** Files for each change. */
const CHANGE = {
  /** Short forms of long tests, and one real program of each family. */
  programs: [
    ...files(
      'e2e',
      'cluster cluster-clocks crash dead-processes chromium ffmpeg-ogg libshout liquidsoap players reload reload-workers',
    ),
    ...files('e2e', 'restart rolling-restart start store sessions workers exception worker-limits'),
    ...files('e2e', 'access clients ffmpeg files listener pull token'),
    ...files('app', 'reload'),
    ...files('base', 'watchdog'),
  ],
  /** Stories of one process: they share processes, as the files of `npm test` do. */
  rooms: files(
    'behaviour',
    'channel-delay cluster-titles delay dropped-next encoder-takeover fallbacks foreign-streams hls-titles large-pieces late-covers late-titles lost-again moved-encoder one-play outgoing-titles pulled-titles push-tokens reading-players record-order secrets-stay-secret tls',
  ),
  /** Files that also run on two machines with a shared Redis. */
  nodes: files(
    'behaviour',
    'encoder-takeover delay upstream-preference moved-encoder statistics fallbacks push-order joining-at-a-switch',
  ),
  pairs: files('long', 'cluster-faults lying-peers'),
  alone: files('long', 'hostile'),
};
/** Their minutes with each change; otherwise they run for their full time. */
const CHANGE_MINUTES = { pairs: '1,0.7', alone: '1.5' };

const LATER_TIMEOUT_MS = 1_800_000;
const NODES = { TEST_NODES: '2', TEST_WORKERS: '2' };
const WORKERS = { TEST_WORKERS: '2' };
const LONG = { LONG: '1' };

/** Files with a short form in `npm test`, and a long one in a later tier. */
const ALSO_SHORT = [
  ...files('audio', 'delay-line'),
  ...files('audio/frames', 'framer'),
  ...files('audio/ogg', 'ogg-rendering'),
  ...files('link/tapes', 'replica-tape tape-receiver tape-returns'),
  ...files('net/front', 'front proxy-protocol'),
];
/** Files that a longer story of a later tier covers. */
const NOT_SHORT = files('behaviour', 'reload-pairs');

const LISTS = ['programs', 'rooms', 'nodes', 'workers', 'pairs', 'alone'];
/** Lists whose files have no short form. */
const ONLY_LATER = ['programs', 'rooms', 'pairs', 'alone'];
const rotated = (list) => ROTATED.flatMap((part) => part[list]);

/** Files that `npm test` leaves to later tiers. */
const LATER = new Set([...ONLY_LATER.flatMap((list) => [...CHANGE[list], ...rotated(list)]), ...NOT_SHORT]);
for (const file of ALSO_SHORT) LATER.delete(file);

const without = (list, other) => list.filter((file) => !other.includes(file));
const union = (...lists) => [...new Set(lists.flat())];

const FIRST = LONGEST.flatMap(([folder, names]) => files(folder, names));

/**
 * @param longer files that the same run has in the long form @param rooms files of later tiers that run here too, many of which mostly wait
 * @param bounds of processes
 */
function shortLegs(longer = [], rooms = [], bounds = {}) {
  const rest = ALL.filter((file) => (!LATER.has(file) || rooms.includes(file)) && !ALONE.includes(file));
  return [
    { name: 'npm test', files: without(rest, longer), own: OWN, first: FIRST, firstEvery: 4, ...bounds },
    { name: 'npm test, alone', files: ALONE, processes: 1 },
  ];
}

/** For files that start processes and mostly wait: many run at once, while the machine has CPU time left. */
const WAITING = { group: 'waiting', processes: 10, least: 3 };
/** For crowds, and faults of whole machines, whose promised times need more of the machine. */
const CROWDS = { group: 'crowds', processes: 4, least: 2 };

/** A leg of files that start processes. */
function later(name, list, env, bounds) {
  return { name, files: list, own: list, first: FIRST, env, ...bounds, timeoutMs: LATER_TIMEOUT_MS };
}

/**
 * @param lists the files of each list
 * @param minutes for files with a variable duration; undefined: their full time
 * @param extra optional files of each list, which run while there is time
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

/** The lists that share a leg for each change and for the rotation. @param rotatedOf returns the rotated files of a list in this run */
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
  // Files with a short form in this run stay in that form.
  const extra = ofEachList(
    (list, file) =>
      list !== 'rooms' &&
      about.includes(nameOf(list, file)) &&
      !chosen[list].includes(file) &&
      !(list === 'programs' && hasShortForm(file)),
  );
  const legs = [
    ...shortLegs(chosen.programs, union(CHANGE.rooms, chosen.rooms), { processes: 10, least: 4 }),
    later('with each change', without(CHANGE.programs, chosen.programs), {}, WAITING),
    ...laterLegs({ ...chosen, ...withEachChange((list) => chosen[list]) }, CHANGE_MINUTES, extra),
  ];
  const leftOut = LISTS.flatMap((list) =>
    without(rotated(list), [...chosen[list], ...extra[list], ...(list === 'rooms' ? chosen.programs : [])]).map(
      (file) => nameOf(list, file),
    ),
  );
  return { legs, leftOut: union(leftOut) };
}

/** `npm run test:all`: before a release */
export function everything() {
  const programs = union(CHANGE.programs, CHANGE.rooms, rotated('programs'), rotated('rooms'));
  const lists = { programs, workers: rotated('workers'), ...withEachChange(rotated) };
  return { legs: [...shortLegs(programs), ...laterLegs(lists)], leftOut: [] };
}

/** @param isIn whether to include a rotated file of a list */
function ofEachList(isIn) {
  return Object.fromEntries(LISTS.map((list) => [list, union(rotated(list)).filter((file) => isIn(list, file))]));
}

function hasShortForm(file) {
  return [CHANGE.programs, CHANGE.rooms, rotated('rooms'), ALSO_SHORT].some((list) => list.includes(file));
}

function nameOf(list, file) {
  return `${list} ${file.slice('test/'.length, -'.test.ts'.length)}`;
}
