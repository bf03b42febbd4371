/** The channels of a scene: a server for each length of the burst, Icecast if needed, and an encoder for each channel. */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { startIcecastServer } from '../icecast.js';
import type { ChannelPlan } from './cases.js';
import { type ChannelOptions, startServer } from './servers.js';
import { pushTo, ToneEncoder, updateAt } from './tone-encoder.js';
import { CODECS, makeToneFile, misplacedMs, type ToneFile } from './tone-file.js';
import { BANDS } from './tones.js';

/** The largest allowed error of the tool's own tones. */
const MAX_MISPLACED_MS = 2;
const CLIENTS = 100;
const ICECAST_MOUNT = '/tones.mp3';

export interface RunningChannel {
  readonly key: string;
  readonly port: number;
  /** Path of the mount. */
  readonly path: string;
  readonly encoder: ToneEncoder;
}

/**
 * Resolves when all encoders are started.
 * @param seconds of sound; the first `quietSeconds` have no change, so that listeners who join then are in the middle of a title
 * @param stops gets the functions that stop them
 */
export async function startChannels(
  plans: readonly ChannelPlan[],
  options: { readonly folder: string; readonly seconds: number; readonly quietSeconds: number },
  stops: (() => Promise<void> | void)[],
): Promise<Map<ChannelPlan, RunningChannel>> {
  const { folder, seconds, quietSeconds } = options;
  const files = await Promise.all(
    plans.map((plan, index) => makeToneFile(plan.codec, index % (BANDS - 1), seconds, quietSeconds)),
  );
  await checkOnce(files);
  const keys = new Map(plans.map((plan, index) => [plan, `channel-${index}`]));
  const running = new Map<ChannelPlan, RunningChannel>();
  const run = (plan: ChannelPlan, where: Omit<ConstructorParameters<typeof ToneEncoder>[0], 'file' | 'pushing'>) => {
    const encoder = new ToneEncoder({ ...where, file: files[plans.indexOf(plan)]!, pushing: plan.pushing });
    stops.push(() => encoder.stop());
    running.set(plan, { key: keys.get(plan)!, port: where.port, path: where.path, encoder });
  };
  for (const burstSeconds of new Set(plans.filter((one) => !one.isIcecast).map((one) => one.burstSeconds))) {
    const ours = plans.filter((plan) => plan.burstSeconds === burstSeconds && !plan.isIcecast);
    const server = await startServer(
      folder,
      burstSeconds,
      Object.fromEntries(ours.map((plan) => [keys.get(plan)!, { codec: plan.codec, options: optionsOf(plan) }])),
    );
    stops.push(() => server.stop());
    const { pid, port, password } = server;
    for (const plan of ours) {
      const key = keys.get(plan)!;
      run(plan, { pid, port, path: server.mountOf(key), password, push: pushTo(server.pushUrl(key)) });
    }
  }
  for (const plan of plans.filter((one) => one.isIcecast)) {
    const { server, origin, password } = await startIcecastServer(mkdtempSync(join(folder, 'icecast-')), CLIENTS);
    stops.push(() => server.stop());
    const push = updateAt(origin, ICECAST_MOUNT, password);
    run(plan, { pid: server.pid, port: Number(new URL(origin).port), path: ICECAST_MOUNT, password, push });
  }
  return running;
}

function optionsOf({ options, hls }: ChannelPlan): ChannelOptions {
  return {
    ...options,
    ...(hls && { hls: { enabled: true, form: hls.form ?? 'auto', segmentSeconds: hls.segmentSeconds ?? 2 } }),
  };
}

const checked = new Set<string>();

async function checkOnce(files: readonly ToneFile[]): Promise<void> {
  for (const file of files) {
    if (checked.has(file.codec)) continue;
    checked.add(file.codec);
    const ms = await misplacedMs(file);
    if (ms > MAX_MISPLACED_MS)
      throw new Error(`the tones of ${CODECS[file.codec].options.join(' ')} are ${ms} ms from where they should be`);
  }
}
