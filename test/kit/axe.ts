/** Runs axe on a page. The page needs `bypassCSP`, since axe evaluates scripts in it. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Found {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Waits for transitions, during which contrasts are meaningless; not for endless animations. */
const SETTLED = `Promise.allSettled(
  document.getAnimations().filter((each) => each.effect?.getComputedTiming().endTime !== Infinity).map((each) => each.finished),
).then(() => 0)`;

/** One text for each violated rule, with the elements. */
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(SETTLED);
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as Found;
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`);
}

/** Findings of axe, and whether the page is wider than its window. */
export async function unfit(page: Page): Promise<string[]> {
  const [wide, width] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [number, number];
  return [...(await findings(page)), ...(wide > width ? [`${wide} of ${width} pixels`] : [])];
}
