import type { Comparison, Row, Section } from '../comparison.js';
import { contenderClass } from './contender-class.js';
import { figure, tickPercentage } from './figures.js';
import { type Html, html } from './html.js';
import { type Line, lineChart, PLOT } from './line-chart.js';
import { linearScale, logScale } from './scale.js';

const line = (row: Row, points: Line['points']): Line => ({
  name: row.name,
  className: contenderClass(row.name),
  points,
});

/** Colors of a section's lines; resting on a name picks its lines out. */
export function legend({ rows }: Section): Html {
  const entries = rows.map(({ name }) => {
    const className = contenderClass(name);
    return html`<span class="${className}" data-contender="${className}"><i></i>${name}</span>`;
  });
  return html`<p class="legend">${entries}</p>`;
}

/** Share of activations slower than x, both axes logarithmic: tails lie right. */
export function slowdownChart(
  { rows }: Section,
  edges: readonly number[],
  of: 'service' | 'response',
): Html {
  const slower = (row: Row): readonly number[] =>
    of === 'service' ? row.slowerService : row.slowerResponse;
  const least = 1e-4;
  const last = Math.max(
    1,
    ...rows.map((row) => slower(row).findLastIndex((share) => share >= least)),
  );
  const lines = rows.map((row) =>
    line(
      row,
      edges
        .slice(0, last + 2)
        .flatMap((edge, i) => (slower(row)[i]! > 0 ? [[edge, slower(row)[i]!] as const] : [])),
    ),
  );
  return lineChart({
    title:
      of === 'service'
        ? 'Slowdown of waiting and running'
        : 'Slowdown of response, waiting and cold starts in it',
    xTitle: `${of} / alone at its true demand`,
    yTitle: 'share of activations slower',
    x: logScale(1, edges[Math.min(edges.length - 1, last + 1)]!, ...PLOT.x),
    y: logScale(least, 1, ...PLOT.y),
    lines,
    yText: tickPercentage,
  });
}

/**
 * Functions in order of p99 against objective: where a line crosses 1, the functions to its right
 * miss theirs.
 */
export function objectiveChart({ rows }: Section): Html | null {
  const shown = rows.filter(({ objectiveRatios }) => objectiveRatios.length > 0);
  if (shown.length === 0) return null;
  const all = shown.flatMap(({ objectiveRatios }) => objectiveRatios).filter((ratio) => ratio > 0);
  return lineChart({
    title: 'p99 against objective, per function',
    xTitle: 'functions, in order, %',
    yTitle: 'p99 of init + run / objective',
    x: linearScale(0, 100, ...PLOT.x),
    y: logScale(Math.max(0.05, Math.min(...all)), Math.min(1000, Math.max(2, ...all)), ...PLOT.y),
    lines: shown.map((row) =>
      line(
        row,
        row.objectiveRatios.map((ratio, i) => [i, ratio] as const),
      ),
    ),
    marks: [{ y: 1, text: 'objective' }],
  });
}

type LevelKey = 'utilization' | 'running' | 'waiting' | 'containers';

/** One level over time, all contenders. */
export function levelChart({ rows }: Section, key: LevelKey, title: string, yTitle: string): Html {
  const minutes = (row: Row, i: number): number => ((i + 1) * row.series.bucketMs) / 60_000;
  const end = Math.max(...rows.map((row) => minutes(row, row.series[key].length - 1)));
  const highest = Math.max(
    ...rows.flatMap((row) => row.series[key]),
    key === 'utilization' ? 0.1 : 1,
  );
  return lineChart({
    title,
    xTitle: 'minutes',
    yTitle,
    x: linearScale(0, end, ...PLOT.x),
    y: linearScale(0, highest, ...PLOT.y),
    lines: rows.map((row) =>
      line(
        row,
        row.series[key].map((value, i) => [minutes(row, i), value] as const),
      ),
    ),
    yText: key === 'utilization' ? tickPercentage : figure,
  });
}

/**
 * Wanted, borrowed and harvested cores over time, a chart for each contender that demand or
 * harvested anything.
 */
export function poolCharts({ rows }: Section): Html[] {
  const active = rows.filter(
    ({ series, isNoise }) =>
      !isNoise && [...series.demand, ...series.harvested].some((value) => value > 0),
  );
  return active.map((row) => {
    const { demand, borrowed, harvested, bucketMs } = row.series;
    const points = (values: readonly number[]): Line['points'] =>
      values.map((value, i) => [((i + 1) * bucketMs) / 60_000, value]);
    return lineChart({
      title: `${row.name}: demand, borrowed, harvested`,
      xTitle: 'minutes',
      yTitle: 'cores',
      x: linearScale(0, (demand.length * bucketMs) / 60_000, ...PLOT.x),
      y: linearScale(0, Math.max(0.1, ...demand, ...borrowed, ...harvested), ...PLOT.y),
      lines: [
        { name: 'demand', className: 'demand', points: points(demand) },
        { name: 'borrowed', className: 'borrowed', points: points(borrowed) },
        { name: 'harvested', className: 'harvested', points: points(harvested) },
      ],
    });
  });
}

/** One figure by user memory per host, a line for each contender of the density sections. */
export function densityChart(
  sections: readonly Section[],
  metric: Comparison['metrics'][number],
): Html {
  const names = sections[0]!.rows.map(({ name }) => name);
  const memory = ({ setting }: Section): number => setting.userMemoryMiB / 1024;
  const value = (section: Section, name: string): number =>
    section.rows.find((row) => row.name === name)!.figures[metric.key]!.mean;
  const all = sections.flatMap((section) => names.map((name) => value(section, name)));
  return lineChart({
    title: metric.title,
    xTitle: 'user memory per host, GiB',
    yTitle: metric.title,
    x: {
      ...logScale(Math.min(...sections.map(memory)), Math.max(...sections.map(memory)), ...PLOT.x),
      ticks: sections.map(memory),
    },
    y: linearScale(0, Math.max(...all), ...PLOT.y),
    lines: names.map((name) => ({
      name,
      className: contenderClass(name),
      points: sections.map((section) => [memory(section), value(section, name)] as const),
    })),
    yText: metric.unit === 'share' ? tickPercentage : figure,
  });
}
