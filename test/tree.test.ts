/**
 * A file of tests in a room of src has the name of a file there: `test/x/y.test.ts` tests `src/x/y.ts`. A source of more than 100 lines
 * without one is tested through others, which COVERED_BY names. What spans rooms is in test/behaviour (this process), test/e2e (the whole
 * server, real programs) or test/long. Part of `npm run check`.
 */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import t from 'tap';

const ROOT = new URL('..', import.meta.url).pathname;
const SPANNING: readonly string[] = ['behaviour', 'e2e', 'long'];
/** Folders of test that are not rooms of src: what they hold is tested by its own name. */
const OTHER_ROOTS: Readonly<Record<string, string>> = {
  bench: 'bench',
  'bench/soak': 'bench/soak',
  'bench/truth': 'bench/truth',
  kit: 'test/kit',
};

/** Tests of something that is no file of src, and what it is. */
const NO_SOURCE: Readonly<Record<string, string>> = {
  'config/example': 'config/*.yaml, which the package ships',
  'config/bounds': 'the bounds of every number in config/*.ts, taken from the schema',
  'config/encoder': 'the encoder entry of config/station-config.ts, with its password',
  'docs/citations': 'what comments and documents cite',
  'docs/page': 'the page /docs, in a browser',
  'docs/playout': 'the templates of config/playout.md',
  'docs/readme': 'what README.md shows to be pasted',
  'docs/validity': 'both documents, by the schemas of their specifications',
  'docs/typed-lines': 'the lines to type in documents and output',
  'docs/routes': 'the documents and the routes of the server, compared',
  'docs/words': 'the words of comments, names and documents',
  'http/admin/depth': 'one channel, as GET /admin/api/channels/{channelkey} has it',
  'http/admin/page-acts': 'src/web/admin, in a browser: what is done there',
  'http/admin/page-connection': 'src/web/admin, in a browser: a connection that is lost, a clock that is wrong',
  'http/push-dialects': 'http/push-routes.ts: pushes as playout programs really send them',
  'http/push-refusals': 'http/push-routes.ts: the requests that it refuses',
  'source/pull-stream': 'source/pull-source.ts: the audio and the titles that it brings',
  'source/switch-model': 'source/switch.ts: all of it, against a model',
  'source/switch-steady': 'source/switch.ts: losses and stalls, again and again',
  'source/switch-titles': 'source/switch.ts: titles, and the audio that waits for them',
  'now-playing/story': 'the room as a whole, against a model',
  'statistics/cost': 'what statistics cost a process with 10,000 listeners',
};

/** Sources that need no entry below: a test of the file that uses them is enough. */
const SHORT_LINES = 100;

/** Longer sources without a test of their own → the tests that go through them. */
const COVERED_BY: Readonly<Record<string, readonly string[]>> = {
  'app/addresses/address': ['config/encoder', 'http/roles', 'net/front/opening', 'app/reload'],
  'app/addresses/addresses': ['app/reload', 'e2e/reload-workers'],
  'net/acme/acme-files': ['net/acme/acme-certificate', 'e2e/acme'],
  'app/hub/hub-side': ['app/app', 'e2e/workers'],
  'app/hub/hub': ['app/app', 'app/reload'],
  'app/hub/hub-shared-tapes': ['e2e/cluster', 'e2e/origins'],
  'app/hub/linked-clients': ['e2e/workers', 'e2e/worker-limits'],
  'app/hub/linked-hub': ['e2e/workers', 'e2e/rolling-restart'],
  'app/worker/linked-worker': ['e2e/workers', 'e2e/rolling-restart'],
  'app/worker/client-side': ['app/app', 'e2e/workers'],
  'config/effects': ['config/plan'],
  'http/ingest/verdict': ['http/ingest/encoder-acceptor', 'app/worker/encoder-hooks'],
  'net/limits/judge': ['http/ingest/encoder-acceptor', 'app/worker/encoder-hooks'],
  'app/worker/ingest': ['app/app', 'http/ingest/encoder-acceptor', 'http/ingest/shoutcast'],
  'app/worker/worker-readers': ['app/app', 'http/poll/poll', 'http/watch/web-socket-watch'],
  'http/page/messages-page': ['docs/page'],
  'http/page/page-files': ['http/page/page-routes', 'e2e/station-page'],
  'http/page/page-document': ['http/page/page-routes', 'e2e/station-page'],
  'client/player/channel-directory': ['e2e/station-page'],
  'client/player/channel-listening': ['e2e/station-page'],
  'client/player/player-element': ['e2e/station-page'],
  'client/player/player-style': ['e2e/station-page'],
  'client/player/player-view': ['e2e/station-page'],
  'client/player/channel-player': ['e2e/hls-client', 'e2e/station-page'],
  'http/stream/stay': ['http/stream/players', 'http/stream/stream'],
  'titles/push-decider': ['titles/title-service', 'http/push-dialects', 'link/worker-titles'],
  'titles/pushes': ['titles/title-service', 'http/push-routes'],
  'titles/title-readers': ['titles/title-service', 'titles/reader-delay'],
  'app/hub/alert-facts': ['e2e/alerts'],
  'webhooks/title-webhook': ['behaviour/outgoing-titles'],
  'covers/cover-hook': ['behaviour/late-covers'],
  'cluster/sending-turns': ['e2e/outgoing-titles-cluster'],
  'app/metrics/hub-metrics': ['source/health', 'http/readiness'],
  'app/worker/network': ['app/app', 'http/roles'],
  'app/worker/process-admin': ['http/admin/api'],
  'app/worker/streams': ['app/app', 'http/stream/stream', 'http/stream/status-routes', 'behaviour/reading-players'],
  'docs/statistics-docs': ['docs/validity', 'behaviour/statistics'],
  'docs/admin-docs': ['docs/routes', 'docs/validity', 'http/admin/api'],
  'now-playing/state-schema': ['store/store', 'cluster/titles/log-entry'],
  'http/admin/admin-reads': ['http/admin/api', 'http/admin/depth'],
  'http/admin/bodies': ['http/admin/api', 'http/admin/acts'],
  'http/admin/routes': ['http/admin/api'],
  'http/admin/statistics-routes': ['behaviour/statistics', 'http/admin/page-acts'],
  'http/admin/admin-logins': ['http/admin/login-routes'],
  'hls/cut-feed': ['hls/channel-hls'],
  'hls/hls-channels': ['hls/hls-files', 'hls/rewind/rewind-writer'],
  'app/hub/hub-hls': ['http/stream/hls-routes', 'e2e/hls-restart'],
  'docs/hls-docs': ['docs/documents', 'docs/routes'],
  'client/stream-titles': ['client/attach'],
  'listener/hls/hls-listener': ['listener/hls/hls-listeners', 'behaviour/hls-titles'],
  'hls/hls-schema': ['hls/hls-files', 'link/hls/hls-receiver'],
  'hls/placed-titles': ['hls/cutter'],
  'link/hls/hls-sender': ['link/hls/hls-receiver'],
  'link/hls/hls-subscription': ['link/hls/hls-receiver'],
  'audio/channel-tape': ['audio/channel-audio', 'audio/tape/tape-readers'],
  'audio/tape/entry': ['audio/tape/tape', 'listener/cursor/listener'],
  'audio/tape/metaint-choice': ['audio/channel-audio'],
  'audio/tape/base-tape': ['audio/tape/tape', 'audio/ogg/ogg-tape', 'audio/tape/tape-readers'],
  'audio/frames/framer-schema': ['link/tapes/offer-schema', 'processes/restart/hub-returns'],
  'audio/frames/format': ['audio/frames/framer', 'audio/ogg/ogg', 'source/intake'],
  'audio/frames/header': ['audio/frames/adts', 'audio/frames/framer', 'audio/tape/tape'],
  'audio/ogg/ogg-codec': ['audio/ogg/ogg', 'behaviour/framing-budget'],
  'audio/ogg/ogg-packets': ['audio/ogg/ogg', 'behaviour/framing-budget'],
  'audio/ogg/ogg-page': ['audio/ogg/ogg', 'audio/ogg/ogg-tape'],
  'audio/ogg/ogg-pages': ['audio/ogg/ogg', 'behaviour/framing-budget'],
  'audio/ogg/ogg-segment': ['audio/ogg/ogg', 'audio/ogg/ogg-tape'],
  'audio/tape/segment': ['audio/tape/tape', 'audio/tape/phase'],
  'base/tallies': ['link/facts/hub-tallies', 'behaviour/joined-limits'],
  'cli/backup/archive': ['e2e/backup'],
  'cli/doctor/doctor-system': ['cli/doctor/doctor'],
  'cli/recording/recording-files': ['cli/recording/record-command'],
  'cli/command': ['cli/terminal/own-output', 'cli/commands'],
  'cli/status-report': ['cli/status-command'],
  'cli/terminal/terminal': ['cli/status-command', 'cli/status-table', 'cli/watch-command'],
  'cli/backup/restore': ['e2e/backup'],
  'cluster/titles/log-arrivals': ['cluster/titles/cluster-engine', 'behaviour/cluster-titles'],
  'cluster/titles/ordered': ['cluster/titles/merge'],
  'cluster/tapes/other-machines': ['cluster/tapes/shared-tapes', 'e2e/cluster', 'long/lying-peers'],
  'cluster/tapes/owner-link': ['e2e/cluster', 'e2e/silent-links', 'long/cluster-stops'],
  'app/hub/hub-cluster': ['e2e/cluster', 'behaviour/cluster-titles'],
  'cluster/log/held-leases': ['cluster/log/held-log', 'cluster/log/remote-log'],
  'cluster/log/log-schema': ['cluster/log/checked-log', 'cluster/log/remote-log'],
  'cluster/log/redis-log': ['cluster/log/held-log', 'cluster/log/checked-log', 'cluster/titles/log-entry'],
  'cluster/tapes/takeover': ['e2e/cluster'],
  'cluster/tapes/tape-client': ['cluster/tapes/tape-server', 'net/tls/key-updates'],
  'cluster/titles/sender': ['cluster/titles/cluster-engine'],
  'client/topic-connection': ['client/follow'],
  'client/follower': ['client/follow'],
  'client/known-records': ['client/follow'],
  'app/worker/worker': ['app/app', 'app/housekeeping'],
  'app/metrics/worker-metrics': ['source/health', 'http/ops'],
  'channel/served': ['app/app', 'http/ingest/title-updates', 'titles/title-service'],
  'cli/recording/offset-recorder': ['cli/recording/measure-offset'],
  'config/station-config': ['config/load', 'config/bounds', 'config/encoder'],
  'config/checks': ['config/load'],
  'config/field': ['config/load', 'config/bounds'],
  'config/schema': ['config/load', 'config/bounds', 'config/example'],
  'docs/asyncapi': ['docs/documents', 'http/watch/web-socket-watch'],
  'docs/openapi': ['docs/documents', 'docs/routes'],
  'docs/read-docs': ['docs/documents', 'docs/routes'],
  'docs/schemas': ['docs/documents', 'docs/routes'],
  'docs/tune-in': ['docs/documents', 'docs/routes'],
  'feed/feed': ['http/watch/watchers', 'behaviour/record-order'],
  'http/admin/icecast-members': ['http/admin/icecast-admin'],
  'http/poll/answer': ['http/poll/poll', 'http/poll/poll-acceptor'],
  'http/compression': ['http/poll/poll', 'behaviour/large-station'],
  'http/poll/poll-connection': ['http/poll/poll-acceptor', 'http/poll/poll'],
  'http/ingest/shoutcast-password': ['http/ingest/shoutcast', 'behaviour/encoder-transcripts'],
  'http/problem': ['http/push-refusals', 'http/methods'],
  'http/stream/shoutcast-status': ['http/stream/status-routes'],
  'http/watch/watch-connection': ['http/watch/watchers', 'http/watch/web-socket-watch'],
  'http/watch/event-stream': ['http/watch/sse'],
  'http/watch/nes-session': ['http/watch/nes'],
  'http/watch/upgrader': ['http/watch/web-socket-watch', 'http/watch/nes'],
  'link/tapes/linked-marks': ['link/tapes/tape-sender', 'link/tapes/replica-tape'],
  'link/tapes/open-segments': ['link/tapes/tape-returns'],
  'link/wire/message-writer': ['link/wire/wire'],
  'link/tapes/segment-message': ['link/tapes/replica-tape', 'link/tapes/tape-receiver'],
  'link/tapes/tape-messages': ['link/tapes/tape-receiver', 'link/tapes/tape-sender'],
  'link/tapes/tape-cursor': ['link/tapes/tape-sender', 'link/tapes/replica-tape', 'link/tapes/linked-audio'],
  'link/tapes/tape-subscription': ['link/tapes/tape-sender', 'link/tapes/replica-tape'],
  'link/tapes/segment-sender': ['link/tapes/tape-sender', 'link/tapes/replica-tape'],
  'listener/unique-tally': ['behaviour/joined-limits'],
  'metadata/push-schema': ['metadata/push-input', 'http/push-routes', 'http/push-refusals'],
  'net/outbound/outbound-connection': ['net/outbound/outbound'],
  'net/limits/secret-queue': ['net/limits/secret-gate'],
  'metadata/record': ['metadata/view', 'now-playing/now-playing'],
  'now-playing/effect': ['now-playing/now-playing', 'now-playing/story'],
  'now-playing/repeat': ['now-playing/now-playing', 'now-playing/story', 'behaviour/one-play'],
  'source/encoder-connection': ['source/encoder-source', 'http/ingest/encoder-acceptor', 'behaviour/encoder-takeover'],
  'source/input': ['source/switch', 'source/switch-steady', 'source/switch-titles'],
  'setup/icecast-mounts': ['setup/icecast-draft'],
  'setup/imported': ['setup/icecast-draft', 'setup/liquidsoap'],
  'statistics/collector': ['statistics/recorder', 'statistics/cost', 'behaviour/statistics'],
  'statistics/queries': ['statistics/recorder', 'behaviour/statistics'],
  'statistics/reports': ['statistics/recorder', 'behaviour/statistics'],
  'statistics/slot': ['statistics/recorder'],
  'statistics/plays': ['statistics/recorder'],
  'statistics/kept-plays': ['statistics/recorder'],
  'store/lmdb': ['store/store', 'store/disk'],
  'store/lmdb-transactions': ['store/store', 'store/disk'],
  'store/lmdb-history': ['store/store'],
  'feed/sequence': ['behaviour/record-order', 'link/worker-titles'],
  'admin/admin-schema': ['link/control-schema', 'long/lying-peers'],
  'admin/channel-rows': ['docs/validity', 'http/admin/api'],
  'admin/rows': ['link/control-schema', 'docs/validity', 'http/admin/api'],
  'link/sessions/hub-sessions': ['link/sessions/session-messages', 'listener/sessions/shared-sessions'],
  'link/hub-link': ['link/worker-titles', 'e2e/workers'],
  'link/hub-links': ['link/worker-titles', 'e2e/workers'],
  'link/hub-requests': ['link/worker-titles', 'e2e/workers'],
  'link/sessions/worker-sessions': ['listener/sessions/shared-sessions', 'e2e/sessions'],
  'listener/cursor/listener-stay': ['listener/cursor/audience', 'listener/cursor/backlog'],
  'listener/sessions/followed-sessions': ['listener/sessions/shared-sessions'],
  'listener/sessions/session': ['listener/sessions/sessions', 'behaviour/heard-places', 'behaviour/media-clock'],
  'listener/sessions/session-copy': ['listener/sessions/shared-sessions'],
  'link/worker-link': ['link/worker-titles', 'e2e/workers'],
  'processes/hub-process': ['e2e/workers', 'e2e/rolling-restart'],
  'processes/messages': ['e2e/other-version', 'processes/supervisor/managed-process'],
  'processes/encoder-schema': ['processes/encoder-pipe', 'processes/restart/hub-returns'],
  'processes/run': ['e2e/start', 'e2e/rolling-restart'],
  'processes/worker-process': ['e2e/workers', 'e2e/rolling-restart'],
};

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  .map((file) => file.slice(0, -'.ts'.length));
const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.test.ts'.length));
const isFolder = (path: string) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.isDirectory() === true;
const isFile = (path: string) => ['.ts', '.mjs'].some((end) => existsSync(join(ROOT, `${path}${end}`)));

t.test('a test stands where its source does, and has its name', async (t) => {
  t.ok(tests.length > 100, 'tests were found');
  for (const test of tests) {
    const room = dirname(test);
    if (room === '.' || SPANNING.includes(room) || test in NO_SOURCE) continue;
    const root = OTHER_ROOTS[room];
    if (root !== undefined) t.ok(isFile(join(root, test.slice(room.length + 1))), test);
    else t.ok(isFolder(join('src', room)) && isFile(join('src', test)), test);
  }
});

t.test('a source of some length has a test, or is named with those that go through it', async (t) => {
  for (const source of sources) {
    const lines = readFileSync(join(ROOT, 'src', `${source}.ts`), 'utf8').split('\n').length - 1;
    const isNamed = Object.hasOwn(COVERED_BY, source);
    if (tests.includes(source)) t.notOk(isNamed, `${source} has a test of its own`);
    else t.equal(isNamed, lines > SHORT_LINES, `${source}: ${lines} lines`);
  }
  for (const [source, by] of Object.entries(COVERED_BY)) {
    t.ok(sources.includes(source), source);
    t.ok(by.length > 0);
    for (const test of by) t.ok(tests.includes(test), `${source}: ${test}`);
  }
});

t.test('the name of a source says what is in it without its path: none stands twice', async (t) => {
  const names = sources.map((source) => basename(source));
  t.same(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
});

t.test('every exception is still one', async (t) => {
  for (const test of Object.keys(NO_SOURCE)) t.ok(tests.includes(test) && !isFile(join('src', test)), test);
});

t.test('a test that sleeps says what for (kit/pause.ts); what it waits for, it waits for', async (t) => {
  for (const test of tests) {
    const text = readFileSync(join(ROOT, 'test', `${test}.test.ts`), 'utf8');
    t.notMatch(text, /(?<!\bt\.)\bsetTimeout\b/, test);
  }
});
