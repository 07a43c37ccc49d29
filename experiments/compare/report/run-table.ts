import { left, plainText, table } from '../../../runtime/index.js';
import type { RunSummary, Statistics } from '../../../simulator/engine/index.js';
import { limitingResource } from '../../../simulator/engine/index.js';
import type {
  DataIssue,
  ImportSummary,
  LoadedWorkload,
} from '../../../simulator/workload/index.js';
import { dataIssues, describeScaling } from '../../../simulator/workload/index.js';
import { figure, percentage } from './figures.js';

/** One run for people: workload, results, failures. `policy`: name of the trained one. */
export function runTable(run: RunSummary, loaded: LoadedWorkload, policy?: string): string {
  const { harvest, outcomes, starts, worst, slo } = run;
  const failed = run.activations - outcomes.success;
  const policies = run.safeguard
    ? `policies ${run.quotaPolicy} and ${run.weightPolicy}`
    : 'no hook';
  const played = policy === undefined ? run.manager : `policy ${policy}, ${run.manager}`;
  const slowest =
    worst === null
      ? ''
      : `; worst function ${plainText(worst.name)}: mean slowdown ${figure(worst.slowdown)} ` +
        `in ${figure(worst.activations)} activations`;
  const lines = [
    ...workloadLines(loaded),
    `${played} in ${run.mode} mode, ${policies}, seed ${run.seed}`,
    `${figure(run.activations)} activations of ${figure(run.functions)} functions in ` +
      `${figure(run.spanMs / 60_000)} minutes on ${run.hosts} hosts of ${run.cores} cores and ` +
      `${run.userMemoryMiB} MiB of user memory; offered load ${figure(run.offeredLoad)}, cores ` +
      `busy ${percentage(run.utilization)}`,
    '',
    ...limitLines(run),
    statisticsTable(run),
    `starts     cold ${percentage(run.coldShare)}, prewarmed ${figure(starts.prewarmed)}; waited ` +
      `for memory ${figure(run.waited)}, mean ${figure(run.waitMeanMs)} ms; ` +
      `slower than 1.2 x alone ${percentage(run.slowShare)}`,
    `failures   ${figure(failed)}: timeout ${outcomes.timeout}, out of memory ` +
      `${outcomes.outOfMemory}, lost ${outcomes.lost}, rejected ${outcomes.rejected}`,
    `harvested  ${figure(harvest.harvestedCoreSeconds)} core-s ` +
      `(${percentage(harvest.harvestedShare)} of activations); demand ` +
      `${figure(harvest.demandCoreSeconds)}, borrowed ${figure(harvest.borrowedCoreSeconds)}, ` +
      `used ${figure(harvest.acceleratedCoreSeconds)}; saved ${figure(harvest.savedSeconds)} ` +
      `s (estimate); restored mid-run ${figure(harvest.trips)}`,
    `objectives ${slo.missed} of ${slo.functions} functions above theirs${slowest}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** What a reader must know first: the run measures memory, or an overloaded host. */
function limitLines(run: RunSummary): string[] {
  const resource = limitingResource(run);
  if (resource === 'none') return [];
  const share = percentage(run.waited / Math.max(1, run.activations));
  return resource === 'memory'
    ? [
        `LIMITED BY MEMORY: ${share} of activations waited for memory (mean ` +
          `${figure(run.waitMeanMs)} ms) while cores were ${percentage(run.utilization)} busy.`,
        '  These figures say little about CPU. Raise --user-memory and --memory, or --hosts; or ' +
          'lower --load.',
        '',
      ]
    : [
        `LIMITED BY CPU: cores were ${percentage(run.utilization)} busy; ${share} of activations ` +
          `waited for room.`,
        '  Waiting is what these figures show. Lower --load, or raise --cores or --hosts, for a ' +
          'host with CPU to spare.',
        '',
      ];
}

function statisticsTable(run: RunSummary): string {
  const rows: [string, Statistics][] = [
    ['slowdown (response / alone at true demand)', run.slowdown],
    ['execution / alone at user limits', run.rfet],
    ['response, ms', run.responseMs],
  ];
  const column = (title: keyof Statistics) => ({
    title,
    right: true,
    value: ([, statistics]: [string, Statistics]) => figure(statistics[title]),
  });
  return table(rows, [
    left('', ([name]) => name),
    column('mean'),
    column('p50'),
    column('p90'),
    column('p99'),
    column('max'),
  ]);
}

/** What the importer did with the trace, if there was one, and what the load was made of. */
function workloadLines({ workload, summary, scaling }: LoadedWorkload): string[] {
  return [
    `workload ` +
      `${plainText(workload.name)}${scaling === undefined ? '' : `: ${describeScaling(scaling)}`}`,
    ...(summary === undefined
      ? []
      : [`trace: ${importText(summary)}`, ...dataLines(dataIssues(summary))]),
  ];
}

/** A line for each kind of odd data: how many, what was done, where the first is. */
export function dataLines(issues: readonly DataIssue[]): string[] {
  return issues.map(({ count, rule, first }) =>
    plainText(`data: ${figure(count)} ${rule} (first: ${first})`),
  );
}

/** Counts of an import, those above zero; the rules are in docs/workloads.md. */
function importText(summary: ImportSummary): string {
  const counts = Object.entries(summary).flatMap(([key, value]) =>
    typeof value === 'number' && value > 0 ? [[key, value] as const] : [],
  );
  return counts.map(([key, value]) => `${words(key)} ${figure(value)}`).join(', ');
}

const words = (key: string): string =>
  key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
