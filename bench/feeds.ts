/** The servers whose records are pushed, watched and polled: each airsplice, and nginx with nchan where it is installed. Owned by the scenarios. */

import { type Airsplice, startAirsplice, track } from './airsplice.js';
import type { Context, Subject } from './context.js';
import { type Feed, missingNchan, startNginx } from './nginx.js';
import { Requests } from './requests.js';
import { stamp } from './stamp.js';

export interface Feeds {
  /** Ours first. */
  readonly all: readonly Feed[];
  /** What a poll brings, in bytes as Latin-1. */
  readonly record: string;
  /** Ends the servers too. */
  stop(): Promise<void>;
}

/** Each has `channels`, and a channel `poll` with one record of the same bytes. */
export async function startFeeds(
  context: Context,
  subjects: readonly Subject[],
  channels: readonly string[],
  notes: string[],
): Promise<Feeds> {
  const song = stamp(0);
  const ours: { feed: Feed; record: string; server: Airsplice }[] = [];
  for (const subject of subjects) {
    const server = await startAirsplice(subject, { folder: context.folder(), silent: ['poll', ...channels] });
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
      pids: server.pids,
      pollPath: '/metadata/channel/poll.json',
      watchPath: server.watchPath,
      publish: (channel, number, dueMs) => publish(channel, stamp(number, dueMs)),
      close: () => requests.close(),
    };
    ours.push({ feed, record, server });
  }
  const { record } = ours[0]!;
  const gone = missingNchan();
  if (context.hasPeer('nginx') && gone) notes.push(`without nginx: ${gone}`);
  const nginx = context.hasPeer('nginx') && !gone ? await startNginx(context.folder(), record, song) : undefined;
  const all = [...ours.map(({ feed }) => feed), ...(nginx ? [nginx] : [])];
  return {
    all,
    record,
    async stop() {
      for (const feed of all) feed.close();
      for (const { server } of ours) await server.server.stop();
    },
  };
}
