/**
 * `airsplice doctor [CONFIG]`: checks the machine and whatever is in front of the server, with advice. Each check is a function (doctor-ports.ts
 * and its neighbours). Changes nothing except for a temporary file in the data folder.
 *
 * Exit codes: 0 if nothing is bad, 1 if something is, 2 for a wrong command line or configuration.
 */

import { readFile } from 'node:fs/promises';
import { hostOf } from '../../base/ip.js';
import { printable, printableJson } from '../../base/printable.js';
import { acmeCertificates, certificateFiles } from '../../config/addresses/tls.js';
import { ConfigError, type LoadedConfig, loadConfig } from '../../config/load.js';
import { programName, wordOf } from '../../setup/program-name.js';
import { type CommandLine, type RunCommand, textOf } from '../command.js';
import { urlOf } from '../server.js';
import { type Colour, paintOf } from '../terminal/terminal.js';
import { acmeFindings } from './doctor-acme.js';
import { certificateFindings } from './doctor-certificates.js';
import { clockFindings, skewFindings } from './doctor-clock.js';
import { diskFindings } from './doctor-disk.js';
import { nameFindings } from './doctor-names.js';
import { portFindings } from './doctor-ports.js';
import { proxyFindings } from './doctor-proxy.js';
import { fileLimitFindings, nodeFindings, settingFindings } from './doctor-system.js';
import type { DoctorFinding } from './finding.js';

const MARKS: Readonly<Record<DoctorFinding['verdict'], readonly [string, Colour]>> = {
  good: ['✔', 'green'],
  note: ['!', 'yellow'],
  bad: ['✘', 'red'],
};

export const doctor: RunCommand = async (line, stop) => {
  const [path] = line.operands;
  let config: LoadedConfig | null = null;
  try {
    if (path !== undefined) config = loadConfig(path, process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(
      `${error.message}\nairsplice: \`${programName()} check ${wordOf(path ?? '')}\` reports it too\n`,
    );
    return 2;
  }
  const findings = await runChecks(config, urlAsked(line, config), stop);
  if (stop.aborted) return 1;
  if (line.values['json']) process.stdout.write(`${printableJson(findings)}\n`);
  else print(findings);
  return findings.some(({ verdict }) => verdict === 'bad') ? 1 : 0;
};

/** The URL that listeners use; null: unknown. Throws UsageError. */
function urlAsked(line: CommandLine, config: LoadedConfig | null): string | null {
  const given = textOf(line, 'public-url');
  if (given !== undefined) return urlOf(given, '--public-url');
  const url = config?.streams.publicUrl ?? '';
  return url === '' ? null : url.replace(/\/+$/, '');
}

/** Runs all possible checks at once. */
async function runChecks(
  config: LoadedConfig | null,
  url: string | null,
  stop: AbortSignal,
): Promise<readonly DoctorFinding[]> {
  const looks: (Promise<readonly DoctorFinding[]> | readonly DoctorFinding[])[] = [nodeFindings(process.versions.node)];
  if (config !== null) {
    const host = url === null ? '' : hostOf(url);
    const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '');
    looks.push(portFindings(config.addresses, stop), diskFindings(config.data.folder));
    looks.push(fileLimitFindings(limits, config), settingFindings(config), nameFindings(config));
    const { folder } = config.data;
    for (const { tls } of config.addresses) {
      if (tls?.acme === undefined && tls !== undefined)
        looks.push(certificateFindings(certificateFiles(tls, folder), host));
    }
    for (const acme of acmeCertificates(config.addresses).values()) looks.push(acmeFindings(acme, folder, host, stop));
  }
  looks.push(clockFindings());
  if (url !== null) looks.push(skewFindings(url, stop), proxyFindings(url, config, stop));
  const found = (await Promise.all(looks)).flat();
  return [...found, ...notChecked(config, url)];
}

function notChecked(config: LoadedConfig | null, url: string | null): readonly DoctorFinding[] {
  const rest = { verdict: 'note', about: 'outside' } as const;
  const notes: DoctorFinding[] = [];
  if (config === null) {
    const text = 'ports, disk, limits, names and certificates were not checked';
    notes.push({ ...rest, about: 'configuration', text, advice: `${programName()} doctor CONFIG` });
  }
  if (url === null) {
    const text = 'access from outside was not checked';
    notes.push({ ...rest, text, advice: 'set streams.publicUrl, or pass --public-url' });
  }
  return notes;
}

function print(findings: readonly DoctorFinding[]): void {
  const paint = paintOf();
  for (const { about, verdict, text, advice } of findings) {
    const [mark, colour] = MARKS[verdict];
    process.stdout.write(`${paint(`${mark} ${about}`, colour)}: ${printable(text)}\n`);
    if (advice !== '') process.stdout.write(`    → ${printable(advice)}\n`);
  }
  const count = (verdict: DoctorFinding['verdict']) => findings.filter((finding) => finding.verdict === verdict).length;
  process.stdout.write(`\n${count('good')} good, ${count('note')} to note, ${count('bad')} bad\n`);
}
