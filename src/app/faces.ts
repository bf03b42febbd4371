/** The channels of the configuration as their records present them, and the stations that they belong to. */

import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../config/load.js';
import type { ChannelFace } from '../metadata/view.js';

/** Of all channels; one object in each process. */
export class Faces {
  /** By channel key, stations and channels in configured order. */
  readonly byChannel = new Map<string, ChannelFace>();
  readonly byStation = new Map<string, readonly ChannelFace[]>();
  readonly #config: LoadedConfig;

  constructor(config: LoadedConfig) {
    this.#config = config;
    this.refresh();
  }

  /** The configuration has changed in place. A face that is as it was stays the same object. */
  refresh(): void {
    const before = new Map(this.byChannel);
    this.byChannel.clear();
    this.byStation.clear();
    for (const { station, channels } of this.#config.order) {
      const { timezone, channels: configs } = this.#config.stations[station]!;
      const faces = channels.map((key): ChannelFace => {
        const { name, url } = configs[key]!;
        const link = url || this.#config.streams.publicUrl;
        const face = { key, name, station, timezone, ...(link !== '' && { link }) };
        const known = before.get(key);
        return isDeepStrictEqual(known, face) ? known! : face;
      });
      for (const face of faces) this.byChannel.set(face.key, face);
      this.byStation.set(station, faces);
    }
  }
}
