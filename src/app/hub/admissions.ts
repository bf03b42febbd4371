/** Admits authenticated encoders to their channels, in the process of the sources. */

import type { Socket } from 'node:net';
import { mergeGetters } from '../../base/getters.js';
import type { EncoderSlot } from '../../channel/mount.js';
import { EncoderAdmission } from '../../http/ingest/encoder-admission.js';
import type { ProvenEncoder } from '../../http/ingest/proven.js';
import { RefusalPace } from '../../http/ingest/refusal-pace.js';
import { ReturningEncoders } from '../../http/ingest/returning.js';
import { ShoutcastAdmission } from '../../http/ingest/shoutcast-admission.js';
import type { EncoderVerdict } from '../../http/ingest/verdict.js';
import { type Core, headLimits } from '../core.js';

export interface AdmissionsOutput {
  /** How fast they are refused. */
  readonly pace: RefusalPace;
  /** As AdmissionParts has them (http/ingest/verdict.ts). */
  onAdmitted(socket: Socket): void;
  onVerdict(verdict: EncoderVerdict): void;
}

export class Admissions {
  readonly #slotOf: (channel: string) => EncoderSlot | undefined;
  readonly #encoders: EncoderAdmission;
  readonly #shoutcast: ShoutcastAdmission;
  readonly #returning: ReturningEncoders;

  constructor(core: Core, slotOf: (channel: string) => EncoderSlot | undefined, output: AdmissionsOutput) {
    const { config, clock } = core;
    this.#slotOf = slotOf;
    this.#returning = new ReturningEncoders(clock);
    const options = mergeGetters(headLimits(config), {
      ...output,
      returning: this.#returning,
      get server() {
        return config.streams.server;
      },
    });
    this.#encoders = new EncoderAdmission(options);
    this.#shoutcast = new ShoutcastAdmission(options);
  }

  /** Takes an encoder and its socket, which is paused. */
  take(encoder: ProvenEncoder): void {
    const slot = this.#slotOf(encoder.channel);
    if (slot === undefined) encoder.socket.destroy();
    else if (encoder.kind === 'http') this.#encoders.take(encoder, slot);
    else this.#shoutcast.take(encoder, slot);
  }

  /** Connections that were not admitted yet are closed. */
  close(): void {
    this.#shoutcast.close();
    this.#returning.close();
  }
}

/** How fast encoders are refused: one for all that refuse them in this process; those in others count too. */
export function makePace({ config: { limits }, clock, tallies }: Core): RefusalPace {
  const pace = {
    get perMinute() {
      return limits.encodersRefusedPerMinute;
    },
    remembered: limits.addressesRemembered,
  };
  return new RefusalPace(clock, pace, tallies.notices('refused encoders'));
}
