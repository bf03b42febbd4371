/**
 * Removes the files of certificates that are no longer configured, once the certificate has expired and nothing was written for KEPT_MS. Until then
 * a return to the former configuration finds its account.
 */

import { readdir, readFile, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isCertificateName, PAIR_FILE } from '../../config/addresses/tls.js';
import { isAcmeFile, pairOf } from './acme-files.js';

export const KEPT_MS = 30 * 86_400_000;

/**
 * Never rejects: what cannot be removed stays.
 * @param parent of the folders of all certificates @param configured their names @returns the names of those that are gone
 */
export async function removeFormer(
  parent: string,
  configured: ReadonlyMap<string, unknown>,
  wallMs: number,
): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const name of await readdir(parent).catch(() => [])) {
    if (configured.has(name) || !isCertificateName(name)) continue;
    const folder = join(parent, name);
    try {
      if (!(await isOver(folder, wallMs))) continue;
      for (const file of await readdir(folder)) if (isAcmeFile(file)) await unlink(join(folder, file));
      // Fails if another file is in it.
      await rmdir(folder);
      gone.push(name);
    } catch {
      // It belongs to another user, or holds another file.
    }
  }
  return gone;
}

async function isOver(folder: string, wallMs: number): Promise<boolean> {
  const pair = pairOf(await readFile(join(folder, PAIR_FILE), 'utf8').catch(() => ''));
  if (pair !== null && pair.endsMs > wallMs) return false;
  const times = (await readdir(folder)).map(async (file) => (await stat(join(folder, file))).mtimeMs);
  return Math.max(...(await Promise.all(times)), (await stat(folder)).mtimeMs) <= wallMs - KEPT_MS;
}
