/**
 * Checks whether a Debian package would run on a machine with only its dependencies: looks up the shared libraries of its native modules, and the
 * programs in its maintainer scripts and unit, in the packages of this system. Every machine has the essential packages.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/** Keywords and builtins of the shell. */
const NO_PROGRAMS =
  /^(if|then|else|elif|fi|case|esac|for|while|until|do|done|in|set|exit|return|kill|cd|true|false|command|export|shift|umask)$/;

export interface Needs {
  readonly libraries: readonly string[];
  readonly programs: readonly string[];
  /** Needs that no dependency provides, with the package that does. */
  readonly missing: readonly string[];
}

/** @param folder empty, to unpack it in */
export function needsOf(deb: string, folder: string): Needs {
  run('dpkg-deb', '-R', deb, folder);
  const packages = reached(run('dpkg-deb', '-f', deb, 'Depends'));
  const libraries = [...new Set(nativeModules(folder).flatMap(librariesOf))];
  const scripts = ['postinst', 'prerm', 'postrm'].map((name) => readFileSync(join(folder, 'DEBIAN', name), 'utf8'));
  const unit = readFileSync(join(folder, 'usr/lib/systemd/system/airsplice.service'), 'utf8');
  const started = [...unit.matchAll(/^Exec\w+=[-+!@:]*(\S+)/gm)].map(([, path]) => path!);
  const own = (path: string): boolean =>
    readdirSync(join(folder, path, '..')).some((name) => path.endsWith(`/${name}`));
  const programs = [...new Set([...scripts.flatMap(programsOf), ...started.filter((path) => !own(path))])].sort();
  const missing = [...libraries, ...programs].flatMap((need) => {
    const owner = ownerOf(need);
    return packages.has(owner) ? [] : [`${need} (${owner || 'of no package'})`];
  });
  return { libraries, programs, missing };
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/**
 * Names of these packages with all their dependencies, and of the essential ones. Of alternatives, the first that is installed.
 * @param depends the field of a control file
 */
function reached(depends: string): Set<string> {
  const fields = ['Package', 'Essential', 'Provides', 'Pre-Depends', 'Depends'].map((name) => '$'.concat(`{${name}}`));
  const rows = run('dpkg-query', '-W', '-f', `${fields.join('|')}\n`.replaceAll('|', '\t')).split('\n');
  const known = rows.map((row) => row.split('\t') as [string, string, string, string, string]);
  const needs = new Map(known.map(([name, , , before, after]) => [name, `${before},${after}`]));
  const providers = new Map(
    known.flatMap(([name, , provides]) => namesIn(provides).map(([provided]) => [provided!, name])),
  );
  const found = new Set<string>();
  const follow = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    for (const alternatives of namesIn(needs.get(name) ?? '')) {
      const here = alternatives.map((each) => (needs.has(each) ? each : providers.get(each))).find(Boolean);
      if (here !== undefined) follow(here);
    }
  };
  for (const [name, essential] of known) if (essential === 'yes') follow(name);
  needs.set('', depends);
  follow('');
  found.delete('');
  return found;
}

/** The alternatives of each item, without versions and architectures. */
function namesIn(field: string): string[][] {
  return field.split(',').flatMap((item) => {
    const names = item.split('|').map((each) => each.replace(/[(:].*/, '').trim());
    return names[0] === '' ? [] : [names];
  });
}

/** The native modules that are loaded on Debian. */
function nativeModules(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.node') && !file.includes('musl')).map((file) => join(folder, file));
}

function librariesOf(file: string): string[] {
  return run('ldd', file)
    .split('\n')
    .flatMap((line) => {
      const [, name, path] = /^\s*(\S+) => (\S+)/.exec(line) ?? [];
      return name === undefined ? [] : [path === 'not' ? name : path!];
    });
}

/** The commands in a script, without shell builtins and the script's own functions. */
function programsOf(script: string): string[] {
  const code = script
    .replace(/<<'(\w+)'\n[\s\S]*?\n\1\n/g, '\n')
    .replace(/(^|\s)#.*$/gm, '')
    .replace(/\becho\b.*$/gm, '')
    .replace(/^ *[\w |*-]+\)$/gm, '');
  const functions = new Set([...code.matchAll(/^(\w+)\(\)/gm)].map(([, name]) => name!));
  const words = code.matchAll(
    /(?:^|[;&|({!]|\b(?:if|then|else|elif|do|while|until)\b)[ \t]*([a-z][\w.-]*)(?=[\s;)]|$)/gm,
  );
  return [...words].map(([, word]) => word!).filter((word) => !NO_PROGRAMS.test(word) && !functions.has(word));
}

/** The package of a program or of a file; '': none. */
function ownerOf(need: string): string {
  const path = need.startsWith('/')
    ? need
    : ['/usr/sbin', '/usr/bin'].map((folder) => join(folder, need)).find(isThere);
  if (path === undefined) return '';
  // Packages list paths from before /bin and /lib became links.
  const real = realpathSync(path);
  for (const each of new Set([path, real, path.replace(/^\/usr/, ''), real.replace(/^\/usr/, '')])) {
    try {
      return run('dpkg', '-S', each).split(':')[0]!;
    } catch {
      // The package lists another path of it.
    }
  }
  return '';
}

function isThere(path: string): boolean {
  try {
    return realpathSync(path) !== '';
  } catch {
    return false;
  }
}
