/**
 * One word for one thing (src/README.md, "Words"): the private words that were retired do not come back, as names, in comments, in
 * documents, or in what the server logs and answers, and no type has the name of another.
 */

import t from 'tap';
import { lineOf, type TextFile, textFiles } from '../kit/tree.js';

/** Where the words count: what ships, and what the tests stand on. */
const ROOMS = /^(src|bench|config|test\/kit)\/|^[^/]*\.md$|README\.md$/;

/** Where strings count too: log messages, refusals, metrics' help, the texts of the API documents. */
const SPOKEN = /^src\/.*\.ts$/;

/** Retired, in names (each part of a camel-case one), comments and documents → what to say. */
const RETIRED: Record<string, string> = {
  agenda: 'schedule, TitleScheduler',
  census: 'ListenerStats',
  desk: 'TitleUpdates',
  diary: 'PushModel',
  door: 'acceptor, service, front',
  doors: 'acceptors, services, front',
  ear: 'FrameRecorder',
  ears: 'FrameRecorders',
  goners: 'what is deleted',
  guest: 'listener, ListenerStats',
  guests: 'listeners, ListenerStats',
  he: 'it, they, the operator, the client',
  helloed: 'isInitialized',
  her: 'its, their',
  him: 'it, them, the operator, the client',
  himself: 'itself, themselves',
  his: 'its, their',
  house: 'server',
  keeper: 'housekeeping',
  meddle: 'interfere',
  meddler: 'what it does',
  parties: 'targets',
  party: 'target',
  poster: 'HttpClient',
  programme: 'channel',
  programmes: 'channels',
  road: 'way, path',
  roads: 'ways, paths',
  seat: 'place, slot, settings',
  she: 'it, they, the operator, the client',
  somebody: 'a client, a listener, a caller',
  tell: 'send, report, notify, say; distinguish',
  teller: 'title source',
  tellers: 'title sources',
  telling: 'sending, reporting',
  tells: 'sends, reports, says; distinguishes',
  told: 'sent, reported, notified, called, logged',
  visit: 'request',
  visitor: 'client',
  visitors: 'clients',
  whoever: 'the client, the caller, any …',
  witness: 'ChannelProbe',
};

/** Retired as names in code; as words of a sentence they are English. */
const RETIRED_NAMES: Record<string, string> = {
  early: 'waiting',
  kernel: 'SocketBacklog',
  ring: 'onAlarm',
  shown: 'MountStatus',
  updinfo: 'TitleUpdate',
};

/** Retired in comments and documents → what to say. */
const RETIRED_PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bheard of\b/gi, 'knows, gets'],
  [/\b(goes|go|went) home\b/gi, 'moves'],
  [/\bbegun by\b/gi, 'started by'],
  [/\b(is|are|be|been|was|were) sound\b|\bsound (again|for a while|source)/gi, 'steady'],
  [/\blast word\b/gi, 'refusal'],
  [/\b(source|input|encoder|one|upstream) (that |which )?(is|was|becomes) heard\b|\bnow heard\b/gi, 'on air'],
  [
    /(?<!\bThere |\bthere )\b(is|are|was|were) no (?!longer\b|more\b|less\b|faster\b|slower\b|larger\b|way\b|one\b)[a-z]+/g,
    'is not a',
  ],
  [/\bfor so long\b(?! as)|\bso many\b/gi, 'at most, this many; how long'],
  [/\bheld (back|against)\b/gi, 'paused; checked against'],
  [/\bpass(ed|es) over\b/gi, 'ignored'],
  [/\b(PROXY|ADTS|Host|Server|icy-\S*) heads?\b/gi, 'header'],
  [/\bIN_SO_MANY_WORDS\b/g, 'a name that says what it is'],
];

/** To tell one thing from another is plain English; to tell a listener something is retired. */
const IDIOMS = /\b(tells?|told|telling) (apart\b|(\S+ ){0,6}?from\b(?! (now|here|then)))|\bframes tell\b/g;

/** A bound is `max…` or `min…` in src; these names are superlatives, no bounds. */
const BOUND = /\b(most|least)[A-Z]\w*/g;
const SUPERLATIVES: ReadonlySet<string> = new Set(['mostLikely', 'mostOf']);

/** A word that stays where the beginning of the path is this, and why. */
const ALLOWED: readonly (readonly [word: string, path: string, why: string])[] = [
  ['kernel', 'bench/', "the machine's, in the saved figures"],
  ['party', 'bench/', 'a key of the printed and the saved figures'],
  ['party', 'CHANGELOG.md', 'a file of licences is called so everywhere'],
  ['party', 'src/README.md', 'the same'],
  ['shown', 'test/kit/player-program.ts', 'what a real player shows'],
  ['he', 'src/source/magic.ts', 'xHE-AAC'],
  ['updinfo', 'src/docs/examples.ts', 'in the names of operations'],
];

interface Found {
  readonly where: string;
  readonly word: string;
  readonly say: string;
}

/** Words and the parts of camel-case names: `onAlarm` is on, alarm; `HTTPServer` is http, server. */
function wordsOf(file: TextFile, text: string, retired: Record<string, string>): Found[] {
  return [...text.matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)].flatMap((match) => {
    const word = match[0].toLowerCase();
    const say = Object.hasOwn(retired, word) ? retired[word] : undefined;
    return say === undefined || isAllowed(file, word) ? [] : [{ where: at(file, match.index), word, say }];
  });
}

function phrasesOf(file: TextFile, text: string): Found[] {
  return RETIRED_PHRASES.flatMap(([phrase, say]) =>
    [...text.matchAll(phrase)].map((match) => ({ where: at(file, match.index), word: match[0], say })),
  );
}

function proseOf(file: TextFile, text: string): Found[] {
  const withoutIdioms = text.replace(IDIOMS, (idiom) => ' '.repeat(idiom.length));
  return [...wordsOf(file, withoutIdioms, RETIRED), ...phrasesOf(file, text)];
}

function boundsOf(file: TextFile): Found[] {
  return [...file.code.matchAll(BOUND)].flatMap((match) =>
    SUPERLATIVES.has(match[0]) ? [] : [{ where: at(file, match.index), word: match[0], say: 'max…, min…' }],
  );
}

function isAllowed({ path }: TextFile, word: string): boolean {
  return ALLOWED.some(([allowed, begin]) => allowed === word && path.startsWith(begin));
}

function at({ path, text }: TextFile, index: number): string {
  return `${path}:${lineOf(text, index)}`;
}

t.test('no retired word comes back', async (t) => {
  const files = textFiles().filter(({ path }) => ROOMS.test(path));
  t.ok(files.length > 300, `${files.length} files were found`);
  const found = files.flatMap((file) => [
    ...wordsOf(file, file.code, RETIRED),
    ...wordsOf(file, file.code, RETIRED_NAMES),
    ...proseOf(file, file.comments),
    ...(SPOKEN.test(file.path) ? proseOf(file, file.strings) : []),
    ...(file.path.startsWith('src/') ? boundsOf(file) : []),
  ]);
  for (const { where, word, say } of found) t.fail(`${where}: "${word}"; say: ${say}`);
});

t.test('no type has the name of another', async (t) => {
  const places = new Map<string, string[]>();
  for (const { path, code } of textFiles()) {
    // The page in the browser is a program of its own.
    if (!path.startsWith('src/') || path.startsWith('src/web/')) continue;
    const names = code.matchAll(/^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|enum) (\w+)/gm);
    for (const [, name] of names) places.set(name!, [...(places.get(name!) ?? []), path]);
  }
  t.ok(places.size > 300, `${places.size} types were found`);
  for (const [name, paths] of places) if (paths.length > 1) t.fail(`${name}: ${paths.join(', ')}`);
});
