/**
 * The advice after a new configuration: how to start it, and what encoders, playout systems and players need. The only place that shows its
 * secrets.
 */

import type { ChannelLogin, Draft, Option } from './draft.js';
import { programName, wordOf } from './program-name.js';
import { ADMIN } from './service-defaults.js';

/**
 * @param path of the configuration, as given @param adminPassword of the user ADMIN @param isService whether the package's service will run it
 * @param program the command that was called
 */
export function advice(
  { logins, options, port, publicUrl, lost }: Draft,
  path: string,
  adminPassword: string,
  isService: boolean,
  program = programName(),
): string {
  const file = wordOf(path);
  const direct = publicUrl === '' ? `http://127.0.0.1:${port}` : publicUrl;
  const host = publicUrl === '' ? '127.0.0.1' : new URL(publicUrl).hostname;
  const channels = logins.map((login) => channelLines(login, direct, host, port)).join('\n');
  const [start, change] = isService
    ? ['systemctl restart airsplice', `${program} check --diff ${file} && systemctl reload airsplice`]
    : [`${program} start ${file}`, `${program} check --diff ${file} && ${program} reload ${file}`];
  return `${path} is written${lost.length === 0 ? '' : `; what was not imported is listed at its top`}.

  start   ${start}
  check   ${program} check ${file}
  change  ${change}
  manage  http://127.0.0.1:${adminPort(options) ?? port}/admin on this machine, user ${ADMIN}, password ${adminPassword}

${channels}
The token and the passwords are shown this once: the configuration holds their digests only.
`;
}

/** The port of the address with the role `admin`; undefined: none, so the first address serves it to this machine. */
function adminPort({ addresses }: Draft['options']): Option | undefined {
  return (addresses as readonly { readonly roles?: readonly string[]; readonly port: number }[]).find(({ roles }) =>
    roles?.includes('admin'),
  )?.port;
}

function channelLines({ key, mount, token, encoder }: ChannelLogin, url: string, host: string, port: number): string {
  const lines = [`${key}`, `  hear    ${url}${mount}`];
  if (encoder !== null) {
    const { user, password } = encoder;
    const words = password === null ? 'the same password as before' : `password ${password}`;
    lines.push(`  feed    Icecast 2 at ${host}, port ${port}, mount ${mount}, user ${user}, ${words}`);
  }
  if (token !== null)
    lines.push(`  push    curl '${url}/metapush/${key}/${token}?artist=Nina+Simone&song=Feeling+Good'`);
  return `${lines.join('\n')}\n`;
}
