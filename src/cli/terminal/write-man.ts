/** Run by the build: writes the manual page to the file given as argument. */

import { writeFileSync } from 'node:fs';
import { ownVersion } from '../../base/own-files.js';
import { COMMANDS } from '../commands.js';
import { manualPage } from './man.js';

const [, , file] = process.argv;
if (file === undefined) throw new Error('which file?');
// For reproducible builds (reproducible-builds.org).
const epoch = process.env['SOURCE_DATE_EPOCH'];
const date = epoch === undefined ? new Date() : new Date(Number(epoch) * 1000);
writeFileSync(file, manualPage(COMMANDS, ownVersion(), date.toISOString().slice(0, 10)));
