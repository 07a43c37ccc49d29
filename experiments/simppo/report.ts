import type { Interval } from '../compare/index.js';
import {
  degradations,
  growthLines,
  lineOf,
  scoresOf,
  type Verdict,
  verdictsOf,
} from './figures.js';
import { FLOORS } from './floors.js';
import { type PieceStore, piecesOf, tuneKey } from './pieces.js';
import {
  CONTENDED,
  CORES_PER_FUNCTION,
  KERNEL,
  PUBLISHED,
  type Setting,
  type StudySize,
  WARM_UP,
} from './protocol.js';

const number = ({ mean, low, high }: Interval, digits = 3): string =>
  `${mean.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
const percent = ({ mean, low, high }: Interval, digits = 1): string =>
  `${(100 * mean).toFixed(digits)} % (${(100 * low).toFixed(digits)} to ` +
  `${(100 * high).toFixed(digits)})`;
/** Means alone, where a table would be too wide. */
const plain = ({ mean }: Interval): string => mean.toFixed(2);

const NOT_RUN = 'Not run yet.';
const LEARNERS = ['simppo', 'single-agent'] as const;
const ABLATIONS = ['simppo', 'none', 'g4', 'no-price', 'single-agent', 'idle-price'] as const;

function contenders(
  store: PieceStore,
  size: StudySize,
  setting: Setting,
  names: readonly Parameters<typeof lineOf>[1][],
): string[] {
  const lines = names.flatMap((name) => lineOf(store, name, setting, size) ?? []);
  if (lines.length === 0) return [NOT_RUN];
  return [
    '| who | seeds | reward | SLO violations | SLO preservation | CPU use | memory use | ' +
      'steps above SLO | promised / available |',
    '|---|---|---|---|---|---|---|---|---|',
    ...lines.map(
      ({ contender, seeds, of }) =>
        `| \`${contender}\` | ${seeds} | ${number(of.reward)} | ` +
        `${percent(of.violations)} | ${plain(of.sloPreservation)} | ${plain(of.cpuUse)} ` +
        `| ${plain(of.memoryUse)} | ${plain(of.violatedSteps)} | ${plain(of.occupancy)} |`,
    ),
  ];
}

const yes = (value: boolean): string => (value ? 'yes' : '**no**');

function verdictTable(verdicts: readonly Verdict[]): string[] {
  if (verdicts.length === 0) return [NOT_RUN];
  return [
    '| `simppo` against | more reward, intervals apart | fewer violations, intervals apart |',
    '|---|---|---|',
    ...verdicts.map(
      ({ against, reward, violations }) =>
        `| \`${against}\` | ${yes(reward)} | ${yes(violations)} |`,
    ),
  ];
}

function tuning(store: PieceStore, setting: Setting): string {
  if (!store.has(tuneKey(setting))) return '';
  const { target, stabilization } = store.tuned(setting);
  return (
    `\`hpa-vpa\` was tuned on traces of training: target ${100 * target} %, falls wait ` +
    `${stabilization / 1000} s.`
  );
}

function p99Table(store: PieceStore, size: StudySize): string[] {
  const rows = degradations(store, size);
  if (rows.length === 0) return [NOT_RUN];
  return [
    '| who, sharing | p99 against isolated, mean over functions | largest | p99 / p99 of ' +
      '`simppo` |',
    '|---|---|---|---|',
    ...rows.map(
      ({ contender, mean, largest, ratio }) =>
        `| \`${contender}\` | ${percent(mean, 0)} | ${percent(largest, 0)} | ${number(ratio, 2)} |`,
    ),
  ];
}

function publishedTable(store: PieceStore, size: StudySize): string[] {
  const rows = degradations(store, size);
  const of = (name: string) => rows.find(({ contender }) => contender === name);
  const ours = of('simppo');
  const single = of('single-agent');
  const ensure = of('ensure');
  if (!ours || !single || !ensure) return [NOT_RUN];
  const stages = growthLines(store, size);
  const last = stages.at(-1);
  // A divisor near zero or below gives no meaningful ratio.
  const less =
    ours.mean.low > 0.01
      ? `${(ensure.mean.mean / ours.mean.mean).toFixed(1)}x`
      : `${(100 * (ensure.mean.mean - ours.mean.mean)).toFixed(0)} points (\`simppo\`'s ` +
        'own is too near zero to divide by)';
  return [
    '| figure | published [SIMPPO] | measured |',
    '|---|---|---|',
    '| p99 degradation of `simppo` against isolated agents | < 9.2 % | ' +
      `${percent(ours.mean, 0)}, worst function ${percent(ours.largest, 0)} |`,
    '| p99 of multi-tenant `single-agent` / `simppo` | 2x to 4.4x; abstract 4.5x | ' +
      `${number(single.ratio, 1)} |`,
    '| p99 degradation of `single-agent` against isolated | up to 4.8x | ' +
      `${percent(single.mean, 0)} |`,
    `| degradation less than ENSURE's | 21.4x | ${less} |`,
    ...(last === undefined
      ? [`| reward drop and retraining episodes at 110 functions | 3.0 %, 47.2 | not run yet |`]
      : [
          `| reward drop and retraining episodes at ${last.functions} functions | 3.0 %, ` +
            `47.2 at 110 | ${percent(last.drop)} after retraining ` +
            `(${percent(last.dropAtOnce)} at once), ${number(last.episodes, 1)} |`,
        ]),
  ];
}

function growthTable(store: PieceStore, size: StudySize): string[] {
  const rows = growthLines(store, size);
  if (rows.length === 0) return [NOT_RUN];
  return [
    '| functions | seeds | reward drop of the old at once | after retraining | ' +
      'retraining episodes | old agents that retrained | never converged | reward of the ' +
      'new: at once, after | learning reward, quarter by quarter |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows.map(
      ({
        functions,
        seeds,
        dropAtOnce,
        drop,
        episodes,
        tripped,
        unsettled,
        newAtOnce,
        newAfter,
        curve,
      }) =>
        `| ${functions} | ${seeds} | ${percent(dropAtOnce)} | ${percent(drop)} | ` +
        `${number(episodes, 1)} | ${percent(tripped, 0)} | ${unsettled.mean.toFixed(1)} ` +
        `| ${plain(newAtOnce)}, ${plain(newAfter)} | ` +
        `${curve.map((one) => one.toFixed(2)).join(' ')} |`,
    ),
  ];
}

function curves(store: PieceStore, size: StudySize): string[] {
  const rows = ABLATIONS.flatMap((name) => {
    const found = scoresOf(store, name, CONTENDED, size).map(
      ({ seed }) => store.learner(name, CONTENDED, seed).curve,
    );
    if (found.length === 0) return [];
    const tenths = found[0]!.map(
      (_, i) => found.reduce((sum, curve) => sum + curve[i]!, 0) / found.length,
    );
    return [`| \`${name}\` | ${tenths.map((one) => one.toFixed(2)).join(' | ')} |`];
  });
  if (rows.length === 0) return [NOT_RUN];
  const heads = Array.from({ length: 10 }, (_, i) => `${10 * (i + 1)} %`);
  return [`| who | ${heads.join(' | ')} |`, `|---|${heads.map(() => '---|').join('')}`, ...rows];
}

function functionTable(store: PieceStore, size: StudySize): string[] {
  const ours = scoresOf(store, 'simppo', CONTENDED, size);
  if (ours.length === 0) return [NOT_RUN];
  const best = scoresOf(store, 'hpa-vpa', CONTENDED, size);
  const mean = (of: typeof ours, i: number, key: 'reward' | 'violations'): number =>
    of.reduce((sum, { score }) => sum + score.functions[i]![key], 0) / of.length;
  return [
    '| function | SLO, ms | reward: `simppo`, `hpa-vpa` | violations: `simppo`, `hpa-vpa` |',
    '|---|---|---|---|',
    ...ours[0]!.score.functions.map(
      ({ name, slo }, i) =>
        `| ${name} | ${slo.toFixed(0)} | ${mean(ours, i, 'reward').toFixed(2)}, ` +
        `${mean(best, i, 'reward').toFixed(2)} | ` +
        `${(100 * mean(ours, i, 'violations')).toFixed(0)} %, ` +
        `${(100 * mean(best, i, 'violations')).toFixed(0)} % |`,
    ),
  ];
}

/** Share of violations from which a function counts as given up. */
const ALWAYS_VIOLATED = 0.9;

function givenUp(store: PieceStore, size: StudySize): string[] {
  const scores = scoresOf(store, 'simppo', CONTENDED, size);
  if (scores.length === 0) return [];
  const names = scores[0]!.score.functions.flatMap(({ name }, i) =>
    scores.reduce((sum, { score }) => sum + score.functions[i]!.violations, 0) / scores.length >=
    ALWAYS_VIOLATED
      ? [name]
      : [],
  );
  const who = names.length === 0 ? 'no function' : names.join(', ');
  return [
    `Given up by its own agent (violations of ${100 * ALWAYS_VIOLATED} % and more): ` +
      `${who}. Where needing much is charged by share, a small full container can pay ` +
      'better; means over functions do not show it.',
  ];
}

/**
 * docs/results/simppo-autoscaling.md: what came of `command`. Every figure is read from the pieces.
 */
export function simppoReport(store: PieceStore, size: StudySize, command: string): string {
  const { functions, episodes, steps, judged, judgedSteps, seeds } = size;
  const counted = judgedSteps - WARM_UP;
  const pieces = piecesOf(size);
  const missing = pieces.filter(({ key }) => !store.has(key)).length;
  return `${[
    '# SIMPPO on its own protocol: autoscaling',
    '',
    `Written by \`${command}\`; the same figures anywhere. ${functions} function ` +
      `profiles share ${CORES_PER_FUNCTION * functions} cores; agents set CPU limit, ` +
      'memory limit and number of containers of each',
    "function, one step of one of them every 10 s; no user's limit stands behind them. " +
      'Arrivals follow the Azure sample: agents learn and rules are tuned on the functions ' +
      'of its',
    'part `train`; every figure below is from its part `test`, and from seeds that were ' +
      "not trained on. An SLO is the p99 at the knee of the function's isolated curve. " +
      'Simulator, model and',
    'assumptions: experiments/autoscaling. Agents: experiments/autoscaling/agent.',
    '',
    `Each agent has its own actor and critic, ${episodes} episodes of ${steps} steps, ` +
      `then serves. Seeds ${seeds.join(', ')}; each is judged on ${judged} held-out ` +
      `episodes, ${counted} steps each after ${WARM_UP} that do not count.`,
    'Everyone starts from the published over-provision (half as many containers again as ' +
      'the load keeps busy, and two, of 1024 millicores). Means over functions and seeds, ' +
      '95 %',
    'intervals over seeds (bootstrap). Reward: .7 SLO preservation + .3 mean use of CPU ' +
      'and memory, without penalties and price. Violations: calls slower than the SLO, ' +
      'killed or given up.',
    '',
    ...(missing === 0
      ? []
      : [
          `**${missing} of ${pieces.length} pieces of the study were not run when this ` +
            'was written**; each table says with how many seeds it was made. One seed has ' +
            'no interval.',
          '',
        ]),
    `## Load ${CONTENDED.load}, limits reserved`,
    '',
    ...contenders(store, size, CONTENDED, [...LEARNERS, ...FLOORS]),
    '',
    tuning(store, CONTENDED),
    '',
    ...verdictTable(verdictsOf(store, size)),
    '',
    "`static` knows each function's mean work of the episode to come, divides the cores " +
      'by it once and never acts again; `do-nothing` keeps the published start.',
    '',
    'Function by function:',
    '',
    ...functionTable(store, size),
    '',
    ...givenUp(store, size),
    '',
    `## Load ${PUBLISHED.load}: p99 against isolated agents`,
    '',
    ...publishedTable(store, size),
    '',
    'Isolated agents have all cores for one function and pay no price, so their p99 lies ' +
      'far below the SLO. In company the same policy is charged for what it holds; below ' +
      'the SLO a shorter p99 earns nothing, so it is given up for',
    'less to hold. A degradation against isolation is then no violation: those are in ' +
      'the second table. We take this for the reason where the published 9.2 % is missed; ' +
      'it is not proven.',
    '',
    ...p99Table(store, size),
    '',
    ...contenders(store, size, PUBLISHED, [...LEARNERS, ...FLOORS]),
    '',
    tuning(store, PUBLISHED),
    '',
    `## What each part is worth (load ${CONTENDED.load})`,
    '',
    'The virtual agent is `mf8` in `simppo`, `g4`, or `none`; `no-price`: mf8 without ' +
      'price; `single-agent`: neither; `idle-price`: who leaves idle what it is promised ' +
      'pays, not who holds much.',
    '',
    ...contenders(store, size, CONTENDED, ABLATIONS),
    '',
    'Learning curves: mean reward per step as agents learn from it (it differs between ' +
      'those with a price and those without), by tenths of the training:',
    '',
    ...curves(store, size),
    '',
    `## Functions join (load ${PUBLISHED.load}, two cores come with each)`,
    '',
    "New agents start from the most similar one's weights; others retrain where their " +
      "own detector trips. Drops are of the old functions' raw reward, on the same " +
      'episodes before and after. The test of convergence takes 20 episodes at least.',
    '',
    ...growthTable(store, size),
    '',
    `## The same at load ${KERNEL.load} where only running containers compete`,
    '',
    "As under the kernel's scheduler: idle allocations cost other functions nothing, so " +
      'there is no arms race. This is not the published protocol.',
    '',
    ...contenders(store, size, KERNEL, [...LEARNERS, ...FLOORS]),
    '',
    tuning(store, KERNEL),
  ].join('\n')}\n`;
}
