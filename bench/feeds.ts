/** Servers with records to push, watch and poll: each airsplice, and nginx with nchan if it is installed. Owned by the scenarios. */

import { type Airsplice, startAirsplice, type TlsAddress, track } from './airsplice.js';
import type { Context, Subject } from './context.js';
import { type Feed, missingNchan, startNginx } from './nginx.js';
import { freePort } from './process.js';
import { Requests } from './requests.js';
import { stamp } from './stamp.js';
import type { CertificateFiles } from './tls-servers.js';

export interface Feeds {
  /** Ours first; each server with TLS follows the same one without. */
  readonly all: readonly Feed[];
  /** The polled record, as bytes in Latin-1. */
  readonly record: string;
  /** Closes the connections, and stops the servers. */
  stop(): Promise<void>;
}

/**
 * Each has `channels`, and a channel `poll` whose record has the same bytes.
 * @param files of a certificate, for the same servers over TLS; absent: without TLS
 */
export async function startFeeds(
  context: Context,
  subjects: readonly Subject[],
  channels: readonly string[],
  notes: string[],
  files?: CertificateFiles,
): Promise<Feeds> {
  const song = stamp(0);
  const ours: { feeds: readonly Feed[]; record: string; server: Airsplice }[] = [];
  for (const subject of subjects) {
    const tls = await tlsAddress(files);
    const server = await startAirsplice(subject, { folder: context.folder(), silent: ['poll', ...channels], tls });
    const requests = new Requests(server.port, 4);
    const publish = async (channel: string, text: string) => {
      const { status, body } = await requests.ask(`POST ${new URL(server.pushUrl(channel)).pathname}`, {
        body: track(text),
      });
      if (status !== 200) throw new Error(`a push was answered ${status}: ${body}`);
    };
    await publish('poll', song);
    const { body: record } = await requests.ask('GET /metadata/channel/poll.json');
    const feed: Feed = {
      name: server.name,
      port: server.port,
      isSecure: false,
      pids: server.pids,
      pollPath: '/metadata/channel/poll.json',
      watchPath: server.watchPath,
      publish: (channel, number, dueMs) => publish(channel, stamp(number, dueMs)),
      close: () => requests.close(),
    };
    ours.push({ feeds: withTls(feed, tls), record, server });
  }
  const { record } = ours[0]!;
  const gone = missingNchan();
  if (context.hasPeer('nginx') && gone) notes.push(`without nginx: ${gone}`);
  const tls = await tlsAddress(files);
  const nginx = context.hasPeer('nginx') && !gone ? await startNginx(context.folder(), record, song, tls) : undefined;
  const all = [...ours.flatMap(({ feeds }) => feeds), ...(nginx ? withTls(nginx, tls) : [])];
  return {
    all,
    record,
    async stop() {
      for (const feed of all) feed.close();
      for (const { server } of ours) await server.server.stop();
    },
  };
}

async function tlsAddress(files: CertificateFiles | undefined): Promise<TlsAddress | undefined> {
  return files && { port: await freePort(), certFile: files.certFile, keyFile: files.keyFile };
}

/** The same server by both its ports; pushes are without TLS. */
function withTls(feed: Feed, tls: TlsAddress | undefined): readonly Feed[] {
  if (tls === undefined) return [feed];
  return [feed, { ...feed, name: `${feed.name}, TLS`, port: tls.port, isSecure: true }];
}
