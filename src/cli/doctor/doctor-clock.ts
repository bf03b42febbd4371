/** Checks the clock, on which titles depend: whether a service synchronises it, and how far it is from the clock of the public URL's server. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { answerOf } from '../server.js';
import { type DoctorFinding, Findings } from './finding.js';

interface TimeService {
  readonly program: string;
  readonly args: readonly string[];
  /** Matches its output if the clock is synchronised. */
  readonly isKept: RegExp;
}

const SERVICES: readonly TimeService[] = [
  { program: 'timedatectl', args: ['show', '-p', 'NTPSynchronized', '--value'], isKept: /^yes$/m },
  { program: 'chronyc', args: ['-n', 'tracking'], isKept: /^Leap status\s*:\s*(Normal|Insert|Delete)/m },
  { program: 'ntpq', args: ['-c', 'rv 0 leap'], isKept: /leap=(00|01|10)/ },
];
const ASK_MS = 5000;
/** The `Date` header has whole seconds, and an answer takes time. */
const CLOSE_SECONDS = 2;
const FAR_SECONDS = 30;

/** @param env environment of the programs */
export async function clockFindings(env: NodeJS.ProcessEnv = process.env): Promise<DoctorFinding[]> {
  const findings = new Findings('clock');
  for (const { program, args, isKept } of SERVICES) {
    const said = await run(program, args, env);
    if (said === null) continue;
    if (isKept.test(said)) findings.good(`it is synchronised (${program})`);
    else
      findings.bad(
        `${program} reports that it is not synchronised`,
        'install and start chrony or systemd-timesyncd (timedatectl set-ntp true): otherwise titles pushed ahead of their time appear at the wrong moment',
      );
    return findings.all;
  }
  findings.note(
    'unclear whether it is synchronised: timedatectl, chronyc and ntpq are all missing',
    'a container uses the clock of its host: check there',
  );
  return findings.all;
}

/** The output of a program; null: it is missing, or does not work here. */
async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string | null> {
  try {
    return (await promisify(execFile)(program, [...args], { env, timeout: ASK_MS })).stdout;
  } catch {
    return null;
  }
}

/** @param url at which another machine answers, or at least another program */
export async function skewFindings(url: string, signal: AbortSignal): Promise<DoctorFinding[]> {
  const findings = new Findings('clock');
  const beganMs = Date.now();
  const answer = await answerOf(`${url}/healthz`, signal).catch(() => null);
  const date = Date.parse(String(answer?.headers['date']));
  // Other checks report that nothing answers.
  if (Number.isNaN(date)) return [];
  const halfSecondMs = 500;
  const skewSeconds = Math.round((beganMs + Date.now()) / 2 - date - halfSecondMs) / 1000;
  const text = `it differs by ${skewSeconds.toFixed(1)} s from the clock of ${url}`;
  if (Math.abs(skewSeconds) > FAR_SECONDS) findings.bad(text, 'one of the two is wrong: check both');
  else if (Math.abs(skewSeconds) > CLOSE_SECONDS)
    findings.note(text, 'one of the two is wrong, or the connection is slow');
  else findings.good(text);
  return findings.all;
}
