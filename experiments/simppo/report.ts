import { type Interval, mean } from '../statistics.js';
import {
  BASELINES,
  type Degradation,
  degradations,
  growthLines,
  lineOf,
  scoresOf,
  seedGroups,
  simppoMissed,
  type Verdict,
  verdictsOf,
} from './figures.js';
import { SCALING_FLOORS } from './floors.js';
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
const LEARNERS = ['simppo', 'price-alone', 'single-agent'] as const;
const ABLATIONS = [
  'simppo',
  'price-alone',
  'g4',
  'no-price',
  'single-agent',
  'idle-price',
] as const;

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
      'steps above SLO | requested / available | reward if use is of the request |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...lines.map(
      ({ contender, seeds, of }) =>
        `| \`${contender}\` | ${seeds} | ${number(of.reward)} | ` +
        `${percent(of.violations)} | ${plain(of.sloPreservation)} | ${plain(of.cpuUse)} ` +
        `| ${plain(of.memoryUse)} | ${plain(of.violatedSteps)} | ${plain(of.occupancy)} | ` +
        `${plain(of.rewardOfRequests)} |`,
    ),
  ];
}

/** `simppo` and its baselines by runs of consecutive seeds. */
function apart(store: PieceStore, { seeds }: StudySize, setting: Setting): string[] {
  const groups = seedGroups(seeds);
  const rows = (['simppo', ...BASELINES] as const).flatMap((name) => {
    const cells = groups.map((group) => {
      const line = lineOf(store, name, setting, { seeds: group });
      if (line === null) return '– | –';
      return `${number(line.of.reward)} | ${percent(line.of.violations)}`;
    });
    return cells.every((cell) => cell === '– | –')
      ? []
      : [`| \`${name}\` | ${cells.join(' | ')} |`];
  });
  if (groups.length < 2 || rows.length === 0) return [];
  const heads = groups.map((group) => {
    const of = `seeds ${group[0]} to ${group.at(-1)}`;
    return `reward, ${of} | violations, ${of}`;
  });
  return [
    `| who | ${heads.join(' | ')} |`,
    `|---|${groups.map(() => '---|---|').join('')}`,
    ...rows,
    '',
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
  const { target, stabilization, constant } = store.tuned(setting);
  return (
    `Tuned on traces of training: \`hpa-vpa\` (target ${100 * target} %, falls wait ` +
    `${stabilization / 1000} s) and \`static\` (${constant.headroom} cores per core of work, ` +
    `${constant.spare} spare containers).`
  );
}

function p99Table(rows: readonly Degradation[]): string[] {
  if (rows.length === 0) return [NOT_RUN];
  return [
    '| who | p99 shared against alone, median of functions | mean | largest | p99 / p99 of ' +
      '`simppo` |',
    '|---|---|---|---|---|',
    ...rows.map(
      ({ contender, median, mean, largest, ratio }) =>
        `| \`${contender}\` | ${percent(median)} | ${percent(mean, 0)} | ` +
        `${percent(largest, 0)} | ${number(ratio, 2)} |`,
    ),
  ];
}

function publishedTable(store: PieceStore, size: StudySize): string[] {
  const rows = degradations(store, size, PUBLISHED);
  const of = (name: string) => rows.find(({ contender }) => contender === name);
  const ours = of('simppo');
  const single = of('single-agent');
  if (!ours || !single) return [NOT_RUN];
  const last = growthLines(store, size).findLast(({ variant }) => variant === 'simppo');
  return [
    '| figure | published [SIMPPO] | measured |',
    '|---|---|---|',
    '| p99 of `simppo`, shared against alone | < 9.2 % | ' +
      `median function ${percent(ours.median)}, mean ${percent(ours.mean, 0)}, ` +
      `worst ${percent(ours.largest, 0)} |`,
    '| p99 of multi-tenant `single-agent` / `simppo` | 2x to 4.4x; abstract 4.5x | ' +
      `${number(single.ratio, 1)} |`,
    '| p99 of `single-agent`, shared against alone | up to 4.8x | ' +
      `${percent(single.mean, 0)} |`,
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
    '| who | functions | seeds | reward drop of the old at once | after retraining | ' +
      'retraining episodes | old agents that retrained | never converged | reward of the ' +
      'new: at once, after | learning reward, quarter by quarter |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...rows.map(
      ({
        variant,
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
        `| \`${variant}\` | ${functions} | ${seeds} | ` +
        `${percent(dropAtOnce)} | ${percent(drop)} | ` +
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
    const tenths = found[0]!.map((_, i) => mean(found.map((curve) => curve[i]!)));
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
  const over = (of: typeof ours, i: number, key: 'reward' | 'violations'): number =>
    mean(of.map(({ score }) => score.functions[i]![key]));
  return [
    '| function | SLO, ms | reward: `simppo`, `hpa-vpa` | violations: `simppo`, `hpa-vpa` |',
    '|---|---|---|---|',
    ...ours[0]!.score.functions.map(
      ({ name, slo }, i) =>
        `| ${name} | ${slo.toFixed(0)} | ${over(ours, i, 'reward').toFixed(2)}, ` +
        `${over(best, i, 'reward').toFixed(2)} | ` +
        `${(100 * over(ours, i, 'violations')).toFixed(0)} %, ` +
        `${(100 * over(best, i, 'violations')).toFixed(0)} % |`,
    ),
  ];
}

/** Share of violations from which a function counts as given up. */
const ALWAYS_VIOLATED = 0.9;

function givenUp(store: PieceStore, size: StudySize): string[] {
  const scores = scoresOf(store, 'simppo', CONTENDED, size);
  if (scores.length === 0) return [];
  const names = scores[0]!.score.functions.flatMap(({ name }, i) =>
    mean(scores.map(({ score }) => score.functions[i]!.violations)) >= ALWAYS_VIOLATED
      ? [name]
      : [],
  );
  const who = names.length === 0 ? 'no function' : names.join(', ');
  return [`Given up by its own agent (violations of ${100 * ALWAYS_VIOLATED} % and more): ${who}.`];
}

/** A setting with goals: contenders, seeds apart, verdict, p99 shared against alone. */
const contested = (store: PieceStore, size: StudySize, setting: Setting): string[] => [
  ...contenders(store, size, setting, [...LEARNERS, ...SCALING_FLOORS]),
  '',
  tuning(store, setting),
  '',
  ...apart(store, size, setting),
  ...verdictTable(verdictsOf(store, size, setting)),
  '',
  ...p99Table(degradations(store, size, setting)),
  '',
];

function missed(store: PieceStore, size: StudySize): string[] {
  const all = simppoMissed(store, size);
  return all.length === 0 ? [] : [`**Not reached with intervals apart**: ${all.join('; ')}.`, ''];
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
    'part `train`; every figure below, but for those of growth, is from its part `test`, and ' +
      'from seeds that were not trained on. An SLO is the p99 at the knee of the ' +
      "function's isolated curve. " +
      'Simulator, model and',
    'assumptions: experiments/autoscaling. Agents: experiments/autoscaling/agent.',
    '',
    `Each agent has its own actor and critic, ${episodes} episodes of ${steps} steps, ` +
      `then serves. Seeds ${seeds.join(', ')}; each is judged on ${judged} held-out ` +
      `episodes, ${counted} steps each after ${WARM_UP} that do not count.`,
    'Everyone starts from the published over-provision (half as many containers again as ' +
      'the load keeps busy, and two, of 1024 millicores). Means over functions and seeds, ' +
      '95 %',
    "Student's intervals over seeds. Reward: .7 SLO preservation + .3 mean use of CPU " +
      'and memory, without penalties and price. Violations: activations slower than the SLO, ' +
      'killed or given up.',
    'Where limits are reserved, requests beyond the capacity are projected onto it, and CPU ' +
      'use is a share of what is granted; the last column counts it as a share of the request.',
    '',
    ...missed(store, size),
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
    ...contested(store, size, CONTENDED),
    "`static` knows each function's mean work of the episode to come, allocates by it once " +
      'and never acts again; `do-nothing` keeps the published start; `kpa` sizes no CPU, so ' +
      'where limits are reserved its containers are admitted only as far as they fit; ' +
      '`price-alone` is charged as `simppo` is and sees nothing of others.',
    '',
    'Function by function:',
    '',
    ...functionTable(store, size),
    '',
    ...givenUp(store, size),
    '',
    `## The same at load ${KERNEL.load} where only running containers compete`,
    '',
    "As under the kernel's scheduler: idle allocations cost other functions nothing, so " +
      'there is no arms race. This is not the published protocol. Agents are trained with ' +
      "this law's own price.",
    '',
    ...contested(store, size, KERNEL),
    `## Load ${PUBLISHED.load}, limits reserved: p99 shared against alone`,
    '',
    ...publishedTable(store, size),
    '',
    'Policies are trained sharing the cores and judged twice on the same episodes: sharing, ' +
      'and with all cores for each function.',
    '',
    ...p99Table(degradations(store, size, PUBLISHED)),
    '',
    ...contenders(store, size, PUBLISHED, [...LEARNERS, ...SCALING_FLOORS]),
    '',
    tuning(store, PUBLISHED),
    '',
    `## What each part contributes (load ${CONTENDED.load})`,
    '',
    'The virtual agent is `mf8` in `simppo`, `g4`, or none in `price-alone`; `no-price`: mf8 ' +
      'without price; `single-agent`: neither; `idle-price`: who leaves idle what it is ' +
      'granted pays, not who requests much.',
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
      'episodes before and after. Retraining episodes are those before the two windows of ' +
      'ten that agree, so an agent that was stable from the start counts 0; one that never ' +
      'converged counts with all episodes that there were. All seeds are judged on the same ' +
      'two episodes, which are of the part `validation`.',
    '',
    ...growthTable(store, size),
  ].join('\n')}\n`;
}
