import { left, right, table } from '../../../runtime/index.js';
import { changeText, figure, percentage } from './figures.js';
import { type ComparisonWithVerdicts, RANKED_BY, ranking } from './verdict.js';

/** The ranking of every section, for the terminal. */
export function comparisonOverview({ sections }: ComparisonWithVerdicts): string {
  return sections
    .map((section) => {
      const rows = [...ranking(section), ...section.rows.filter(({ isNoise }) => isNoise)];
      const body = table(rows, [
        left('contender', ({ name }) => name),
        right('slowdown', ({ figures }) => figure(figures[RANKED_BY]!.mean)),
        right('against fixed (95 %)', ({ paired }) =>
          paired === undefined ? '-' : changeText(paired[RANKED_BY]!, { unit: '' }),
        ),
        right('response ms', ({ figures }) => figure(figures['response.mean']!.mean)),
        right('cold', ({ figures }) => percentage(figures['cold.share']!.mean)),
        right('saved s', ({ figures }) => figure(figures['saved.seconds']!.mean)),
        right('slowed down', ({ victims }) => `${victims.slowedDown}/${victims.judged}`),
      ]);
      const load = `offered load ${figure(section.offeredLoad)}; the oracle has 1`;
      return `${section.setting.name} (${load})\n${body}${section.verdict.join('\n')}\n`;
    })
    .join('\n');
}
