import type { Section } from '../comparison.js';
import { contenderClass } from './contender-class.js';
import { figure } from './figures.js';
import { type Html, html } from './html.js';
import { px } from './line-chart.js';
import { logScale } from './scale.js';

const WIDTH = 1060;
const LEFT = 190;
const RIGHT = 250;
const ROW = 22;
const TOP = 26;

/** Means with their intervals, the best on top, between the oracle's bound and what fixed does. */
export function forest(
  section: Section,
  key: string,
  title: string,
  changes: ReadonlyMap<string, string>,
): Html {
  const rows = [...section.rows].sort((a, b) => a.figures[key]!.mean - b.figures[key]!.mean);
  const fixed = section.rows[0]!.figures[key]!;
  const highest = Math.max(...rows.map((row) => row.figures[key]!.high));
  const x = logScale(1, Math.max(1.2, highest * 1.02), LEFT, WIDTH - RIGHT);
  const bottom = TOP + ROW * (rows.length + 1);
  const grid = x.ticks.map(
    (tick) => html`<line class="grid" x1="${px(x.at(tick))}" x2="${px(x.at(tick))}" y1="${TOP - 6}"
y2="${bottom}"/>
<text x="${px(x.at(tick))}" y="${bottom + 16}" text-anchor="middle">${figure(tick)}</text>`,
  );
  const lines = rows.map((row, i) => {
    const y = TOP + ROW * (i + 1.5);
    const { mean, low, high } = row.figures[key]!;
    return html`<g class="row ${contenderClass(row.name)}">
<text class="name" x="${LEFT - 12}" y="${y + 4}" text-anchor="end">${row.name}</text>
<line class="whisker" x1="${px(x.at(low))}" x2="${px(x.at(high))}" y1="${y}" y2="${y}"/>
<circle cx="${px(x.at(mean))}" cy="${y}" r="4.5"/>
<text x="${WIDTH - RIGHT + 14}" y="${y + 4}">${figure(mean)}</text>
<text class="change" x="${WIDTH - RIGHT + 60}" y="${y + 4}">${changes.get(row.name) ?? ''}</text>
</g>`;
  });
  const oracle = TOP + ROW * 0.5;
  return html`<figure class="wide"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${bottom + 24}" role="img" aria-label="${title}">
${grid}
<line class="mark" x1="${px(x.at(fixed.mean))}" x2="${px(x.at(fixed.mean))}" y1="${TOP - 6}"
y2="${bottom}"/>
<text class="word" x="${px(x.at(fixed.mean))}" y="${TOP - 10}" text-anchor="middle">fixed</text>
<g class="row oracle"><text class="name" x="${LEFT - 12}" y="${oracle + 4}"
text-anchor="end">oracle (bound)</text>
<circle cx="${px(x.at(1))}" cy="${oracle}" r="4.5"/><text x="${WIDTH - RIGHT + 14}"
y="${oracle + 4}">1</text></g>
${lines}
</svg></figure>`;
}
