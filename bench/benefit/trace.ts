import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mean, median, quantile } from '../../experiments/statistics.js';
import { arrivalsOf } from '../../runtime/wiring/index.js';
import {
  type ActivationRecord,
  ensureActionImage,
  InvokerEmulator,
  playWorkload,
} from '../../simulator/invoker-emulator/index.js';
import { azureTen, type Plan, planWorkload, takeMinutes } from '../../simulator/workload/index.js';
import { atLeast, type BenchRow, promise, row, within } from '../report.js';
import { GleanerProcess, type HookStatus } from './gleaner-process.js';

/** One line of the audit log. */
interface AuditLine {
  readonly result: string;
}

/**
 * The shipped ten-function trace on real containers, without Gleaner and with the manager greedy on
 * the same activations. Checks that all end alike, that the tap sees each start and end, and that
 * each limit reads back from the cgroup.
 * @param minutes of the trace's 60 minutes; 0: all
 * @param slowness how much longer activations may take than their time limits, on a slow machine
 */
export async function benchTrace(options: {
  minutes: number;
  log: (line: string) => void;
  slowness?: number;
}): Promise<BenchRow[]> {
  const plan = tracePlan(options.minutes, options.slowness ?? 1);
  const arrivals = arrivalsOf(plan);
  const image = await ensureActionImage();
  options.log(`${plan.count} activations over ${(plan.spanMicros / 1e6).toFixed(0)} s`);

  const play = async (): Promise<ActivationRecord[]> => {
    const invoker = new InvokerEmulator({
      image,
      prefix: 'wskglt0',
      userMemoryMb: plan.workload.host.userMemoryMiB,
    });
    try {
      await invoker.start();
      return await playWorkload(invoker, arrivals);
    } finally {
      await invoker.stop();
    }
  };

  const alone = await play();
  options.log(`without Gleaner: ${outcomes(alone)}`);
  const gleaner = new GleanerProcess({
    hook: { containerPrefix: 'wskglt0' },
    mode: 'enforce',
    agents: { manager: 'greedy' },
    decision: { policy: { quota: 'target' } },
  });
  try {
    await gleaner.start();
    const managed = await play();
    options.log(`with Gleaner: ${outcomes(managed)}`);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { counters } = await gleaner.status();
    const functions = (await gleaner.command('functions')) as Record<
      string,
      number | string | null
    >[];
    const audit = readFileSync(join(gleaner.folder, 'state', 'audit.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const writes = audit.map((line) => JSON.parse(line) as AuditLine);
    return traceRows(plan, alone, managed, counters, functions, writes);
  } finally {
    await gleaner.stop();
  }
}

function outcomes(records: readonly ActivationRecord[]): string {
  const failed = records.filter((record) => !record.ok);
  const kinds = failed.map(
    (record) => `; ${record.action} at ${record.atMs.toFixed(0)} ms: ${record.kind}`,
  );
  return `${records.length - failed.length} of ${records.length} succeeded${kinds.join('')}`;
}

function tracePlan(minutes: number, slowness: number): Plan {
  const shipped = azureTen();
  const functions = shipped.functions.map((fn) => ({ ...fn, timeoutMs: fn.timeoutMs * slowness }));
  const workload = { ...shipped, functions };
  return planWorkload(minutes > 0 ? takeMinutes(workload, 0, minutes) : workload);
}

function traceRows(
  plan: Plan,
  alone: readonly ActivationRecord[],
  managed: readonly ActivationRecord[],
  counters: HookStatus['counters'],
  functions: readonly Record<string, number | string | null>[],
  writes: readonly AuditLine[],
): BenchRow[] {
  const differs = (record: ActivationRecord, i: number): boolean => record.kind !== alone[i]!.kind;
  const lost = managed.filter((record, i) => !record.ok && differs(record, i)).length;
  const inForce = writes.filter(
    (line) => line.result === 'written' || line.result === 'unchanged',
  ).length;
  const sum = (key: string): number =>
    functions.reduce((total, fn) => total + Number(fn[key] ?? 0), 0);
  const rows = [
    row('trace.alike', managed.filter((record, i) => !differs(record, i)).length, 'activations', {
      baseline: alone.length,
      goal: '1x',
      note: 'end as they do without Gleaner',
    }),
    promise('trace.lost', lost, 'activations', { note: 'fail otherwise than without Gleaner' }),
    within(
      'trace.starts',
      counters.started,
      plan.count,
      0,
      'activations',
      'activations that were not seen were not managed',
    ),
    atLeast('trace.changes', counters.limitsWritten, 1, 'writes', 'Gleaner changed no limit'),
    row('trace.ends', counters.clean, 'activations', {
      baseline: plan.count,
      goal: '1x',
      note: 'ended by their answer',
    }),
    row('trace.writes', inForce, 'writes', {
      baseline: writes.length,
      goal: '1x',
      note: 'read back from the cgroup',
    }),
    row('trace.harvested', sum('harvestedCpuSeconds'), 'core-s', {
      note: 'kept free by quotas in force',
    }),
    row('trace.accelerated', sum('acceleratedCpuSeconds'), 'core-s', {
      note: "used above the users' limits",
    }),
    row('trace.saved', (total(alone) - total(managed)) / 1000, 's', {
      note: 'sum of durations, without less with',
    }),
  ];
  for (const fn of plan.workload.functions) {
    const of = (records: readonly ActivationRecord[]): number[] =>
      records.filter((record) => record.action === fn.name).map((record) => record.runMs);
    const pairs = managed.flatMap((record, i) =>
      record.action === fn.name ? [record.runMs / alone[i]!.runMs] : [],
    );
    rows.push(
      row(`trace.${fn.name.slice(7)}.median`, median(of(managed)), 'ms', {
        baseline: median(of(alone)),
        note: [
          `${pairs.length} activations`,
          `slowdown mean ${mean(pairs).toFixed(2)}, worst ${quantile(pairs, 1).toFixed(2)}`,
          `user ${fn.userCpuMillicores} mcores, ${fn.memoryMiB} MB`,
        ].join('; '),
      }),
    );
  }
  return rows;
}

const total = (records: readonly ActivationRecord[]): number =>
  records.reduce((sum, record) => sum + record.runMs, 0);
