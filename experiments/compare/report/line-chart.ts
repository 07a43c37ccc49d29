import { figure } from './figures.js';
import { type Html, html } from './html.js';
import type { Scale } from './scale.js';

export interface Line {
  /** Shown when the pointer rests on it. */
  readonly name: string;
  /** Class of the contender, for its color and for being picked out. */
  readonly className: string;
  readonly points: readonly (readonly [number, number])[];
}

export interface LineChart {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly x: Scale;
  readonly y: Scale;
  readonly lines: readonly Line[];
  /** Horizontal or vertical lines with a word beside them. */
  readonly marks?: readonly (
    | { readonly x: number; readonly text: string }
    | { readonly y: number; readonly text: string }
  )[];
  readonly xText?: (value: number) => string;
  readonly yText?: (value: number) => string;
}

const CHART = { width: 520, height: 300, left: 66, right: 12, top: 12, bottom: 40 } as const;

/** Pixel ranges inside the axes. */
export const PLOT = {
  x: [CHART.left, CHART.width - CHART.right] as const,
  y: [CHART.height - CHART.bottom, CHART.top] as const,
};

/** Lines over two axes, as inline SVG. */
export function lineChart(chart: LineChart): Html {
  const { x, y, xText = figure, yText = figure } = chart;
  const [left, right] = PLOT.x;
  const [bottom, top] = PLOT.y;
  const xAxis = x.ticks.map(
    (tick) => html`<line class="grid" x1="${px(x.at(tick))}" x2="${px(x.at(tick))}" y1="${top}"
y2="${bottom}"/>
<text x="${px(x.at(tick))}" y="${bottom + 15}" text-anchor="middle">${xText(tick)}</text>`,
  );
  const yAxis = y.ticks.map(
    (tick) => html`<line class="grid" x1="${left}" x2="${right}" y1="${px(y.at(tick))}"
y2="${px(y.at(tick))}"/>
<text x="${left - 6}" y="${px(y.at(tick) + 4)}" text-anchor="end">${yText(tick)}</text>`,
  );
  const marks = (chart.marks ?? []).map((mark) =>
    'y' in mark
      ? html`<line class="mark" x1="${left}" x2="${right}" y1="${px(y.at(mark.y))}"
y2="${px(y.at(mark.y))}"/>
<text class="word" x="${right - 4}" y="${px(y.at(mark.y) - 4)}"
text-anchor="end">${mark.text}</text>`
      : html`<line class="mark" x1="${px(x.at(mark.x))}" x2="${px(x.at(mark.x))}" y1="${top}"
y2="${bottom}"/>
<text class="word" x="${px(x.at(mark.x) + 4)}" y="${top + 10}">${mark.text}</text>`,
  );
  const lines = chart.lines.map(
    ({ name, className, points }) =>
      html`<polyline class="line ${className}"
points="${path(points, x, y)}"><title>${name}</title></polyline>`,
  );
  return html`<figure><figcaption>${chart.title}</figcaption>
<svg viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${chart.title}">
${xAxis}${yAxis}${marks}${lines}
<text class="axis" x="${(left + right) / 2}" y="${CHART.height - 6}"
text-anchor="middle">${chart.xTitle}</text>
<text class="axis" transform="translate(12 ${(top + bottom) / 2}) rotate(-90)"
text-anchor="middle">${chart.yTitle}</text>
</svg></figure>`;
}

/** A tenth of a pixel is enough. */
export const px = (value: number): number => Math.round(value * 10) / 10;

function path(points: LineChart['lines'][number]['points'], x: Scale, y: Scale): string {
  let last = '';
  const parts: string[] = [];
  for (const [a, b] of points) {
    const part = `${px(x.at(a))},${px(y.at(b))}`;
    if (part !== last) parts.push(part);
    last = part;
  }
  return parts.join(' ');
}
