import { left, right, table } from '../../../runtime/index.js';
import { FIXED } from '../contenders.js';
import { changeText, figure, percentage } from './figures.js';
import { type ComparisonWithVerdicts, RANKED_BY, ranking } from './verdict.js';

type Section = ComparisonWithVerdicts['sections'][number];

const FAILED = 'failed.share';
/** Failures above this share of any contender have a column; of `fixed`, a warning. */
const SHOWN_FAILURES = 1e-3;
const MANY_FAILURES = 0.01;
/** Shorter spans, in p99 responses of `fixed`, mostly measure the start and the end of a run. */
const SHORT_SPAN = 3;

/** The ranking of every section, for the terminal. */
export function comparisonOverview({ sections }: ComparisonWithVerdicts): string {
  return sections
    .map((section) => {
      const rows = [...ranking(section), ...section.rows.filter(({ isNoise }) => isNoise)];
      const failing = rows.some(({ figures }) => figures[FAILED]!.mean > SHOWN_FAILURES);
      const body = table(rows, [
        left('contender', ({ name }) => name),
        right('slowdown', ({ figures }) => figure(figures[RANKED_BY]!.mean)),
        right('against fixed (95 %)', ({ paired }) =>
          paired === undefined ? '-' : changeText(paired[RANKED_BY]!, { unit: '' }),
        ),
        right('response ms', ({ figures }) => figure(figures['response.mean']!.mean)),
        ...(failing
          ? [
              right<(typeof rows)[number]>('failed', ({ figures }) =>
                percentage(figures[FAILED]!.mean),
              ),
            ]
          : []),
        right('cold', ({ figures }) => percentage(figures['cold.share']!.mean)),
        right('saved s', ({ figures }) => figure(figures['saved.seconds']!.mean)),
        right('slowed down', ({ victims }) => `${victims.slowedDown}/${victims.judged}`),
      ]);
      const load = `offered load ${figure(section.offeredLoad)}; the oracle has 1`;
      const lines = [
        `${section.setting.name} (${load})`,
        playedText(section),
        ...warnings(section),
      ];
      return `${lines.join('\n')}\n${body}${section.verdict.join('\n')}\n`;
    })
    .join('\n');
}

function playedText({ activations, spanMs, setting, scaling }: Section): string {
  const { hosts, cores } = setting;
  return (
    `${figure(activations)} activations in ${figure(spanMs / 60_000)} minutes on ` +
    `${hosts} x ${cores} cores${scaling && `; ${scaling}`}`
  );
}

function warnings({ rows, spanMs }: Section): string[] {
  const { figures } = rows.find(({ name }) => name === FIXED.name)!;
  const failed = figures[FAILED]!.mean;
  const response = figures['response.p99']!.mean;
  return [
    ...(failed > MANY_FAILURES
      ? [
          `WARNING: ${percentage(failed)} of activations fail under fixed; slowdowns are of the ` +
            'others only',
        ]
      : []),
    ...(spanMs < SHORT_SPAN * response
      ? [
          `WARNING: arrivals span ${figure(spanMs / 1000)} s, the p99 response under fixed is ` +
            `${figure(response / 1000)} s; use more activations, or fewer --hosts and --cores`,
        ]
      : []),
  ];
}
