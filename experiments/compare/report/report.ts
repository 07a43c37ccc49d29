import { MIN_SEEDS } from '../../statistics.js';
import type { Comparison, Row, Section } from '../comparison.js';
import { aboutOf } from './about.js';
import { figureTable, slowedFunctionsTable } from './figure-table.js';
import { changeText, figure, valueText } from './figures.js';
import { forest } from './forest.js';
import { Html, html } from './html.js';
import { dataLines } from './run-table.js';
import {
  densityChart,
  legend,
  levelChart,
  objectiveChart,
  poolCharts,
  slowdownChart,
} from './section-charts.js';
import { PAGE_SCRIPT, pageStyle } from './style.js';
import { againstFixed, challengers, fewSeedsWarning, RANKED_BY, verdict } from './verdict.js';

/** The whole comparison as one page that loads nothing from anywhere. */
export function comparisonReport(comparison: Comparison): string {
  const { sections } = comparison;
  const loads = sections.filter(({ kind }) => kind === 'load');
  const density = sections.filter(({ kind }) => kind === 'density');
  const names = new Map(sections.flatMap(({ rows }) => rows).map((row) => [row.name, row]));
  const tabs = [
    { id: 'overview', title: 'Overview', body: overview(comparison, loads) },
    ...loads.map((section) => ({
      id: slug(section.setting.name),
      title: section.setting.name,
      body: sectionBody(section, comparison),
    })),
    ...(density.length > 0
      ? [{ id: 'density', title: 'Density', body: densityBody(density, comparison) }]
      : []),
    { id: 'how', title: 'How it was measured', body: howBody(comparison) },
  ];
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gleaner: managers compared</title>
<style>${new Html(pageStyle([...names.values()]))}</style></head>
<body><main>
<h1>Managers compared</h1>
<p class="soft">Gleaner ${comparison.gleaner}, ${comparison.seeds.length} seeds, simulated cluster.
Made by <code>${comparison.command}</code></p>
<nav>${tabs.map(({ id, title }) => html`<a href="#${id}">${title}</a>`)}</nav>
<div class="tabs">
${tabs.map(
  ({ id, title, body }) => html`<section id="${id}"><h2>${title}</h2>${body}</section>
`,
)}</div></main>
<script>${new Html(PAGE_SCRIPT)}</script></body></html>
`;
  return page.text;
}

const slug = (text: string): string => text.toLowerCase().replace(/[^a-z0-9.]+/g, '-');

function overview(comparison: Comparison, loads: readonly Section[]): Html {
  const rows = loads.map((section) => {
    const fixed = section.rows[0]!;
    const contenders = challengers(section);
    return html`<tr><td><a href="#${slug(section.setting.name)}">${section.setting.name}</a></td>
<td>${figure(section.offeredLoad)}</td><td>${figure(fixed.figures[RANKED_BY]!.mean)}</td>
${bestCells(contenders)}</tr>
`;
  });
  const fewSeeds = fewSeedsWarning(comparison.seeds.length);
  const ahead = loads.flatMap(({ setting, beatOracle }) =>
    beatOracle.map((name) => `${name} in ${setting.name}`),
  );
  return html`<p>Slowdown is the duration of an activation over its duration alone at its true
demand. The oracle has 1 everywhere, the lower bound. The slowdown of waiting and running measures
what sharing a host costs, and contenders are ranked by it. The slowdown of the response includes
cold starts too, which hide everything else for functions of a millisecond.</p>
${fewSeeds === null ? null : html`<p class="verdict alarm">${fewSeeds}</p>`}
${
  ahead.length === 0
    ? null
    : html`<p class="verdict alarm">Faster than the oracle, which is a fault of the
model: ${ahead.join(', ')}.</p>`
}
<div class="scroll"><table><thead><tr><th>setting</th><th>offered load</th><th>fixed</th>
<th style="text-align:left">best contender</th><th>its mean slowdown</th>
<th>against fixed (95 %)</th>
<th>functions slower by > 1/4</th></tr></thead><tbody>
${rows}</tbody></table></div>
${loads.map(
  (section) => html`<h3>${section.setting.name}</h3>
<div class="verdict">${paragraphs(verdict(section, comparison.metrics))}</div>`,
)}`;
}

const paragraphs = (sentences: readonly string[]): Html[] =>
  sentences.map((sentence) => html`<p>${sentence}</p>`);

/** The best contender beside `fixed`, also where it is slower. */
function bestCells(contenders: readonly Row[]): Html {
  const [best] = contenders;
  if (best === undefined)
    return html`<td style="text-align:left">–</td><td>–</td><td>–</td><td>–</td>`;
  const { slowedDown, judged } = best.victims;
  const change = changeText(best.paired![RANKED_BY]!, { unit: '' });
  const rating = againstFixed(contenders).get(best)!;
  return html`<td style="text-align:left">${best.name}</td>
<td>${figure(best.figures[RANKED_BY]!.mean)}</td><td class="${rating}">${change}</td>
<td>${`${slowedDown} of ${judged}`}</td>`;
}

const WEIGHT_MODE_NOTE =
  'In weight mode there are no quotas and so no range to choose CPU from: ' +
  'the in-range baselines are in the sections of quota mode.';
const FOREST_TITLE =
  'Mean slowdown of waiting and running, 95 % intervals over seeds; ' +
  'at the right the change against fixed, paired by seed';
const FIGURES = [
  'service.mean',
  'service.p99',
  'service.slow',
  'rfet.mean',
  'response.mean',
  'response.p50',
  'response.p99',
  'slowdown.p50',
  'slowdown.mean',
  'cold.share',
  'wait.mean',
  'slo.missed',
  'oom.kills',
  'failed.share',
  'utilization',
];
/** Harvested and accelerated never without what it saved and which functions were slower. */
const HARVEST = [
  'harvested.share',
  'accelerated.share',
  'harvested.coreSeconds',
  'borrowed.coreSeconds',
  'demand.coreSeconds',
  'accelerated.coreSeconds',
  'saved.seconds',
  'worst.slowdown',
  'trips',
  'revoked',
];

function sectionBody(section: Section, { metrics, slowdownEdges }: Comparison): Html {
  const { setting, rows } = section;
  const changes = new Map(
    rows.map((row) => [
      row.name,
      row.paired === undefined ? 'baseline' : changeText(row.paired[RANKED_BY]!, { unit: '' }),
    ]),
  );
  const pools = poolCharts(section);
  return html`<p class="soft">${settingText(section)}</p>
<div class="verdict">${paragraphs(verdict(section, metrics))}</div>
${forest(section, RANKED_BY, FOREST_TITLE, changes)}
${legend(section)}
<div class="charts">${slowdownChart(section, slowdownEdges, 'service')}
${slowdownChart(section, slowdownEdges, 'response')}
${objectiveChart(section)}
${levelChart(section, 'utilization', 'Utilization', 'cores busy')}
${levelChart(section, 'running', 'Running', 'activations')}
${levelChart(section, 'waiting', 'Waiting for memory', 'activations')}</div>
<h3>Figures</h3>
<p class="soft">Green and red: the interval of the paired difference excludes zero. Oracle: mean
response ${valueText(section.oracleMs.mean, { unit: 'ms' })}.
${setting.mode === 'weight' ? WEIGHT_MODE_NOTE : ''}</p>
${figureTable(section, metrics, FIGURES)}
<h3>Harvested, lent, and the effect</h3>
${figureTable(section, metrics, HARVEST)}
${
  pools.length === 0
    ? null
    : html`<p class="legend">${POOL_LEGEND}</p>
<div class="charts small">${pools}</div>`
}
<h3>Slowed functions</h3>
<p class="soft">Functions with at least 20 successful activations under both, seeds together: mean
slowdown of waiting and running against fixed. The rows of fixed against fixed show the noise.</p>
${slowedFunctionsTable(section)}`;
}

const POOL_LEGEND = ['demand', 'borrowed', 'harvested'].map(
  (name) => html`<span class="${name}"><i></i>${name}</span>`,
);

function settingText({
  setting,
  offeredLoad,
  functions,
  activations,
  spanMs,
  scaling,
  data,
}: Section): string {
  const { hosts, cores, userMemoryMiB } = setting;
  return [
    `${figure(functions)} functions, ${figure(activations)} activations in`,
    `${figure(spanMs / 60_000)} minutes on ${hosts === 1 ? 'one host' : `${hosts} hosts`} of`,
    `${cores} cores and ${figure(userMemoryMiB / 1024)} GiB of user memory.`,
    `Offered load as drawn: ${figure(offeredLoad)}${scaling && `; requested: ${scaling}`}.`,
    ...(data.length === 0 ? [] : [`Anomalies of the trace: ${dataLines(data).join('; ')}.`]),
  ].join(' ');
}

const DENSITY = ['cold.share', 'response.mean', 'response.p50', 'slowdown.p50'];
const DENSITY_TABLE = [
  'cold.share',
  'response.mean',
  'response.p99',
  'response.p50',
  'slowdown.p50',
  'wait.mean',
  'oom.kills',
  'failed.share',
];

function densityBody(sections: readonly Section[], { metrics }: Comparison): Html {
  const first = sections[0]!;
  const charts = DENSITY.map((key) =>
    densityChart(sections, metrics.find((metric) => metric.key === key)!),
  );
  return html`<p>The number of warm containers that fit determines how many activations start
cold. OpenWhisk admits by nominal memory, and users keep the defaults: here each function has 256
MiB, or 512 and more if it could not run in less. <code>right-size</code> sets it from history.</p>
<p class="soft">${settingText(first)} User memory per host as on the axis.</p>
${legend(first)}
<div class="charts">${charts}</div>
${sections.map(
  (
    section,
  ) => html`<h3>${figure(section.setting.userMemoryMiB / 1024)} GiB of user memory per host</h3>
${figureTable(section, metrics, DENSITY_TABLE)}`,
)}`;
}

function howBody({ seeds, sections }: Comparison): Html {
  const names = [...new Set(sections.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const known = names.filter((name) => aboutOf(name) !== undefined);
  return html`<p>Each contender has the same arrivals with the same demand (seeds
${seeds.join(', ')}). Decisions have separate random streams, so no contender changes another's run.
Means are over seeds, intervals are Student's for 95 %, which assumes that seeds differ as normal
values do. Changes are paired by seed: a ratio is the geometric mean of those of the seeds, with the
interval of their logarithms.</p>
<p>Figures in tables are colored one by one: of twenty without an effect one is colored. Verdicts
correct for that: which contenders are faster or slower than fixed is claimed for all of a setting
together, with 95 % (Holm). A contender is not told apart from the winner unless a difference as
large has a probability of less than 5 % divided by the number of the others (Bonferroni): so the
best one is the winner, or among these, with 95 %. Fewer than ${MIN_SEEDS} seeds tell nothing
apart.</p>
<p>"fixed, other placement" and "fixed, other arrivals" are further runs of fixed with other draws,
paired as if they were contenders: a change no larger than theirs may be noise. Offered load is CPU
work over all cores and the span of the arrivals; cold starts are extra. Azure's traces have no CPU
demand: it is assumed by class and drawn by seed (docs/workloads.md). Everything here is
simulated.</p>
<div class="scroll"><table><tbody>${known.map(
    (name) => html`<tr><td>${name}</td>
<td style="text-align:left;white-space:normal">${aboutOf(name)!}</td></tr>`,
  )}</tbody></table></div>
<p class="soft">The figures of every run are in runs.csv, all of this page in comparison.json.</p>`;
}
