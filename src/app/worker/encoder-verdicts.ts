/** What became of encoders that came: one line of the log and one count each, whether their secret was judged here or they were let in. */

import { Counts } from '../../base/counts.js';
import type { Mount } from '../../channel/mount.js';
import { isReserved } from '../../config/reserved.js';
import type { EncoderVerdict } from '../../http/ingest/verdict.js';
import { NO_SECRET } from '../../net/limits/secret-gate.js';
import type { Core } from '../core.js';

/** Of what an encoder says, for the log. */
const MAX_CHARACTERS = 100;

export class EncoderVerdicts {
  /** Encoder connections by response status. */
  readonly counts = new Counts();
  readonly #core: Core;
  readonly #mounts: ReadonlyMap<string, Mount>;

  constructor(core: Core, mounts: ReadonlyMap<string, Mount>) {
    this.#core = core;
    this.#mounts = mounts;
  }

  readonly onVerdict = (verdict: EncoderVerdict): void => {
    const { status, address, path, channel: named, agent, why, connection } = verdict;
    const { log, refusals, secrets } = this.#core;
    this.counts.add(String(status));
    const mount = this.#mountNamed(path);
    const channel = named ?? this.#mounts.get(path)?.audio.key;
    const fields = { agent: secrets.mask(agent, MAX_CHARACTERS) };
    if (status < 400) log.info({ mount, ...fields, connection, address, channel: why }, 'encoder connected');
    else if (why === NO_SECRET)
      log.debug({ address, reason: why, status, connection, mount, ...fields }, 'encoder without credentials');
    else refusals.warn({ address, reason: why, channel, status, connection, mount }, 'encoder refused', fields);
  };

  /** Of a path of our own the first part alone: an encoder pointed at the push address shows its token in it. */
  #mountNamed(path: string): string | undefined {
    const first = path.split('/')[1] ?? '';
    if (isReserved(first)) return `/${first}/…`;
    return path === '' ? undefined : this.#core.secrets.mask(path, MAX_CHARACTERS);
  }
}
