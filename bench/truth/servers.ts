/**
 * The servers of the experiment: the built airsplice, a process for each length of the burst, with channels for encoders and pushes.
 * bench/process.ts stops them.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, Started } from '../process.js';
import { path } from '../target.js';
import { CODECS, type CodecName } from './tone-file.js';

/** Further options of a channel, which some versions of the server may not know. */
export type ChannelOptions = Readonly<Record<string, unknown>>;

export interface Server {
  readonly pid: number;
  readonly port: number;
  readonly password: string;
  mountOf(channel: string): string;
  pushUrl(channel: string): string;
  stop(): Promise<void>;
}

/** @param channels key → codec and options. Rejects if the server is not built, or does not become ready */
export async function startServer(
  folder: string,
  burstSeconds: number,
  channels: Readonly<Record<string, { readonly codec: CodecName; readonly options?: ChannelOptions }>>,
): Promise<Server> {
  const main = path('../dist/main.js');
  if (!existsSync(main)) throw new Error('dist/main.js is missing: npm run build');
  const [port, password] = [await freePort(), randomBytes(16).toString('hex')];
  const mountOf = (key: string) => `/${key}.${CODECS[channels[key]!.codec].extension}`;
  const entryOf = (key: string) => ({
    mounts: [mountOf(key)],
    pushTokens: ['env:TRUTH_SECRET'],
    sources: [{ type: 'encoder', user: 'source', password: 'env:TRUTH_SECRET' }],
    ...channels[key]!.options,
  });
  const configuration = {
    addresses: [{ host: '127.0.0.1', port, shoutcastPort: false }],
    data: { folder: join(folder, `data-${port}`) },
    log: { level: 'warn' },
    streams: { burstSeconds },
    // JSON is valid YAML.
    stations: { truth: { channels: Object.fromEntries(Object.keys(channels).map((key) => [key, entryOf(key)])) } },
  };
  const file = join(folder, `airsplice-${port}.yaml`);
  writeFileSync(file, JSON.stringify(configuration));
  const server = new Started(process.execPath, [main, file], { TRUTH_SECRET: password });
  const origin = `http://127.0.0.1:${port}`;
  await server.ready(`${origin}/healthz`);
  const pushUrl = (key: string) => `${origin}/metapush/${key}/${password}`;
  return { pid: server.pid, port, password, mountOf, pushUrl, stop: () => server.stop() };
}

/** Whether this version knows an option of channels: an older version refuses to start and names it. */
export async function knowsOption(folder: string, options: ChannelOptions): Promise<boolean> {
  try {
    const server = await startServer(folder, 0, { trial: { codec: 'cbr', options } });
    await server.stop();
    return true;
  } catch (error) {
    if (Object.keys(options).some((name) => (error as Error).message.includes(name))) return false;
    throw error;
  }
}
