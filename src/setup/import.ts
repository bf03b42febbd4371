/**
 * Another program's file as a draft: an icecast.xml, a Liquidsoap script with `output.icecast(…)`, such as AzuraCast writes, or the stations from
 * AzuraCast's API.
 */

import { dataFolder } from './answers.js';
import { azuracastDraft, isAzuracast } from './azuracast.js';
import { type Draft, everyNetwork } from './draft.js';
import { icecastDraft } from './icecast-draft.js';
import { type ImportedMount, importedChannels, mountProblem, plainText } from './imported.js';
import { readLiquidsoap } from './liquidsoap.js';

export interface ImportOptions {
  /** Path of the configuration, absolute. */
  readonly path: string;
  /** The station's name; '': not given. */
  readonly station: string;
  /** Paths of further mounts, only for an icecast.xml. */
  readonly mounts: readonly string[];
}

/** Throws an Error that says why the text cannot be imported. */
export function importedDraft(text: string, { path, station, mounts }: ImportOptions): Draft {
  if (/^\uFEFF?\s*</.test(text)) return icecastDraft(text, path, station, mounts);
  const unmade = mounts.map((mount) => `--channel adds mounts only to an icecast.xml: ${mount} was not created`);
  if (isAzuracast(text)) {
    const draft = azuracastDraft(text, path, station);
    return { ...draft, lost: [...draft.lost, ...unmade] };
  }
  const outputs = readLiquidsoap(text);
  if (outputs.length === 0) throw new Error('it is neither an icecast.xml nor a script with output.icecast(…)');
  const lost = new Set<string>(unmade);
  const lose = (sentence: string) => void lost.add(sentence);
  const port = outputs[0]!.port;
  const found = new Map<string, ImportedMount>();
  for (const { line, mount, user, password, options, ...output } of outputs) {
    const problem = mount === '' ? 'is not a literal in the script' : mountProblem(mount);
    if (problem !== null) lose(`the mount of line ${line} ${problem}`);
    if (output.port !== port) lose(`line ${line} connects to port ${output.port}: here it is ${port}`);
    if (problem !== null || found.has(mount)) continue;
    if (password === '') lose(`${mount}: its password is not a literal in the script`);
    found.set(mount, {
      mount,
      encoder: { user: plainText(user, 255) || 'source', password },
      pulls: [],
      options,
      fallback: null,
    });
  }
  if (found.size === 0) throw new Error(`it names no mount: ${[...lost].join('; ')}`);
  const { channels, logins } = importedChannels([...found.values()], '', lose);
  return {
    options: {
      addresses: [{ host: everyNetwork(), port }],
      data: { folder: dataFolder(path) },
      stations: { imported: { name: station || 'Imported Station', channels } },
    },
    comments: [
      { path: ['data'], text: 'Titles and their history, kept across restarts.' },
      { path: ['stations'], text: 'Where the script connects, with its existing password; here is the digest.' },
    ],
    lost: [...lost],
    logins,
    port,
    publicUrl: '',
  };
}
