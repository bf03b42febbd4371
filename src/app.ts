/**
 * The composition root: builds every part from a configuration, wires them, starts them in order and stops them in reverse.
 * The two places where data crosses against the flow are function values made here: a title onto the tape, and "written" and
 * "heard" from listeners to the feed.
 */

import { resolve } from 'node:path';
import { SystemClock } from './clock.js';
import type { LoadedConfig } from './config/load.js';
import { documents } from './docs/documents.js';
import { Door } from './door.js';
import { LocalEngine } from './engine/local.js';
import { stamped } from './engine/stamped.js';
import { Certificate } from './http/certificate.js';
import { registerDocuments } from './http/documents.js';
import { EncoderDoor } from './http/encoder.js';
import { Front } from './http/front.js';
import { legacyHeads } from './http/legacy.js';
import { ListenerDoor } from './http/listener-door.js';
import { Nes } from './http/nes.js';
import { registerOps } from './http/ops.js';
import { registerPage } from './http/page.js';
import { Poll } from './http/poll.js';
import { registerPush } from './http/push.js';
import { Rate } from './http/rate.js';
import { Roles } from './http/roles.js';
import { Router } from './http/server.js';
import { Stream } from './http/stream.js';
import { Updinfo } from './http/updinfo.js';
import { Watch } from './http/watch.js';
import { Keeper } from './keeper.js';
import { Audience } from './listener/audience.js';
import { Sessions } from './listener/sessions.js';
import { type Log, Repeats } from './log.js';
import { Feed } from './metadata/feed.js';
import { Metrics } from './metrics.js';
import { Programme } from './programme.js';
import { openLmdbStore } from './store/lmdb.js';
import type { Store } from './store/store.js';

export interface App {
  /** The port of each configured address, in order. */
  readonly ports: readonly number[];
  /**
   * Drains: not ready any more, streams end at a segment's end, watchers hear 1001, pushes under way are committed. Resolves when
   * all connections have ended or `graceSeconds` are over, whatever is still open. Idempotent.
   */
  stop(): Promise<void>;
}

/** Builds and starts everything; rejects, with nothing left open, when the data folder is in use or a port cannot be had. */
export async function startApp(config: LoadedConfig, log: Log): Promise<App> {
  const store = await openLmdbStore(resolve(config.data.folder), config.history);
  try {
    return await startWith(config, store, log);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function startWith(config: LoadedConfig, store: Store, log: Log): Promise<App> {
  const clock = new SystemClock();
  const repeats = new Repeats(log);
  const report = (error: unknown) => repeats.warn('internal', { err: error }, 'internal error');
  const feed = new Feed();
  const programmes = new Map<string, Programme>();
  const local = new LocalEngine(store, (channel, change) => door.deliver(channel, change), report);
  const engine = stamped(local, feed.sequence, () => clock.wallMs());
  const sessions = new Sessions(
    clock,
    {
      began: (session) => {
        const next = feed.last(session.channel, 'next');
        if (next == null) return;
        for (const sync of ['audio', 'wire'] as const) {
          if (!feed.isWatched(session.metaid, sync)) continue;
          feed.publishListener(session.metaid, sync, session.nextMessage(next));
        }
      },
      written: (session, told) => {
        if (!feed.isWatched(session.metaid, 'wire')) return;
        feed.publishListener(session.metaid, 'wire', session.nowMessage(told));
      },
      heard: (session, told) => {
        if (!feed.isWatched(session.metaid, 'audio')) return;
        feed.publishListener(session.metaid, 'audio', session.nowMessage(told));
      },
    },
    { keepMs: config.sessions.keepSeconds * 1000, max: config.sessions.max },
  );
  const door = new Door({
    ...{ engine, feed, sessions, clock, log, programmes, report },
    rules: config.titles,
    heldPushes: config.metadata.heldPushes,
  });
  const parts = { clock, log, title: door.streamTitle, sourceChanged: door.sourceChanged };
  for (const { station, channels } of config.order) {
    const { timezone, channels: configs } = config.stations[station]!;
    feed.addStation(
      station,
      channels.map((key) => ({ key, name: configs[key]!.name, station, timezone })),
    );
    for (const key of channels) {
      programmes.set(key, new Programme(key, configs[key]!, config, parts));
    }
  }
  await door.restore();

  const audience = new Audience(clock, sessions, {
    wanted: (channel, wanted) => programmes.get(channel.key)!.switch.want(wanted),
    ended: (listener, ending, lastedMs) =>
      log.debug(
        { channel: listener.channel, ending, seconds: Math.round(lastedMs / 1000), bytes: listener.bytes },
        'listener ended',
      ),
  });
  const keeper = new Keeper({
    clock,
    programmes,
    audience,
    sessions,
    door,
    silenceMs: config.streams.silenceSeconds * 1000,
  });
  const metrics = new Metrics(
    keeper.figures(() => watch.count),
    clock.lateMicros,
  );
  keeper.everySecond(() => metrics.turn());

  const mounts = new Map(
    [...programmes.values()].flatMap((programme) => programme.mounts.map((mount) => [mount.path, mount])),
  );
  const stream = new Stream(audience, sessions, clock, {
    burstMs: config.streams.burstSeconds * 1000,
    startTimeoutMs: config.streams.startTimeoutSeconds * 1000,
    listeners: config.limits.listeners,
  });
  const watch = new Watch(feed, sessions, clock, {
    pingMs: config.watch.pingSeconds * 1000,
    bufferBytes: config.watch.bufferBytes,
    drainMs: config.watch.drainSeconds * 1000,
    watchers: config.limits.watchers,
    watchersPerAddress: config.limits.watchersPerAddress,
  });
  const headMs = config.limits.headSeconds * 1000;
  const { pushesPerMinute, pushBurst, wrongSecretsPerMinute, addressesRemembered } = config.limits;
  const pushes = new Rate(clock, { perMinute: pushesPerMinute, burst: pushBurst, remembered: programmes.size });
  const wrongSecrets = new Rate(clock, {
    perMinute: wrongSecretsPerMinute,
    burst: wrongSecretsPerMinute,
    remembered: addressesRemembered,
  });
  const desks = [...programmes.values()].flatMap(({ titleDesk }) => titleDesk ?? []);
  const updinfo = new Updinfo({
    desks,
    channelAt: (path) => mounts.get(path)?.channel.key,
    wrongSecrets,
    bodyBytes: config.limits.pushBodyBytes,
    textBytes: config.limits.textBytes,
    urlBytes: config.limits.urlBytes,
    answered: (status, channel, why) => {
      if (status >= 400) repeats.warn(`title ${status}`, { channel, status, why }, "an encoder's title was refused");
    },
  });
  const router = new Router({
    mounts,
    stream,
    poll: new Poll(feed, sessions, (channel, page) => store.history(channel, page)),
    watch,
    nes: new Nes(watch.watchers, {
      pingMs: config.watch.pingSeconds * 1000,
      subscriptions: config.limits.nesSubscriptions,
    }),
    updinfo,
    headBytes: config.limits.httpHeadBytes,
    headMs,
    report,
  });
  const listeners = new ListenerDoor(mounts, stream, {
    headBytes: config.limits.httpHeadBytes,
    headLines: config.limits.headLines,
    headMs,
  });
  const encoders = new EncoderDoor({
    headBytes: config.limits.headBytes,
    headLines: config.limits.headLines,
    headMs,
    server: config.streams.server,
    wrongSecrets,
    mount: (path) => {
      const mount = mounts.get(path);
      return mount === undefined ? undefined : programmes.get(mount.channel.key)!.encoder;
    },
    judged: (status, path, agent, why) => {
      metrics.encoders.inc({ status });
      // Only a path that is a mount: an encoder pointed at the push address shows its token in it.
      const mount = mounts.has(path) ? path : undefined;
      const fields = { mount, agent: agent.slice(0, 100) };
      if (status < 400) log.info({ ...fields, channel: why }, 'encoder connected');
      else repeats.warn(`encoder ${status}`, { ...fields, status, why }, 'encoder refused');
    },
  });

  let ready = false;
  registerPush(
    router.app,
    {
      authorized: (channel, token) => door.authorizes(channel, token),
      push: (channel, input) => door.push(channel, input),
      told: (tookMs) => metrics.pushSeconds.observe(tookMs / 1000),
      counted: (channel, status) => {
        metrics.pushes.inc({ channel, status });
        if (status >= 400) repeats.warn(`push ${status}`, { channel, status }, 'push refused');
      },
    },
    { ...config.limits, bodyBytes: config.limits.pushBodyBytes },
    { pushes, wrongSecrets },
  );
  registerOps(router.app, {
    get ready() {
      return ready;
    },
    metricsType: metrics.contentType,
    metrics: () => metrics.text(),
  });
  registerPage(router.app, pageChannels(config));
  registerDocuments(router.app, documents(config.limits));
  await router.ready();

  for (const programme of programmes.values()) programme.switch.start();
  const certificates: Certificate[] = [];
  const fronts = config.addresses.map((address) => {
    const heads = address.roles?.includes('legacy') ? legacyHeads(config.legacy!) : undefined;
    const roles = new Roles(address.roles, heads);
    const { certFile } = address.tls ?? {};
    const certificate =
      address.tls &&
      new Certificate(address.tls, clock, {
        renewed: (pair) => {
          front.renew(pair);
          log.info({ certFile }, 'certificate renewed');
        },
        refused: (reason) =>
          log.error({ certFile, reason }, 'the changed certificate cannot be used, the old one stays'),
      });
    if (certificate !== undefined) certificates.push(certificate);
    const front: Front = new Front({
      host: address.host,
      port: address.port,
      headMs,
      connections: config.limits.connections,
      tls: certificate?.first,
      http: router.server(roles),
      encoder: roles.has('encoder') ? (socket, first) => encoders.take(socket, first) : undefined,
      listener: roles.has('stream') ? (socket, first) => listeners.take(socket, first, roles.heads) : undefined,
    });
    return front;
  });

  const halt = async (graceMs: number): Promise<void> => {
    ready = false;
    stream.close();
    watch.close();
    audience.endAll('shutdown');
    encoders.close();
    listeners.close();
    for (const programme of programmes.values()) programme.switch.stop();
    await engine.close();
    const gone = Promise.all(fronts.map((front) => front.close()));
    await router.close();
    await Promise.race([gone, new Promise((done) => setTimeout(done, graceMs).unref())]);
    watch.terminate();
    for (const certificate of certificates) certificate.stop();
    keeper.stop();
    clock.stop();
    await store.close();
  };

  let ports: number[];
  try {
    ports = [];
    for (const front of fronts) ports.push(await front.listen());
  } catch (error) {
    await halt(0);
    throw error;
  }
  ready = true;
  let stopping: Promise<void> | undefined;
  return {
    ports,
    stop: () => (stopping ??= halt(Math.max(0, config.shutdown.graceSeconds * 1000 - 500))),
  };
}

function pageChannels(config: LoadedConfig) {
  return config.order.flatMap(({ station, channels }) =>
    channels.map((key) => {
      const { name, description, mounts } = config.stations[station]!.channels[key]!;
      const mount = mounts[0] ?? `/${key}`;
      return { station: config.stations[station]!.name || station, key, name: name || key, description, mount };
    }),
  );
}
