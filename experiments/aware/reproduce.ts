import { decidedMisses, goalLines, ratioText } from '../reproduction.js';
import { clampInterval, type Interval, isBelow, mean } from '../statistics.js';
import { type AdaptationRow, moreThan, timesOf } from './adaptation.js';
import type { BootstrapRow } from './bootstrap-runs.js';
import type { AwareStudy } from './study.js';
import type { AwareStudyRequest } from './study-request.js';

const number = ({ mean, low, high }: Interval, digits = 0): string =>
  `${mean.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
const percent = ({ mean, low, high }: Interval): string =>
  `${(100 * mean).toFixed(1)} % (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`;

/** Of steps above the SLO. */
const missedOf = (share: Interval): string => percent(clampInterval(share, 0, 1));

const rowOf = (rows: readonly AdaptationRow[], name: string): AdaptationRow =>
  rows.find(({ contender }) => contender === name)!;
const bootOf = (rows: readonly BootstrapRow[], name: string): BootstrapRow =>
  rows.find(({ contender }) => contender === name)!;

/** a / b, or the difference if b is too near zero to divide by. */
function times(a: number, b: number, unit = 'x'): string {
  return b < 0.005 || a < 0
    ? `${(a - b).toFixed(3)} apart (too near zero to divide)`
    : `${(a / b).toFixed(2)}${unit}`;
}

const factor = (
  slow: AdaptationRow,
  fast: AdaptationRow,
  figure: 'episodes' | 'ownEpisodes' = 'episodes',
): string => ratioText(timesOf(slow, fast, figure), 2);

/** Missed goals: a sentence each. */
export function awareMissed({
  triplets,
  survey,
  embedding,
  adaptation,
  serving,
  bootstrap,
}: AwareStudy): readonly string[] {
  const [tl, plus, generalist, online, aware, rule] = [
    'tl',
    'tl-plus',
    'generalist',
    'aware-online',
    'aware',
    'hpa-vpa',
  ].map((name) => rowOf(adaptation, name));
  const [shipped, tuned] = ['aware', 'hpa-vpa'].map(
    (name) => survey.find(({ contender }) => contender === name)!.figures,
  );
  const [scratch, guided, full, clone] = ['scratch', 'bootstrap', 'aware', 'clone'].map((name) =>
    bootOf(bootstrap, name),
  );
  const asked: [boolean, string][] = [
    [triplets.share >= 0.95, `triplets: ${(100 * triplets.share).toFixed(1)} % of 95 %`],
    [isBelow(0, moreThan(tl!, aware!, 'episodes')), 'aware adapts not clearly faster than TL'],
    [isBelow(0, moreThan(plus!, aware!, 'episodes')), 'aware adapts not clearly faster than TL+'],
    [
      isBelow(0, moreThan(generalist!, online!, 'episodes')),
      'with an embedding agents adapt not clearly faster than without',
    ],
    [
      isBelow(0, embedding.earned.difference),
      'with an embedding the base-learner earns not clearly more than without',
    ],
    [isBelow(0, moreThan(tl!, aware!, 'missed')), 'aware misses the SLO not clearly less than TL'],
    [
      aware!.missed.mean <= rule!.missed.mean,
      `aware misses the SLO in ${missedOf(aware!.missed)} of the steps while adapting, the ` +
        `tuned HPA+VPA in ${missedOf(rule!.missed)}`,
    ],
    [
      shipped!.missed.mean <= tuned!.missed.mean,
      `on all applications aware misses the SLO in ${missedOf(shipped!.missed)} of the steps, ` +
        `the tuned HPA+VPA in ${missedOf(tuned!.missed)}`,
    ],
    [isBelow(0, serving.earned), 'retraining earns not clearly more than serving on'],
    [
      serving.missed.mean < serving.missedWithout.mean,
      'retraining misses the SLO no less than serving on',
    ],
    [
      guided!.missed.mean < scratch!.missed.mean,
      'bootstrapping misses the SLO no less than learning from nothing',
    ],
    [full!.earned.mean >= clone!.earned.mean, 'aware earns less than behavior cloning alone'],
    [
      full!.earned.mean >= bootOf(bootstrap, 'hpa-vpa').earned.mean,
      'aware earns less than the tuned HPA+VPA over all episodes',
    ],
  ];
  const missed = asked.filter(([ok]) => !ok).map(([, text]) => text);
  return decidedMisses(missed, aware!.episodes.n);
}

/** [AWARE]'s figures and those of the study. */
function publishedSection(
  { triplets, adaptation, scenarios, serving, bootstrap }: AwareStudy,
  request: AwareStudyRequest,
): string[] {
  const tl = rowOf(adaptation, 'tl');
  const plus = rowOf(adaptation, 'tl-plus');
  const online = rowOf(adaptation, 'aware-online');
  const aware = rowOf(adaptation, 'aware');
  const scratch = bootOf(bootstrap, 'scratch');
  const guided = bootOf(bootstrap, 'bootstrap');
  const swap = scenarios.filter(({ scenario }) => !scenario.startsWith('load'));
  return [
    '## Ours beside published',
    '',
    '| what | published | here |',
    '|---|---|---|',
    '| adaptation, faster than TL: aware; aware-online | 5.5x | ' +
      `${factor(tl, aware)} (${number(tl.episodes)} against ${number(aware.episodes)} ` +
      `episodes); ${factor(tl, online)} (${number(online.episodes)}) |`,
    '| adaptation, faster than TL+: aware; aware-online | 4.6x | ' +
      `${factor(plus, aware)} (${number(plus.episodes)} episodes); ${factor(plus, online)} |`,
    ...[tl, plus].map(
      (row) =>
        `| to what each earns itself in the end, faster than ${row.contender}: aware; ` +
        `aware-online | | ${factor(row, aware, 'ownEpisodes')} (${number(row.ownEpisodes)} ` +
        `against ${number(aware.ownEpisodes)} episodes); ` +
        `${factor(row, online, 'ownEpisodes')} (${number(online.ownEpisodes)}) |`,
    ),
    '| SLO violations while adapting, fewer than TL+: aware; aware-online | 7.1x | ' +
      `${times(plus.missed.mean, aware.missed.mean)} (${missedOf(plus.missed)} against ` +
      `${missedOf(aware.missed)} of the steps); ${times(plus.missed.mean, online.missed.mean)} ` +
      `(${missedOf(online.missed)}) |`,
    '| CPU utilization deficit of TL+ | 4.6x | ' +
      `${times(plus.cpuDeficit.mean, online.cpuDeficit.mean)} (${percent(plus.cpuDeficit)} ` +
      `against ${percent(online.cpuDeficit)}) |`,
    '| memory utilization deficit of TL+ | 6.2x | ' +
      `${times(plus.memoryDeficit.mean, online.memoryDeficit.mean)} ` +
      `(${percent(plus.memoryDeficit)} against ${percent(online.memoryDeficit)}) |`,
    '| CPU cycles of retraining saved | 68-72 % | ' +
      `${(100 * (1 - online.updates.mean / tl.updates.mean)).toFixed(0)} % of TL's ` +
      `updates, ${(100 * (1 - online.updates.mean / plus.updates.mean)).toFixed(0)} % of ` +
      "TL+'s |",
    `| reward lost when the workload is swapped, TL | 45.6 % | ${percent(tl.drop)} |`,
    '| reward lost when payloads change | 12.8-19.9 % | ' +
      `${(100 * mean(swap.map(({ drop }) => drop.mean))).toFixed(1)} % |`,
    ...scenarios
      .filter(({ scenario }) => scenario.startsWith('load'))
      .map(
        ({ scenario, drop }) =>
          `| reward lost, ${scenario} | ` +
          `${scenario.endsWith('low') ? '19.9 %' : '21.8 %'} | ${percent(drop)} |`,
      ),
    `| episodes to recover from a swap, TL | about 230 | ${number(tl.episodes)}, ` +
      `${tl.reached} of ${tl.pairs} did |`,
    '| serving against no retraining: CPU, memory utilization | +9.6 %, +14.8 % | ' +
      `${percent(serving.cpu)}, ${percent(serving.memory)} |`,
    '| serving against no retraining: SLO violations | 3.1x fewer | ' +
      `${times(serving.missedWithout.mean, serving.missed.mean)} fewer ` +
      `(${missedOf(serving.missedWithout)} against ${missedOf(serving.missed)}) |`,
    `| serving against no retraining: reward | +8.6 % | ${percent(serving.earned)} |`,
    `| serving, reward below converged | 3.6 % | ${percent(serving.belowConverged)} |`,
    '| bootstrapping against none: SLO violations | 16.9x fewer | ' +
      `${times(scratch.missed.mean, guided.missed.mean)} fewer (${missedOf(scratch.missed)} ` +
      `against ${missedOf(guided.missed)}) |`,
    '| bootstrapping against none: CPU, memory utilization, first 100 episodes | +47.5 ' +
      '%, +39.2 % (slides +32.2 %) | ' +
      `${times(1 + guided.hundreds[0]!.cpu.mean, 1 + scratch.hundreds[0]!.cpu.mean)}, ` +
      `${times(1 + guided.hundreds[0]!.memory.mean, 1 + scratch.hundreds[0]!.memory.mean)} ` +
      '|',
    '| embeddings: same workload closer than different | 95 % asked | ' +
      `${(100 * triplets.share).toFixed(1)} % of ${triplets.triplets} triplets, bundles of ` +
      `${request.tripletEpisodes} |`,
    '',
  ];
}

function surveySection({ survey, embedding }: AwareStudy): string[] {
  return [
    '## All held-out applications, without learning',
    '',
    '`aware`: the base-learner as shipped, with the embedding of two episodes of untuned ' +
      'HPA+VPA; it never learns. `zeroed`: the same weights, the embedding set to zeros. ' +
      '`generalist`: a base-learner that was trained without embeddings, in as many updates. ' +
      '`hpa-vpa-slo`: HPA+VPA tuned to the SLO itself. `fixed`: user limits. ' +
      '`constant`: the one allocation that earns most on training applications.',
    '',
    '| contender | reward a step | missed | SLO preservation | CPU utilization | memory ' +
      'utilization |',
    '|---|---|---|---|---|---|',
    ...survey.map(
      ({ contender, figures: { earned, missed: m, preservation, cpu, memory } }) =>
        `| ${contender} | ${number(earned, 3)} | ${missedOf(m)} | ` +
        `${number(preservation, 3)} | ${percent(cpu)} | ${percent(memory)} |`,
    ),
    '',
    '`aware` less `generalist`, application by application (one training each): reward a step ' +
      `${number(embedding.earned.difference, 4)}, p ${embedding.earned.p.toFixed(3)}; missed ` +
      `${number(embedding.missed.difference, 4)}, p ${embedding.missed.p.toFixed(3)}.`,
    '',
  ];
}

function adaptationSection(
  adaptation: readonly AdaptationRow[],
  request: AwareStudyRequest,
): string[] {
  return [
    `## Adaptation: ${adaptation[0]!.pairs} workloads, ${request.adaptationEpisodes} episodes`,
    '',
    `TL and TL+ come from one of ${request.sources.length} converged agents: workloads with the ` +
      'same one are a group in the intervals, not independent of each other. ' +
      '`aware-online`: meta-learner and base-learner, acting and learning from the first ' +
      'step, as TL does; `generalist`: the base-learner that was trained without embeddings, ' +
      'likewise; `aware`: the whole life',
    'cycle, ten episodes of watching the fallback included. Converged: within 2.6 % of ' +
      'what the best learner earned in its last 20 episodes, in the mean of ten in a row: at ' +
      `least 10 episodes, and ${request.adaptationEpisodes} for those that never did. ` +
      'The level is mostly set by pretrained contenders, so this says who reaches what they ' +
      'earn; *own*: until 97.4 % of what the contender itself earned in its last 20. Factors are ' +
      'geometric means over source agents. ' +
      "*Lost*: share of the source's",
    '(others: the converged) reward lost in the first ten episodes. Deficits: below the ' +
      "converged agent's utilization, first 100 episodes. *Late*: last 20 episodes, as a " +
      "share of the best's. All of them see and are rewarded by 80 % of the SLO.",
    '',
    '| contender | episodes to converge | did | own | lost | missed | by source, % | ' +
      'CPU deficit | memory deficit | updates | late |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...adaptation.map(
      (row) =>
        `| ${row.contender} | ${number(row.episodes)} | ${row.reached} of ${row.pairs} | ` +
        `${number(row.ownEpisodes)} | ${percent(row.drop)} | ${missedOf(row.missed)} | ` +
        `${row.missedBySource.map((share) => (100 * share).toFixed(1)).join(', ')} | ` +
        `${percent(row.cpuDeficit)} | ${percent(row.memoryDeficit)} | ` +
        `${number(row.updates)} | ${number(row.late, 3)} |`,
    ),
    '',
  ];
}

function changesSection(scenarios: AwareStudy['scenarios'], request: AwareStudyRequest): string[] {
  return [
    '## Changes while serving',
    '',
    `An agent that has learned for ${request.beforeEpisodes} episodes serves, under its ` +
      `life cycle; then the change, and ${request.afterEpisodes} more. *Noticed*: episodes ` +
      'until the detector trips (all, where it never does).',
    '*Recovered*: episodes until the mean of ten is within 2.6 % of the last 20. The SLO ' +
      'follows a change of the payload (it is the knee of the curve).',
    '',
    '| change | runs | lost in the first ten | noticed | recovered | did | published |',
    '|---|---|---|---|---|---|---|',
    ...scenarios.map(
      ({ scenario, runs, drop, noticed, recovered, reached }) =>
        `| ${scenario} | ${runs} | ${percent(drop)} | ${number(noticed)} | ` +
        `${number(recovered)} | ${reached} of ${runs} | ` +
        `${PUBLISHED[scenario] ?? '15.6-19.9 %'} |`,
    ),
    '',
  ];
}

function bootstrapSection(bootstrap: readonly BootstrapRow[]): string[] {
  return [
    `## The first episodes of a new function: ${bootstrap[0]!.pairs} workloads`,
    '',
    'CPU and memory utilization against the tuned HPA+VPA, and missed steps, a hundred ' +
      'episodes at a time. Published, from nothing: CPU -32.3, -42.9, -22.1, -10.0 %; ' +
      'memory -28.8, -30.5, -26.5, -7.8 %; SLO',
    'violations 56.1x, 22.2x, 12.7x, 10.1x those of the rule. `bootstrap`: the life ' +
      'cycle without the meta-learner; `clone`: behavior cloning of ten episodes, and ' +
      'never anything more.',
    '',
    '| contender | episodes | CPU | memory | missed | missed, of HPA+VPA | reward |',
    '|---|---|---|---|---|---|---|',
    ...bootstrap.flatMap(({ contender, hundreds }) =>
      hundreds.map(
        ({ cpu, memory, missed: m, earned }, hundred) =>
          `| ${contender} | ${100 * hundred + 1}-${100 * (hundred + 1)} | ` +
          `${percent(cpu)} | ${percent(memory)} | ${missedOf(m)} | ` +
          `${times(m.mean, bootOf(bootstrap, 'hpa-vpa').hundreds[hundred]!.missed.mean)} ` +
          `| ${number(earned, 3)} |`,
      ),
    ),
    '',
  ];
}

/** docs/results/aware.md: what came of `command`. */
export function awareReport(
  study: AwareStudy,
  request: AwareStudyRequest,
  command: string,
): string {
  const { adaptation, scenarios, bootstrap, transitions } = study;
  const missed = awareMissed(study);
  return `${[
    '# AWARE, run again',
    '',
    `Written by \`${command}\`; the same figures anywhere. Everything here is a ` +
      '**simulation of one application at a time** (experiments/aware): activations as a fluid, ' +
      'latencies by',
    'a queueing formula, 10 s a step, 50 steps an episode, allocations that stay from ' +
      "episode to episode, the Kubernetes controller's ranges and steps. AWARE's figures " +
      'are of a',
    'cluster, with other demand (theirs is not published) and DDPG or PPO as ' +
      'base-learner; ours is PPO. Ratios can be held side by side, amounts cannot.',
    '',
    'Meta-learner and base-learner as shipped (`gleaner train-meta`; ' +
      'docs/model-card.md), trained on the 800 applications that are not held out, those of the ' +
      'part `validation` among them. ' +
      `${request.heldOut.length} held-out applications, ${request.pairs}`,
    'paired runs (same application, activations and seeds for every contender); means over ' +
      "runs, Student's 95 % intervals. Nothing was tuned on the held-out ones. HPA+VPA is " +
      'tuned',
    'for each application with activations of its own: target of HPA and least CPU of VPA, the ' +
      'best of those that hold 80 % of the SLO, as agents aim at (`hpa-vpa-slo`: the SLO ' +
      'itself). *Missed*: share of steps whose p99 is above the ' +
      'SLO.',
    '',
    '## Goals',
    '',
    ...goalLines(missed, rowOf(adaptation, 'aware').episodes.n),
    '',
    ...publishedSection(study, request),
    ...surveySection(study),
    ...adaptationSection(adaptation, request),
    ...changesSection(scenarios, request),
    ...bootstrapSection(bootstrap),
    '## What the life cycle did',
    '',
    ...Object.entries(transitions).map(([name, count]) => `- ${name}: ${count}`),
    '',
    '## How to read it',
    '',
    '- HPA+VPA here is tuned for each application and moves to its target at once; ' +
      'agents move one step in one dimension in 10 s. AWARE compares with a rule that is ' +
      'tuned once.',
    '- The reward is .7 x SLO preservation + .3 x the mean of both utilizations: an SLO ' +
      'that is missed by a little costs little.',
    '- The workload changes its whole character only where it is swapped.',
  ].join('\n')}\n`;
}

const PUBLISHED: Readonly<Record<string, string>> = {
  'file-size': '12.8 %, about 70',
  'load high to low': '19.9 %, 98',
  'load low to high': '21.8 %, 107',
};
