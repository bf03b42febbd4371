/**
 * The short form of `npm run truth`: tones in encoders' streams, pushes at that very moment or late, Chromium's own sound and what a listener
 * without a player received. Each title is within its goal (bench/truth/cases.ts). It needs the build.
 */

import t from 'tap';
import { stopAll } from '../../bench/process.js';
import { NEEDED, SHORT } from '../../bench/truth/cases.js';
import { figuresOf, isHeld } from '../../bench/truth/figures.js';
import { runScene } from '../../bench/truth/scene.js';
import { judged, table } from '../../bench/truth/table.js';
import { missing } from '../kit/program.js';
import { tempFolder } from '../kit/temp-folder.js';

const SECONDS = 60;
const MIN_TITLES = 12;
/** Titles fall anywhere between two blocks of 250 ms: the median of 70 scatters by half of this. */
const SCATTER_MS = 30;

t.setTimeout(180_000);

t.test('titles are where the sound changes', { skip: missing(...NEEDED), timeout: 170_000 }, async (t) => {
  t.teardown(stopAll);
  const { cases, faults, titles, disturbed } = await runScene(SHORT, { folder: tempFolder(t), seconds: SECONDS });
  t.comment(`${table(cases)}\n${disturbed} of ${titles} titles do not count: a busy machine`);
  t.same(faults, []);
  t.ok(cases.length > SHORT.channels.length, 'cases were measured');
  for (const each of cases) {
    const figures = figuresOf(judged(each));
    t.ok(figures.count >= MIN_TITLES, `${each.name}: ${figures.count} titles`);
    if (each.goal === undefined) continue;
    const goal = each.withoutLag === null ? { ...each.goal, medianMs: each.goal.medianMs + SCATTER_MS } : each.goal;
    const [median, p95] = [figures.medianMs.toFixed(0), figures.p95Ms.toFixed(0)];
    t.ok(isHeld(figures, goal), `${each.name}: ${median} / ${p95} ms`);
    t.same([each.missing, each.repeated], [0, 0], `${each.name}: missing, repeated`);
  }
});
