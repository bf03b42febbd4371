/** The three plots of a report, from the rows with a `plot`. Pure. */

import { machineLine } from './machine.js';
import { type PlotPlan, plot, type Series } from './plot.js';
import { PLOTS, type PlotName, type Report } from './result.js';
import { median } from './statistics.js';

const PLANS: Readonly<Record<PlotName, Omit<PlotPlan, 'series' | 'subtitle'>>> = {
  cost: { title: 'Cost against listeners', x: 'listeners', y: 'CPU cores per 1,000 listeners', hasLogX: true },
  latency: { title: 'Latency, from the moment at which each was due', x: 'percentile', y: 'ms', hasLogY: true },
  'loop-delay': { title: 'Delay of the event loop under load', x: 'percentile', y: 'ms', hasLogY: true },
};

/** Name → SVG document, for plots with figures. */
export function plots(report: Report): Map<PlotName, string> {
  const { date, machine } = report;
  const subtitle = `${machineLine(machine).split(';')[0]}, node ${machine.versions['node']}; ${date.slice(0, 10)}; medians`;
  const drawn = new Map<PlotName, string>();
  for (const name of PLOTS) {
    const lines = seriesOf(report, name);
    if (lines.length > 0) drawn.set(name, plot({ ...PLANS[name], subtitle, series: lines }));
  }
  return drawn;
}

function seriesOf({ results }: Report, name: PlotName): Series[] {
  const points = new Map<string, [number | string, number][]>();
  for (const { rows, targets } of results)
    for (const { plot, values } of rows) {
      if (plot?.name !== name) continue;
      for (const target of targets) {
        const value = median(values[target] ?? []);
        if (Number.isNaN(value)) continue;
        const line = plot.line === '' ? target : `${plot.line}: ${target}`;
        points.set(line, [...(points.get(line) ?? []), [plot.x, value]]);
      }
    }
  return [...points].map(([name, points]) => ({ name, points }));
}
