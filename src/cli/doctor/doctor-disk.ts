/** Checks the data folder: permission, free space, and the time until a write is on the disk, for which each push waits. */

import { mkdtemp, open, rm, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type DoctorFinding, Findings } from './finding.js';

const MEGABYTE = 1024 * 1024;
/** A history of ten thousand titles takes a few MB; the system's logs take more. */
const MIN_MEGABYTES = 64;
const ENOUGH_MEGABYTES = 1024;
const MIN_FILES = 1000;
const WRITES = 10;
const WRITE_BYTES = 4096;
const SLOW_MS = 50;
const TOO_SLOW_MS = 500;

/** @param folder data.folder of the configuration, which need not exist yet */
export async function diskFindings(folder: string): Promise<DoctorFinding[]> {
  const findings = new Findings('disk');
  const wanted = resolve(folder);
  const there = await existingFolder(wanted);
  await checkSpace(there, findings);
  const code = await measure(there, findings).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
  if (code === undefined) return findings.all;
  if (code === 'ENOSPC' || code === 'EDQUOT') findings.bad(`${there} is full`, ROOM);
  else if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    findings.bad(
      `${there} cannot be written to (${code})`,
      `give it to the server's user (chown), or set data.folder to a folder that the user owns`,
    );
  } else findings.bad(`${there} cannot be written to (${code})`, 'check data.folder and its disk');
  return findings.all;
}

const ROOM = 'free some space, or move data.folder to a larger disk; pushes are refused while it is full';

async function existingFolder(folder: string): Promise<string> {
  const isThere = await statfs(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
  return isThere || dirname(folder) === folder ? folder : existingFolder(dirname(folder));
}

async function checkSpace(folder: string, findings: Findings): Promise<void> {
  const room = await statfs(folder).catch(() => null);
  if (room === null) return;
  const megabytes = Math.floor((room.bavail * room.bsize) / MEGABYTE);
  const text = `${megabytes.toLocaleString('en')} MB free at ${folder}`;
  if (megabytes < MIN_MEGABYTES) findings.bad(text, ROOM);
  else if (megabytes < ENOUGH_MEGABYTES) findings.note(text, 'free some space: pushes are refused once it is full');
  else findings.good(text);
  // Some file systems do not limit the number of files.
  if (room.files > 0 && room.ffree < MIN_FILES)
    findings.bad(`only ${room.ffree} more files can be created there`, ROOM);
}

/** Rejects with the disk's error. */
async function measure(folder: string, findings: Findings): Promise<undefined> {
  const own = await mkdtemp(join(folder, '.airsplice-doctor-'));
  try {
    const file = await open(join(own, 'written'), 'w');
    const tookMs: number[] = [];
    try {
      for (let i = 0; i < WRITES; i++) {
        const beganMs = performance.now();
        const { bytesWritten } = await file.write(Buffer.alloc(WRITE_BYTES, 1));
        if (bytesWritten < WRITE_BYTES) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        await file.datasync();
        tookMs.push(performance.now() - beganMs);
      }
    } finally {
      await file.close();
    }
    const [medianMs, maxMs] = [tookMs.sort((a, b) => a - b)[WRITES / 2]!, tookMs.at(-1)!];
    const text = `a write reaches the disk in ${medianMs.toFixed(1)} ms, the slowest of ${WRITES} in ${maxMs.toFixed(1)} ms`;
    const advice = 'each push waits for it: use a local SSD that nothing else keeps busy';
    if (medianMs > TOO_SLOW_MS) findings.bad(text, advice);
    else if (medianMs > SLOW_MS) findings.note(text, advice);
    else findings.good(text);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return undefined;
}
