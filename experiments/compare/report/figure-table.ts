import type { Comparison, Row, Section } from '../comparison.js';
import { contenderClass } from './contender-class.js';
import { changeText, figure, percentage, valueText } from './figures.js';
import { type Html, html } from './html.js';
import { ranking, rate } from './verdict.js';

/** Rows of a table: contenders by rank, then fixed against fixed. */
const ordered = (section: Section): Row[] => [
  ...ranking(section),
  ...section.rows.filter(({ isNoise }) => isNoise),
];

const rowClass = ({ name, isNoise }: Row): string =>
  `${contenderClass(name)}${name === 'fixed' ? ' fixed' : isNoise ? ' noise' : ''}`;

/** Figures by contender: mean, and the change against fixed with its interval below. */
export function figureTable(
  section: Section,
  metrics: Comparison['metrics'],
  keys: readonly string[],
): Html {
  const columns = keys.map((key) => metrics.find((metric) => metric.key === key)!);
  const rows = ordered(section).map((row) => {
    const cells = columns.map((metric) => {
      const value = valueText(row.figures[metric.key]!.mean, metric);
      const change = row.paired?.[metric.key];
      if (change === undefined) return html`<td>${value}</td>`;
      const { mean, low, high } = change.difference;
      const note = mean === 0 && low === 0 && high === 0 ? 'as fixed' : changeText(change, metric);
      return html`<td class="${rate(row, metric)}">${value}<small>${note}</small></td>`;
    });
    return html`<tr class="${rowClass(row)}"><td>${row.name}</td>${cells}</tr>
`;
  });
  const titles = columns.map(
    ({ title, unit }) => html`<th>${title}${unit === 'core-s' ? ', core-s' : ''}</th>`,
  );
  return html`<div class="scroll"><table><thead><tr><th></th>${titles}</tr></thead><tbody>
${rows}</tbody></table></div>`;
}

/** The functions that are slower under each contender. */
export function slowedFunctionsTable(section: Section): Html {
  const rows = ordered(section)
    .filter(({ name, victims }) => name !== 'fixed' && victims.judged > 0)
    .map((row) => {
      const { judged, slowedDown, spedUp, worst } = row.victims;
      const named = worst
        .filter(({ ratio }) => ratio > 1)
        .slice(0, 3)
        .map(
          ({ name, fixed, slowdown, activations }) =>
            `${name} ${figure(fixed)} → ${figure(slowdown)} (${figure(activations)} activations)`,
        );
      return html`<tr class="${rowClass(row)}"><td>${row.name}</td>
<td>${spedUp}</td><td>${slowedDown}</td><td>${judged}</td>
<td>${worst[0] === undefined ? '–' : percentage(worst[0].ratio - 1)}</td>
<td style="text-align:left;white-space:normal">${named.join('; ')}</td></tr>
`;
    });
  return html`<div class="scroll"><table><thead><tr><th></th>
<th>faster by > 1/5</th><th>slower by > 1/4</th><th>functions judged</th><th>worst change</th>
<th style="text-align:left">slowed most: mean slowdown under fixed → here</th></tr></thead><tbody>
${rows}</tbody></table></div>`;
}
