/**
 * The licences of the packages that the build bundles: name and version of each, and the licence texts that it ships. MIT, ISC, BSD and Apache all
 * require them with each copy.
 * Invariant: the build fails if a package has no text; for the few that ship none the text is in OWN.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A package's folder, in the path of one of its files. */
const FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const TEXT_FILE = /^(li[cs]en[cs]e|copying|notice)/i;
const LINE = '-'.repeat(80);

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`;

const ISC = `Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY
SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER
RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT,
NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE
USE OR PERFORMANCE OF THIS SOFTWARE.`;

/** Packages that ship no text: the licence of their package.json, with the notices of their repository. */
const OWN = [
  [/^(redis|@redis\/.+)$/, 'MIT', `MIT License\n\nCopyright (c) 2022-2025, Redis, inc.\n\n${MIT}`],
  [
    /^(agent-base|https-proxy-agent)$/,
    'MIT',
    `MIT License\n\nCopyright (c) 2013 Nathan Rajlich <nathan@tootallnate.net>\n\n${MIT}`,
  ],
  [/^abstract-logging$/, 'MIT', `MIT License\n\nCopyright (c) James Sumners\n\n${MIT}`],
  [
    /^saxes$/,
    'ISC',
    [
      `The ISC License\n\nCopyright (c) Contributors\n\n${ISC}`,
      `Of sax, from which saxes was forked:\n\nThe ISC License\n\nCopyright (c) Isaac Z. Schlueter and Contributors\n\n${ISC}`,
      `String.fromCodePoint: MIT License\n\nCopyright Mathias Bynens <https://mathiasbynens.be/>\n\n${MIT}`,
    ].join('\n\n'),
  ],
];

/**
 * Renders all licences as one text. Throws an Error that names each package without a licence's text.
 * @param metafiles of esbuild, with paths from the working directory
 */
export function bundledLicences(metafiles) {
  const parts = new Map();
  const missing = [];
  for (const folder of bundledFolders(metafiles)) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const text = textOf(folder, name, license);
    if (text === null) missing.push(`${name} ${version} (${license ?? 'no licence'})`);
    else parts.set(`${name} ${version}`, `${LINE}\n${name} ${version} (${license})\n${LINE}\n\n${text}\n`);
  }
  if (missing.length > 0) throw new Error(`bundled without the text of a licence: ${missing.join(', ')}`);
  const head = 'The program in this folder contains code of these packages, under these licences.\n';
  return [head, ...[...parts.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)].join('\n');
}

/** Folders of the packages that contribute to an output. */
function bundledFolders(metafiles) {
  const folders = new Set();
  for (const { outputs } of metafiles)
    for (const { inputs } of Object.values(outputs))
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const [folder] = FOLDER.exec(path) ?? [];
        if (folder !== undefined && bytesInOutput > 0) folders.add(folder);
      }
  return folders;
}

/** The package's licence texts; null: it has none. */
function textOf(folder, name, license) {
  const files = readdirSync(folder).filter((file) => TEXT_FILE.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  if (texts.length > 0) return texts.join('\n\n');
  return OWN.find(([pattern, its]) => pattern.test(name) && its === license)?.[2] ?? null;
}
